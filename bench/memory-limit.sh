#!/usr/bin/env bash
# Sets the CPU executor's two-shot AllReduce, 4 ranks, float sum, beside what
# the memory can carry: the time to copy all inputs to all outputs.
#
#   bench/memory-limit.sh [ROUNDS]
#
# Needs go. Prints Markdown. On a machine that is not idle, nice -n -20 before it
# keeps others out.
set -euo pipefail
cd "$(dirname "$0")/.."
${GO:-go} test ./allreduce/host -run '^$' -bench MemoryLimit -benchtime "${1:-10}x" | awk '
BEGIN {
	print "| ranks as | bytes | copy GB/s, read + written | copy us | TwoShot us | times the limit |"
	print "|---|---|---|---|---|---|"
}
/^BenchmarkMemoryLimit/ {
	split($1, name, "/"); sub(/-[0-9]+$/, "", name[3])
	for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
	printf "| %s | %d | %.1f | %.0f | %.0f | %.2f |\n", name[2], name[3], value["copy-GB/s"], value["copy-us"], value["run-us"], value["x-limit"]
	lines++
}
END { if (!lines) exit 1 }'
