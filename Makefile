# A thin wrapper: the configuration is in CMake presets, the steps are in scripts/.
# `make` without a target lists the targets.

# Maximum number of parallel processes; `make JOBS=4 build` overrides it.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PRESET ?= default
BUILD := $(if $(filter default,$(PRESET)),build,build-$(PRESET))

.DEFAULT_GOAL := help
.PHONY: help setup build demo test doors fuzz fuzz-text format format-check lint docs docs-check portable portable-check wheel asan ci clean

help:
	@echo "Fovea: a compiler for attention. Main targets:"
	@echo
	@echo "  make demo          compile causal attention to PTX and execute it on a real layer's Q, K, V"
	@echo "  make test          build everything and run every test"
	@echo
	@echo "  make setup         install missing Debian packages and .venv (demo and test do this)"
	@echo "  make build         configure and build into build/, tools in build/bin/"
	@echo "  make portable      tools that run without LLVM installed, in build-portable/bin/"
	@echo "  make portable-check   build some of them and check that they have no other dependencies"
	@echo "  make wheel         build the Python package for machines without LLVM in dist/ and test it in a new environment"
	@echo "  make doors         install transformers in .venv-doors and run its models on Fovea"
	@echo "  make asan          build with AddressSanitizer and UBSan in build-asan/ and run the tests there"
	@echo "  make ci            run the checks of CI, without a time limit"
	@echo "  make fuzz-text     fuzz all parsers of text and files for MINUTES (10)"
	@echo "  make format        format C++ sources        make format-check   fail if a file is not formatted"
	@echo "  make fuzz          run random programs at every level for MINUTES=n (test/Fuzz/README.md)"
	@echo "  make lint          run clang-tidy on files changed since main or LINT=COMMIT; LINT=recent: in the last commits; LINT=all: all files"
	@echo "  make docs          regenerate docs/reference make docs-check     fail if it is stale"
	@echo "  make clean         remove build folders; .venv, .venv-doors and ccache stay"
	@echo
	@echo "JOBS=N limits the processes; cmake --preset default works without make."

setup:
	@scripts/setup.sh

# Configures only if the build folder is new; CMake reruns itself later.
build: setup
	@scripts/build.sh $(PRESET) $(JOBS) all

demo: build
	@.venv/bin/python scripts/demo.py --build $(BUILD)

test: setup
	@.venv/bin/python scripts/run_tests.py --preset $(PRESET) --jobs $(JOBS)

# Tests with packages that .venv does not have.
doors: build
	@scripts/doors.sh $(BUILD) $(JOBS)

# SEED=TEXT repeats a run; failing programs are saved in KEEP.
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

# LIMIT=n: skipped if the build takes more than n minutes.
portable-check: setup
	@.venv/bin/python scripts/try_portable.py --jobs $(JOBS) $(if $(LIMIT),--limit $(LIMIT))

wheel: setup
	@rm -f dist/fovea_attention-*.whl
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) .venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@.venv/bin/python scripts/tag_wheel.py dist/fovea_attention-*.whl
	@.venv/bin/python scripts/try_wheel.py dist
	@ls -lh dist

# LIMIT=n: runs at most n minutes, with fewer tests if necessary.
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
