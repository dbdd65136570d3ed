#!/usr/bin/env bash
# Runs unmodified programs of other packages on Fovea: tests that `make test` skips, in an environment
# of their own, .venv-doors. It sees the packages of .venv, such as PyTorch, and adds those of
# scripts/requirements-doors.txt.
#
# Usage: scripts/doors.sh BUILD JOBS
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
jobs=$2
environment=.venv-doors
stamp=$environment/.installed
wanted=$(cat scripts/requirements-doors.txt .venv/.installed 2>/dev/null)
if [ ! -x "$environment/bin/python" ] || [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
  echo "doors: making the Python environment $environment"
  rm -rf "$environment"
  .venv/bin/python -m venv "$environment"
  packages='import sysconfig; print(sysconfig.get_path("purelib"))'
  .venv/bin/python -c "$packages" >"$("$environment/bin/python" -c "$packages")/base.pth"
  "$environment/bin/python" -m pip --quiet --disable-pip-version-check install \
    -r scripts/requirements-doors.txt || {
    echo "doors: pip could not install scripts/requirements-doors.txt: no network to PyPI?" >&2
    exit 1
  }
  printf '%s\n' "$wanted" >"$stamp"
fi
# Without a network the tests must not wait for the hub.
HF_HUB_OFFLINE=1 FOVEA_LIBRARY_PATH=$build/lib PYTHONPATH=python exec "$environment/bin/python" -m pytest \
  -q -n "$jobs" --dist=worksteal -p no:cacheprovider --fovea-build "$build" test/python/test_transformers.py
