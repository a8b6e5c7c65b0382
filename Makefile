# Everything here needs only Go and make. A C compiler adds NVML (the live
# machine) and the race detector; without one CGO_ENABLED=0 is chosen.

GO ?= go
BIN := bin/ringtopo
MACHINE ?= v100x4
FUZZTIME ?= 60s

ifndef CGO_ENABLED
ifeq ($(shell command -v "$$($(GO) env CC)" 2>/dev/null),)
export CGO_ENABLED := 0
endif
endif
# NVML's header marks hundreds of functions as deprecated.
export CGO_CFLAGS ?= -g -O2 -Wno-deprecated-declarations

.DEFAULT_GOAL := build
.PHONY: build demo test test-full bench fuzz lint generate docs clean

build: ## the program, in bin/
	@$(GO) build -o $(BIN) ./cmd/ringtopo

demo: build ## the main job on this machine's GPUs, else on a built-in machine (MACHINE=name)
	@scripts/demo.sh $(BIN) $(MACHINE)

test: ## all tests that need no GPU and no C compiler
	@$(GO) test ./...

test-full: ## the long tests, then all of them under the race detector (needs a C compiler)
	@RINGTOPO_TEST_FULL=1 $(GO) test -timeout 60m ./...
	@RINGTOPO_TEST_FULL=1 CGO_ENABLED=1 $(GO) test -race -timeout 90m ./...

bench: ## benchmarks, with allocations
	@$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz: ## every fuzz test for FUZZTIME
	@GO="$(GO)" scripts/fuzz.sh $(FUZZTIME)

lint: ## formatting, vet, staticcheck
	@GO="$(GO)" scripts/lint.sh

generate: ## generated code (needs clang-19)
	@$(GO) generate ./...

docs: ## docs/usage from the commands' own help
	@$(GO) run ./cmd/ringtopo docs --dir docs/usage

clean:
	@rm -rf bin
