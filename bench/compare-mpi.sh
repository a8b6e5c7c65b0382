#!/usr/bin/env bash
# Sets the CPU executor beside MPI_Allreduce, 4 ranks, float sum: ranks as
# goroutines and as processes, one after the other several times, since these
# figures drift with whatever else the host does.
#
#   bench/compare-mpi.sh RINGTOPO ROUNDS [FLAGS OF ringtopo bench...]
#
# Needs mpicc and mpirun. Prints Markdown: per size the median over the rounds.
# On a machine that is not idle, nice -n -20 before it keeps others out.
set -euo pipefail
cd "$(dirname "$0")"
ringtopo=$(cd "$OLDPWD" && realpath "$1") rounds=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ours() { # FILE [FLAGS...]
	local file=$1
	shift
	"$ringtopo" bench -q -m dgx-a100 --engine host --recipe ./yardstick.yaml -o csv "$@" >>"$work/$file"
}

mpicc -O2 -o "$work/mpi" allreduce_mpi.c
for r in $(seq "$rounds"); do
	ours goroutines "$@"
	mpirun --allow-run-as-root --oversubscribe -n 4 "$work/mpi" >>"$work/mpi.txt"
	ours processes --procs "$@"
done
grep -v right "$work/mpi.txt" && { echo "MPI gave wrong results" >&2; exit 1; }

table() { # FILE
	awk '
function median(list, n,   i, j, t, v) {
	n = split(list, v, " ")
	for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] + 0 < v[j-1] + 0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
	return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
}
FILENAME ~ /mpi.txt$/ { if (!($1 in mpi)) order[++sizes] = $1; mpi[$1] = mpi[$1] " " $2; next }
FNR == 1 || /^algo,/ { split($0, head, ","); for (i in head) at[head[i]] = i; next }
{ split($0, f, ","); ours[f[at["algo"]], f[at["bytes"]]] = ours[f[at["algo"]], f[at["bytes"]]] " " f[at["median_us"]] }
END {
	print "| bytes | MPI us | Ring us | OneShot us | TwoShot us | best / MPI: times faster | Ring: times faster |"
	print "|---|---|---|---|---|---|---|"
	for (s = 1; s <= sizes; s++) {
		b = order[s]; m = median(mpi[b]); best = 0
		line = sprintf("| %d | %.1f |", b, m)
		n = split("Ring OneShot TwoShot", algos, " ")
		for (i = 1; i <= n; i++) {
			t = median(ours[algos[i], b]); line = line sprintf(" %.1f |", t)
			if (!best || t < best) best = t
			if (algos[i] == "Ring") ring = t
		}
		printf "%s %.2f | %.2f |\n", line, m / best, m / ring
	}
}' "$work/mpi.txt" "$work/$1"
}

for kind in goroutines processes; do
	printf 'Ranks as %s:\n\n' "$kind"
	table "$kind"
	echo
done
