/* Times MPI_Allreduce, float sum, over one host's shared memory, as a yardstick
 * for the CPU executor. Build: mpicc -O2 -o allreduce_mpi bench/allreduce_mpi.c
 * Run: mpirun -n 4 ./allreduce_mpi [bytes ...]
 * Prints a line per size: bytes, median and best time in microseconds of the
 * slowest rank, and whether every element was right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int runs_for(size_t bytes) {
    if (bytes <= (1 << 16)) return 400;
    if (bytes <= (1 << 20)) return 100;
    if (bytes <= (1 << 24)) return 30;
    return 5;
}

/* Small whole numbers: every order of additions gives the same sum. */
static float input(int rank, size_t i) { return (float)((i * 7 + rank * 3) % 64); }

static int check(const float *out, size_t n, int ranks) {
    for (size_t i = 0; i < n; i += n > 4096 ? 97 : 1) {
        float want = 0;
        for (int r = 0; r < ranks; r++) want += input(r, i);
        if (out[i] != want) return 0;
    }
    return 1;
}

static void measure(size_t bytes, int rank, int ranks) {
    size_t n = bytes / sizeof(float);
    int runs = runs_for(bytes), warmup = bytes <= (1 << 24) ? 3 : 1;
    float *in = malloc(bytes), *out = malloc(bytes);
    double *times = malloc(sizeof(double) * runs);
    if (!in || !out || !times) MPI_Abort(MPI_COMM_WORLD, 2);
    for (size_t i = 0; i < n; i++) in[i] = input(rank, i), out[i] = -1;
    for (int k = 0; k < warmup + runs; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        double own = (MPI_Wtime() - start) * 1e6, slowest;
        MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (k >= warmup) times[k - warmup] = slowest;
    }
    int right = check(out, n, ranks), all;
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        qsort(times, runs, sizeof(double), ascending);
        printf("%zu %.2f %.2f %s\n", bytes, times[runs / 2], times[0], all ? "right" : "WRONG");
        fflush(stdout);
    }
    free(in), free(out), free(times);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1) {
        for (int i = 1; i < argc; i++) measure(strtoull(argv[i], 0, 0), rank, ranks);
    } else {
        for (size_t b = 1 << 10; b <= (size_t)1 << 28; b <<= 1) measure(b, rank, ranks);
    }
    MPI_Finalize();
    return 0;
}
