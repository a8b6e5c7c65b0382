#!/usr/bin/env bash
# Runs every fuzz test of the project for the time given, one after the other.
set -euo pipefail
go=${GO:-go} time=${1:-60s}

grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | while read -r file; do
	grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | cut -c6- | while read -r name; do
		echo "$(dirname "$file") $name"
		$go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$(dirname "$file")"
	done
done
