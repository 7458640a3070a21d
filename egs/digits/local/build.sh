#!/usr/bin/env bash
# Usage: build.sh
# Builds this repository's programs and prints their folder. Cargo's messages go to standard error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
source scripts/common/usage.sh
plain_usage 0 0 "$@"

if ! command -v cargo >/dev/null && [[ -x $HOME/.cargo/bin/cargo ]]; then PATH=$HOME/.cargo/bin:$PATH; fi
command -v cargo >/dev/null || { echo "build.sh: there is no cargo; install a Rust toolchain first (https://rustup.rs)" >&2; exit 1; }
cargo build --release --bin nnet3 >&2
realpath "${CARGO_TARGET_DIR:-target}/release"
