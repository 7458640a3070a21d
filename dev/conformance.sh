#!/usr/bin/env bash
# Usage: conformance.sh [DIR ...]
# Runs every conformance case below the folders, unoptimised and optimised, and prints a line for each failure, then
# `N passed, M failed` with the worst relative errors. Without arguments: the cases shipped in tests/data/conformance, and
# those of NNET3_CONFORMANCE_DIR, if that is set.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
plain_usage 0 1000 "$@"

top=$(cd "$(dirname "$0")/.." && pwd)
folders=("$@")
if (( $# == 0 )); then
  folders=("$top/tests/data/conformance")
  [[ -z ${NNET3_CONFORMANCE_DIR:-} ]] || folders+=("$NNET3_CONFORMANCE_DIR")
fi
exec cargo run --quiet --release --manifest-path "$top/Cargo.toml" --example conformance -- "${folders[@]}"
