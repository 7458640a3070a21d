#!/usr/bin/env bash
# Makes a decoding graph of a language model, a lexicon, a tree and an acoustic model: the stages of Kaldi's utils/mkgraph.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

driver=make_graph.sh
source "$here/train/messages.sh"
source "$here/common/values.sh"
source "$here/common/folders.sh"
source "$here/common/trees.sh"

usage() {
  cat <<'HELP'
usage: make_graph.sh [options] ARPA LANG TREE MODEL GRAPH
Makes the decoding graph GRAPH/HCLG.fst of a language model (an ARPA file or a G.fst), a lexicon, a tree and a model: the stages of Kaldi's
utils/mkgraph.sh. LANG has lexicon_disambig.fst (or L_disambig.fst), words.txt and phones/disambig.int. GRAPH gets words.txt and, if LANG has
them, phones.txt, phones/word_boundary.int, silence.csl and optional_silence.int too. The programs are taken from the PATH. With the same
arguments and files, a graph that is there stays. e.g.:
  make_graph.sh --self-loop-scale=1.0 exp/lm/lm.arpa exp/lang exp/tree/tree exp/chain/model/final.mdl exp/graph
HELP
  explain_options
}

source "$here/train/options.sh"
heading "Scales"
option self-loop-scale number 0.1 "scale of the probabilities of self-loops; chain models need 1.0"
option transition-scale number 1.0 "scale of the other probabilities of transitions"
heading "Form"
option look-ahead bool false "two halves instead, HCLr.fst and Gr.fst, with disambig_tid.int, as Kaldi's utils/mkgraph_lookahead.sh makes them: the \
language model can then be replaced (nnet3-transcribe --phrases). The words of its words.txt have other numbers than those of LANG. ARPA must be an ARPA file; \
not for trees that ask for the phones that follow, as those of Gaussian models do"
option phrases bool false "also the folder GRAPH/phrases beside HCLG.fst: the first half alone, for phrases in place of the language model; not for trees that \
ask for the phones that follow, as those of Gaussian models do"

parse_options "$@"
need_arguments "a language model (ARPA)" "a folder of lexicon and words (LANG)" "a tree (TREE)" "a model (MODEL)" "a folder for the graph (GRAPH)"
within decimal 0 1000000 self-loop-scale transition-scale
file_name arpa ARPA "${arguments[0]}"
file_name lang LANG "${arguments[1]}"
file_name tree TREE "${arguments[2]}"
file_name model MODEL "${arguments[3]}"
file_name graph GRAPH "${arguments[4]}"
lexicon=$lang/lexicon_disambig.fst
[[ -e $lexicon ]] || lexicon=$lang/L_disambig.fst
for file in "$arpa" "$lexicon" "$lang/words.txt" "$lang/phones/disambig.int" "$tree" "$model"; do [[ -r $file ]] || fail "cannot read $file"; done

