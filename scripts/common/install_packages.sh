#!/usr/bin/env bash
# Usage: install_packages.sh PACKAGE ...
# Installs Debian packages with apt-get, as root or through sudo, and says so.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
plain_usage 0 1000 "$@"

fail() { echo "install_packages.sh: $*" >&2; exit 1; }

(( $# )) || exit 0
command -v apt-get >/dev/null || fail "there is no apt-get here; please install the counterparts of: $*"
as_root=()
if (( EUID != 0 )); then
  command -v sudo >/dev/null || fail "neither root nor sudo; please ask for: apt-get install $*"
  as_root=(sudo)
fi
echo "installing with apt-get: $*"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
