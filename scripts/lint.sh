#!/usr/bin/env bash
# Runs clang-tidy on the C++ sources that differ from main, or on all of them.
#
# Usage: scripts/lint.sh BUILD_FOLDER JOBS [all]
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
jobs=$2
base=$(git merge-base HEAD main 2>/dev/null || true)
if [ "${3:-}" = all ] || [ -z "$base" ]; then
  mapfile -t files < <(git ls-files -- 'lib/*.cpp' 'tools/*.cpp')
else
  mapfile -t files < <({
    git diff --name-only --diff-filter=d "$base" -- 'lib/*.cpp' 'tools/*.cpp'
    git ls-files --others --exclude-standard -- 'lib/*.cpp' 'tools/*.cpp'
  } | sort -u)
fi
if ((${#files[@]} == 0)); then
  echo "lint: no C++ source differs from main; 'make lint LINT=all' checks every file"
  exit 0
fi
echo "lint: ${#files[@]} files"
# The precompiled header is the compiler's; clang-tidy parses the headers anew.
database=$build/lint
mkdir -p "$database"
sed -E -e 's/ -Xclang -include-pch -Xclang [^ ]+//g' -e 's/ -include-pch [^ ]+//g' \
  "$build/compile_commands.json" >"$database/compile_commands.json"
printf '%s\n' "${files[@]}" |
  xargs -P "$jobs" -n 1 clang-tidy-22 -p "$database" --quiet --warnings-as-errors='*'
echo "lint: no findings"
