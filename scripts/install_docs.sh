#!/usr/bin/env bash
# Usage: install_docs.sh [PREFIX [BINARY]]
# Writes a manual page and completions for bash, zsh and fish for every program to PREFIX/share (default: ~/.local).
# Builds the programs if need be, unless it is told which BINARY `nnet3` holds them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
plain_usage 0 2 "$@"
share=$(realpath -m "${1:-$HOME/.local}")/share
binary=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
if [[ -z $binary ]]; then
  cargo build --release --bins
  binary=$(cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')/release/nnet3
fi

count=0
mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
while read -r program; do
  "$binary" "$program" --generate=man >"$share/man/man1/$program.1"
  "$binary" "$program" --generate=bash >"$share/bash-completion/completions/$program"
  "$binary" "$program" --generate=zsh >"$share/zsh/site-functions/_$program"
  "$binary" "$program" --generate=fish >"$share/fish/vendor_completions.d/$program.fish"
  count=$((count + 1))
done < <("$binary" --list=names)
echo "manual pages and completions of $count programs are in $share"
