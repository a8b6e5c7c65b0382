// What racecheck takes for a race (docs/gpu.md): 0 with whole barriers, 1 with barriers of
// parts of the block, and how many launches.
//
//   nvcc -arch=sm_90 -o racecheck docs/measurements/racecheck.cu
//   compute-sanitizer --tool racecheck ./racecheck 0 20
//   compute-sanitizer --tool racecheck ./racecheck 1 20
#include <cstdio>
#include <cstdlib>
// Warp 16 stays out of barrier 1, all of the block come to barriers 2 and 0.
__global__ void __launch_bounds__(544, 1) mini(int rounds, int named, unsigned long long *out) {
  __shared__ unsigned long long s[2];
  unsigned tid = threadIdx.x;
  unsigned long long a = 0;
  for (int i = 0; i < rounds; i++) {
    if (named) {
      if (tid < 512) { asm volatile("bar.sync 1, 512;" ::: "memory"); a += tid; }
      asm volatile("bar.sync 2, 544;" ::: "memory");
    } else {
      asm volatile("bar.sync 0;" ::: "memory"); a += tid;
      asm volatile("bar.sync 0;" ::: "memory");
    }
  }
  if (tid == 0) s[0] = a + rounds;
  if (tid == 1) s[1] = a + rounds;
  asm volatile("bar.sync 0;" ::: "memory");
  out[blockIdx.x * 544 + tid] = s[0] + s[1];
}
int main(int n, char **v) {
  int named = atoi(v[1]), launches = atoi(v[2]), wrong = 0;
  unsigned long long *o, h[544];
  cudaMalloc(&o, 8 * 544 * 64);
  for (int i = 0; i < launches; i++) {
    mini<<<48, 544>>>(100, named, o);
    if (cudaDeviceSynchronize()) { printf("error\n"); return 1; }
    cudaMemcpy(h, o, sizeof h, cudaMemcpyDeviceToHost);
    for (int t = 0; t < 544; t++) wrong += h[t] != 300;
  }
  printf("%d launches, %d wrong\n", launches, wrong);
}
