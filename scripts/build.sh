#!/usr/bin/env bash
# Builds targets of a preset, and configures it first if necessary.
#
# Usage: scripts/build.sh PRESET JOBS TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
jobs=$2
shift 2
folder=build
[ "$preset" = default ] || folder=build-$preset

if [ ! -f "$folder/build.ninja" ]; then
  log=$folder.configure.log
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    echo "build: 'cmake --preset $preset' failed, see above" >&2
    exit 1
  fi
  rm -f "$log"
fi
exec cmake --build "$folder" -j "$jobs" --target "$@"
