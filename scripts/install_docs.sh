#!/usr/bin/env bash
# Usage: install_docs.sh [PREFIX]
# Writes a manual page and completions for bash, zsh and fish for every program to PREFIX/share (default: ~/.local).
# Builds the programs if need be.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
plain_usage 0 1 "$@"
cd "$(dirname "$0")/.."

share=${1:-$HOME/.local}/share
cargo build --release --bins
bin=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')/release

count=0
mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
for source in src/bin/*.rs; do
  program=$(basename "$source" .rs)
  "$bin/$program" --generate=man > "$share/man/man1/$program.1"
  "$bin/$program" --generate=bash > "$share/bash-completion/completions/$program"
  "$bin/$program" --generate=zsh > "$share/zsh/site-functions/_$program"
  "$bin/$program" --generate=fish > "$share/fish/vendor_completions.d/$program.fish"
  count=$((count + 1))
done
echo "manual pages and completions of $count programs are in $share"
