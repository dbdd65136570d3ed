#!/usr/bin/env bash
# Formats the C and C++ sources that git tracks or would add, or checks their format.
#
# Usage: scripts/format.sh --fix | --check
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' |
  while read -r file; do [ -f "$file" ] && echo "$file"; done)

case "${1:-}" in
--fix) clang-format-22 -i "${files[@]}" ;;
--check)
  if ! clang-format-22 --dry-run --Werror "${files[@]}"; then
    echo "format-check: the files above are not formatted; run 'make format'" >&2
    exit 1
  fi
  echo "format-check: ${#files[@]} files are formatted"
  ;;
*)
  echo "usage: scripts/format.sh --fix | --check" >&2
  exit 2
  ;;
esac
