#!/usr/bin/env bash
# Usage: crates.sh [--list]
# Packs the crate nnet3-toolkit and the crates of the workspace that it needs, as `cargo publish` would, without building or
# publishing them. Fails if one of them cannot be packed. --list prints their names only.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common/usage.sh"
only_list=false
if [[ ${1-} == --list ]]; then
  only_list=true
  shift
fi
plain_usage 0 0 "$@"
cd "$(dirname "$0")/../.."

# Crates of the workspace have a path behind their version.
crates=$(cargo tree --package nnet3-toolkit --edges normal,build --prefix none --format '{p}' | awk '/ \(\// { print $1 }' | sort -u)
if $only_list; then
  echo "$crates"
  exit
fi
mapfile -t names <<< "$crates"
packages=("${names[@]/#/--package=}")
# (A registry alone can build them one from another.)
cargo package --quiet --no-verify --allow-dirty "${packages[@]}"
echo "${#packages[@]} crates can be packed"
