#!/usr/bin/env bash
# Usage: graph.sh <lang folder> <model> <graph folder>
# Makes the decoding graph HCLG.fst of what make_lang.py has written, with this repository's programs (on the PATH).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/common/usage.sh"
plain_usage 3 3 "$@"
lang=$1 model=$2 graph=$3
fstcompile "$lang/lexicon.txt" | fstarcsort --sort_type=olabel >"$lang/lexicon_disambig.fst"
"$(dirname "${BASH_SOURCE[0]}")/../../../scripts/make_graph.sh" --self-loop-scale=0.1 "$lang/lm.arpa" "$lang" "$lang/tree" "$model" "$graph"
