#!/usr/bin/env bash
# Usage: graph.sh <lang folder> <model> <graph folder>
# Makes the decoding graph HCLG.fst: the stages of Kaldi's utils/mkgraph.sh, with this repository's programs (on the PATH).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/usage.sh"
plain_usage 3 3 "$@"
lang=$1 model=$2 graph=$3
mkdir -p "$graph"
fstcompile "$lang/lexicon.txt" | fstarcsort --sort_type=olabel >"$graph/L.fst"
arpa2fst --disambig-symbol=#0 --read-symbol-table="$lang/words.txt" "$lang/lm.arpa" "$graph/G.fst"
fsttablecompose "$graph/L.fst" "$graph/G.fst" | fstdeterminizestar --use-log=true | fstminimizeencoded |
  fstpushspecial >"$graph/LG.fst"
fstcomposecontext --context-size=1 --central-position=0 --read-disambig-syms="$lang/disambig.int" \
  --write-disambig-syms="$graph/disambig_ilabels.int" "$graph/ilabels" "$graph/LG.fst" |
  fstarcsort --sort_type=ilabel >"$graph/CLG.fst"
make-h-transducer --disambig-syms-out="$graph/disambig_tid.int" --transition-scale=1.0 "$graph/ilabels" "$lang/tree" \
  "$model" >"$graph/Ha.fst"
fsttablecompose "$graph/Ha.fst" "$graph/CLG.fst" | fstdeterminizestar --use-log=true |
  fstrmsymbols "$graph/disambig_tid.int" | fstrmepslocal | fstminimizeencoded >"$graph/HCLGa.fst"
add-self-loops --self-loop-scale=0.1 --reorder=true "$model" "$graph/HCLGa.fst" | fstconvert --fst_type=const >"$graph/HCLG.fst"
fstinfo "$graph/HCLG.fst" | awk '/^# of (states|arcs)/ { n[++k] = $4 } END { print "HCLG.fst: " n[1] " states, " n[2] " arcs" }'
