#!/usr/bin/env bash
# Usage: install_docs.sh [PREFIX [BINARY]]
# Writes a manual page and completions for bash, zsh and fish for nnet3, for every program and for the scripts that people call
# to PREFIX/share (default: ~/.local).
# Takes the BINARY that is given, or `nnet3` on the PATH or in target/release, or builds it, and says which. Started again, it writes the same files anew. e.g.:
#   install_docs.sh
#   install_docs.sh /usr/local
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common/usage.sh"
plain_usage 0 2 "$@"
share=$(realpath -m "${1:-$HOME/.local}")/share
binary=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
if [[ -z $binary ]]; then
  programs=$(egs/digits/local/programs.sh)
  binary=$programs/nnet3
  [[ -x $binary ]] || binary=$(realpath "$programs/nnet3-train") # a folder of links may lack it
fi

count=0
mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
document() { # <name> <command> …
  local name=$1
  shift
  "$@" --generate=man >"$share/man/man1/$name.1"
  "$@" --generate=bash >"$share/bash-completion/completions/$name"
  "$@" --generate=zsh >"$share/zsh/site-functions/_$name"
  "$@" --generate=fish >"$share/fish/vendor_completions.d/$name.fish"
  count=$((count + 1))
}
document nnet3 "$binary"
while read -r program; do document "$program" "$binary" "$program"; done < <("$binary" --list=names)
for script in recognizer.sh train.sh transcribe_many.sh adapt_model.sh segment_long.sh make_vosk_model.sh make_graph.sh; do
  document "$script" "scripts/$script"
done
echo "manual pages and completions of $count programs and scripts are in $share"
