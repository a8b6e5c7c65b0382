#!/usr/bin/env bash
# The main job as a newcomer sees it: a machine, its rings, and the proof that
# they work. On this machine's GPUs if it has a driver, else on a built-in one.
set -euo pipefail
bin=$1 builtin=$2

machine=()
if "$bin" topo >/dev/null 2>&1; then
	echo "The GPUs of this machine:"
else
	echo "No NVIDIA driver here: showing the built-in machine $builtin."
	machine=(-m "$builtin")
fi

run() {
	echo
	echo "\$ ringtopo $*"
	"$bin" "$@"
}

run topo "${machine[@]}"
run rings "${machine[@]}"
run rings "${machine[@]}" -o table
if "$bin" help validate >/dev/null 2>&1; then
	run validate "${machine[@]}"
fi