claim_folder "$graph" make_graph.sh
trap remove_private EXIT
make_private "$graph"
work=$private
inputs=$(describe_inputs "$arpa" "$lexicon" "$lang/words.txt" "$lang/phones/disambig.int" "$tree" "$model")
if is_made "$graph" "$inputs" HCLG.fst HCLr.fst; then exit; fi
grammar=$arpa
[[ $look_ahead == false || $arpa != *.fst ]] || fail "--look-ahead=true needs an ARPA file, found $arpa"
# Copies the other files of LANG.
copy_files() { # <file> …
  local file
  mkdir -p "$graph/phones"
  for file; do
    [[ -e $lang/$file ]] || continue
    cp "$lang/$file" "$work/copy"
    mv -f "$work/copy" "$graph/$file"
  done
}
# Makes HCLr.fst, with the names of its words and its input labels without frames, in a folder.
first_half() { # <folder>
  local to=$1
  fstdeterminizestar "$lexicon" | fstarcsort --sort_type=ilabel >"$to/L.fst"
  fstcomposecontext --context-size="$width" --central-position="$position" --read-disambig-syms="$lang/phones/disambig.int" \
    --write-disambig-syms="$to/disambig_ilabels.int" "$to/ilabels" "$to/L.fst" | fstarcsort --sort_type=ilabel >"$to/CL.fst"
  make-h-transducer --disambig-syms-out="$to/disambig_tid.int" --transition-scale="$transition_scale" "$to/ilabels" "$tree" "$model" |
    fstarcsort --sort_type=olabel >"$to/Ha.fst"
  fstcompose "$to/Ha.fst" "$to/CL.fst" | fstdeterminizestar |
    add-self-loops --disambig-syms="$to/disambig_tid.int" --self-loop-scale="$self_loop_scale" --reorder=true "$model" |
    fstarcsort --sort_type=olabel | fstconvert --fst_type=olabel_lookahead --save_relabel_opairs="$to/relabel" >"$to/HCLr.fst"
  awk 'NR == FNR { new[$1] = $2; next } { print $1, $2 in new ? new[$2] : $2 }' "$to/relabel" "$lang/words.txt" >"$to/words.txt"
}
# Makes both halves.
two_halves() {
  first_half "$work"
  arpa2fst --disambig-symbol='#0' --read-symbol-table="$lang/words.txt" "$arpa" "$work/G.fst"
  # The composition wants backoff arcs without a label.
  awk '$1 == "#0" { print $2 }' "$lang/words.txt" >"$work/backoff"
  fstrmsymbols "$work/backoff" "$work/G.fst" | fstrelabel --relabel_ipairs="$work/relabel" --relabel_opairs="$work/relabel" |
    fstarcsort --sort_type=ilabel | fstconvert --fst_type=const >"$work/Gr.fst"
  copy_files phones.txt phones/word_boundary.int phones/silence.csl phones/optional_silence.int
  rm -rf "$graph"/{HCLG.fst,phrases}
  mv -f "$work"/{words.txt,disambig_tid.int,Gr.fst,HCLr.fst} "$graph/"
  for file in HCLr.fst Gr.fst; do
    fstinfo --print-args=false "$graph/$file" |
      file=$file awk '/^# of (states|arcs)/ { n[++k] = $4 } END { print ENVIRON["file"] ": " n[1] " states, " n[2] " arcs" }'
  done
}
context_of_tree "$tree"
rm -f "$graph/.made-of"
if [[ $look_ahead == true ]] && (( position < width - 1 )); then
  fail "--look-ahead=true: the tree $tree asks for the phones that follow (as those of Gaussian models do), and without the language model the first half of the graph" \
    "would be too large; use --look-ahead=false"
fi
if [[ $phrases == true ]] && (( position < width - 1 )); then
  say "WARNING: no folder phrases: the tree asks for the phones that follow, and without the language model the first half of the graph would be too large"
  phrases=false
fi
if [[ $look_ahead == true ]]; then
  two_halves
  keep_inputs "$graph" "$inputs"
  exit
fi
if [[ $arpa != *.fst ]]; then
  grammar=$work/G.fst
  arpa2fst --disambig-symbol='#0' --read-symbol-table="$lang/words.txt" "$arpa" "$grammar"
fi
fsttablecompose "$lexicon" "$grammar" | fstdeterminizestar --use-log=true | fstminimizeencoded | fstpushspecial >"$work/LG.fst"
fstcomposecontext --context-size="$width" --central-position="$position" --read-disambig-syms="$lang/phones/disambig.int" \
  --write-disambig-syms="$work/disambig_ilabels.int" "$work/ilabels" "$work/LG.fst" | fstarcsort --sort_type=ilabel >"$work/CLG.fst"
make-h-transducer --disambig-syms-out="$work/disambig_tid.int" --transition-scale="$transition_scale" "$work/ilabels" "$tree" "$model" \
  >"$work/Ha.fst"
fsttablecompose "$work/Ha.fst" "$work/CLG.fst" | fstdeterminizestar --use-log=true | fstrmsymbols "$work/disambig_tid.int" | fstrmepslocal |
  fstminimizeencoded >"$work/HCLGa.fst"
add-self-loops --self-loop-scale="$self_loop_scale" --reorder=true "$model" "$work/HCLGa.fst" | fstconvert --fst_type=const >"$work/HCLG.fst"
states=$(fstinfo --print-args=false "$work/HCLG.fst" | awk '/^# of states/ { print $4 }')
number states whole "number of states" "$states"
(( states > 0 )) || fail "the graph is empty: the words of $arpa are not in the lexicon"
if [[ $phrases == true ]]; then
  mkdir "$work/phrases" "$work/half"
  first_half "$work/half"
  mv "$work/half"/{HCLr.fst,words.txt,disambig_tid.int} "$work/phrases"
fi
copy_files words.txt phones.txt phones/word_boundary.int phones/silence.csl phones/optional_silence.int
rm -rf "$graph"/{HCLr.fst,Gr.fst,phrases}
[[ $phrases == false ]] || mv "$work/phrases" "$graph/phrases"
mv "$work/HCLG.fst" "$graph/HCLG.fst"
fstinfo --print-args=false "$graph/HCLG.fst" | awk '/^# of (states|arcs)/ { n[++k] = $4 } END { print "HCLG.fst: " n[1] " states, " n[2] " arcs" }'
keep_inputs "$graph" "$inputs"
