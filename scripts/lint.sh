#!/usr/bin/env bash
# Formatting, vet and staticcheck; prints only what is wrong.
set -euo pipefail
go=${GO:-go}

unformatted=$(git ls-files -z '*.go' | xargs -0 -r "$($go env GOROOT)/bin/gofmt" -l)
if [ -n "$unformatted" ]; then
	echo "not formatted (run gofmt -w):" "$unformatted" >&2
	exit 1
fi
$go vet ./...
$go tool staticcheck ./...
