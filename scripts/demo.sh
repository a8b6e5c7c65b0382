#!/usr/bin/env bash
# The main job as a newcomer sees it: a machine, its rings, and the proof that
# they work. On this machine's GPUs if it has a driver, else on a built-in one.
set -euo pipefail
bin=$1 builtin=$2

machine=()
code=0
"$bin" topo >/dev/null 2>&1 || code=$?
if [ "$code" -eq 3 ]; then
	echo "No NVIDIA GPU or driver here: showing the built-in machine $builtin."
	machine=(-m "$builtin")
else
	echo "The GPUs of this machine:"
fi

run() {
	echo
	echo "\$ ringtopo $*"
	"$bin" "$@"
}

run topo "${machine[@]}"
run rings "${machine[@]}"
run rings "${machine[@]}" -o table
if "$bin" validate --help >/dev/null 2>&1; then
	run validate "${machine[@]}"
fi
