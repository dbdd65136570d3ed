# A thin front: CMake presets carry the configuration, scripts/ the steps.
# `make` alone shows what there is.

# Sub-processes to run at once; `make JOBS=4 build` overrides it.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PRESET ?= default
BUILD := $(if $(filter default,$(PRESET)),build,build-$(PRESET))

.DEFAULT_GOAL := help
.PHONY: help setup build demo test fuzz fuzz-text format format-check lint docs docs-check portable portable-check wheel asan ci clean

help:
	@echo "Fovea: a compiler for attention. The two that matter:"
	@echo
	@echo "  make demo          compile causal attention to PTX and execute that on a real layer's Q, K, V"
	@echo "  make test          build everything and run every test"
	@echo
	@echo "  make setup         install what is missing: Debian packages, .venv (both above do it)"
	@echo "  make build         configure and build into build/, tools in build/bin/"
	@echo "  make portable      tools that run without LLVM installed, in build-portable/bin/"
	@echo "  make portable-check   builds some of them, and checks that they need nothing else"
	@echo "  make wheel         the Python package for machines without LLVM, in dist/, tried in an environment of its own"
	@echo "  make asan          build with AddressSanitizer and UBSan in build-asan/ and run the tests there"
	@echo "  make ci            what CI runs, without a limit of time"
	@echo "  make fuzz-text     fuzz all readers of text and files for MINUTES (10)"
	@echo "  make format        format C++ sources        make format-check   fail if any isn't"
	@echo "  make fuzz          run random programs at every level for MINUTES=n (docs/Fuzzing.md)"
	@echo "  make lint          clang-tidy on files changed since main, LINT=COMMIT or in its last commits (recent); all: on every file"
	@echo "  make docs          regenerate docs/reference make docs-check     fail if it is stale"
	@echo "  make clean         remove build folders; .venv and ccache stay"
	@echo
	@echo "JOBS=N limits the processes; cmake --preset default works without make."

setup:
	@scripts/setup.sh

# Configures only where there is no build system yet; CMake reruns itself after that.
build: setup
	@scripts/build.sh $(PRESET) $(JOBS) all

demo: build
	@.venv/bin/python scripts/demo.py --build $(BUILD)

test: setup
	@.venv/bin/python scripts/run_tests.py --preset $(PRESET) --jobs $(JOBS)

# SEED=TEXT repeats a run; what fails is kept in KEEP.
MINUTES ?= 10
KEEP ?= $(BUILD)/fuzz
fuzz: build
	@FOVEA_LIBRARY_PATH=$(CURDIR)/$(BUILD)/lib .venv/bin/python test/Fuzz/run_programs.py fuzz --minutes $(MINUTES) \
	  --jobs $(JOBS) --keep $(KEEP) $(if $(SEED),--seed $(SEED))

format:
	@scripts/format.sh --fix

format-check:
	@scripts/format.sh --check

lint: build
	@.venv/bin/python scripts/lint.py --build $(BUILD) --jobs $(JOBS) $(if $(LINT),--scope $(LINT)) $(if $(LIMIT),--limit $(LIMIT))

docs: setup
	@scripts/build.sh $(PRESET) $(JOBS) fovea-docs

docs-check: setup
	@scripts/build.sh $(PRESET) $(JOBS) fovea-docs-check

portable: setup
	@scripts/build.sh portable $(JOBS) all
	@ls -lh build-portable/bin

# LIMIT=n: left out if it doesn't build within n minutes.
portable-check: setup
	@.venv/bin/python scripts/try_portable.py --jobs $(JOBS) $(if $(LIMIT),--limit $(LIMIT))

wheel: setup
	@rm -f dist/fovea_attention-*.whl
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) .venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@.venv/bin/python scripts/tag_wheel.py dist/fovea_attention-*.whl
	@.venv/bin/python scripts/try_wheel.py dist
	@ls -lh dist

# LIMIT=n: no longer than n minutes, with fewer tests if need be.
asan: setup
	@.venv/bin/python scripts/run_tests.py --preset asan --jobs $(JOBS) $(if $(LIMIT),--limit $(LIMIT))

ci: test
	@$(MAKE) --no-print-directory lint LINT=recent
	@$(MAKE) --no-print-directory portable-check
	@$(MAKE) --no-print-directory asan

MINUTES ?= 10
fuzz-text: setup
	@scripts/build.sh asan $(JOBS) all
	@.venv/bin/python test/Fuzz/run_text.py build-asan --minutes=$(MINUTES)

clean:
	rm -rf build build-asan build-portable dist .demo
