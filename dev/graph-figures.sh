#!/usr/bin/env bash
# Usage: NNET3_DECODING_DIR=<folder of decoding figures> graph-figures.sh [BIN [PART...]]
# Makes the graphs of the reference's figures with our programs, stage by stage, and counts what is as it should be.
#
# BIN is where the programs are (target/release). A PART is a language, `operations` or `training_graphs`; all without one. Each stage is made twice: from what the reference had before that stage,
# and from what our programs made. Prints a line for each check that fails, and how many passed of how many.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
plain_usage 0 1000 "$@"

here=$(cd "$(dirname "$0")" && pwd)
bin=$(realpath -- "${1:-$here/../target/release}" 2>/dev/null)
[[ -d $bin ]] || { echo "graph-figures.sh: there is no folder ${1:-$here/../target/release}" >&2; exit 1; }
[[ -d ${NNET3_DECODING_DIR-}/graphs ]] || { echo "graph-figures.sh: NNET3_DECODING_DIR: expected a folder with graphs/, found '${NNET3_DECODING_DIR-}'" >&2; exit 1; }
figures=$(cd "$NNET3_DECODING_DIR/graphs" && pwd) || exit 1
export PATH=$bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 total=0

compare() { python3 "$here/compare-fsts.py" "$@"; }

# check NAME COMMAND...: counts whether the command succeeds.
check() {
  local name=$1 output
  shift
  total=$((total + 1))
  if output=$("$@" 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAILED $name: $(tail -n 1 <<< "$output")"
  fi
}

same_text() { fstprint "$1" > "$work/a.txt" && fstprint "$2" > "$work/b.txt" && compare text "$work/a.txt" "$work/b.txt"; }
similar_size() { fstprint "$1" > "$work/a.txt" && fstprint "$2" > "$work/b.txt" && compare sizes "$work/a.txt" "$work/b.txt"; }
# same_paths FST PATHS TOLERANCE
same_paths() { fstprint "$1" | python3 "$figures/random_paths.py" check - "$2" "$3"; }
# same_paths_of_windows CLG ILABELS REFERENCE_ILABELS PATHS TOLERANCE
same_paths_of_windows() {
  fstprint "$1" > "$work/a.txt" && compare relabel "$work/a.txt" "$2" "$3" > "$work/b.txt" &&
    python3 "$figures/random_paths.py" check "$work/b.txt" "$4" "$5"
}

exact=1e-4 rounded=0.02

# stages IN OUT: makes each stage in OUT from the one before it in IN.
stages() {
  local in=$1 out=$2
  arpa2fst --disambig-symbol=#0 --read-symbol-table="$lang"/words.txt "$arpa" "$out"/G.fst &&
    fsttablecompose "$lang"/L_disambig.fst "$in"/G.fst "$out"/LG.1compose.fst &&
    fstdeterminizestar --use-log=true "$in"/LG.1compose.fst "$out"/LG.2det.fst &&
    fstminimizeencoded "$in"/LG.2det.fst "$out"/LG.3min.fst &&
    fstpushspecial "$in"/LG.3min.fst "$out"/LG.fst &&
    fstcomposecontext --context-size="$width" --central-position="$central" --read-disambig-syms="$lang"/phones/disambig.int \
      --write-disambig-syms="$out"/disambig_ilabels.int "$out"/ilabels "$in"/LG.fst | fstarcsort --sort_type=ilabel > "$out"/CLG.fst &&
    make-h-transducer --disambig-syms-out="$out"/disambig_tid.int --transition-scale=1.0 "$in"/ilabels "$tree" "$model" > "$out"/Ha.fst &&
    fsttablecompose "$in"/Ha.fst "$in"/CLG.fst "$out"/HCLGa.1compose.fst &&
    fstdeterminizestar --use-log=true "$in"/HCLGa.1compose.fst "$out"/HCLGa.2det.fst &&
    fstrmsymbols "$in"/disambig_tid.int "$in"/HCLGa.2det.fst "$out"/HCLGa.3rmsym.fst &&
    fstrmepslocal "$out"/HCLGa.3rmsym.fst "$out"/HCLGa.4rmeps.fst &&
    fstminimizeencoded "$in"/HCLGa.4rmeps.fst "$out"/HCLGa.fst &&
    add-self-loops --self-loop-scale="$loopscale" --reorder=true "$model" "$in"/HCLGa.fst "$out"/HCLG.vector.fst &&
    fstconvert --fst_type=const "$out"/HCLG.vector.fst > "$out"/HCLG.fst &&
    tree-info "$tree" | sed -n 's/num-pdfs //p' > "$out"/num_pdfs &&
    for graph in LG CLG HCLGa HCLG; do
      printf '%s ' $graph
      fstisstochastic "$in"/$graph.fst || true
    done > "$out"/stochastic.txt
}

language() {
  local name=$1 lang=$figures/$2 arpa=$figures/$3 tree=$figures/$1/$4.tree model=$figures/$1/$4.trans_mdl loopscale=$5
  local reference=$figures/$1 one=$work/$1.one all=$work/$1.all width central graph
  mkdir -p "$one" "$all"
  width=$(tree-info "$tree" 2> /dev/null | sed -n 's/context-width //p')
  central=$(tree-info "$tree" 2> /dev/null | sed -n 's/central-position //p')
  check "$name: stages from the reference's" stages "$reference" "$one"
  check "$name: stages from ours" stages "$all" "$all"

  for graph in G LG.1compose LG CLG Ha HCLGa.1compose HCLGa.4rmeps HCLG; do
    check "$name: text of $graph" same_text "$one"/$graph.fst "$reference"/$graph.fst
  done
  for graph in ilabels disambig_ilabels.int disambig_tid.int num_pdfs; do
    check "$name: $graph" compare bytes "$one"/$graph "$reference"/$graph
  done
  fstconvert "$reference"/HCLG.fst "$work"/vector.fst && fstconvert --fst_type=const "$work"/vector.fst "$work"/const.fst
  check "$name: const from vector" compare bytes "$work"/const.fst "$reference"/HCLG.fst
  check "$name: stochastic" compare numbers "$one"/stochastic.txt "$reference"/stochastic.txt 0.01

  for made in one all; do
    for graph in G LG.1compose LG.2det Ha HCLGa.1compose HCLGa.2det; do
      # Behind minimization and with labels of its own, what our programs made is not exactly that of the reference.
      local tolerance=$exact
      [[ $made$graph == allHCLGa* ]] && tolerance=$rounded
      [[ $made$graph == all*Ha || ! -e $reference/paths/$graph.txt ]] && continue
      check "$name, $made: paths of $graph" same_paths ${!made}/$graph.fst "$reference"/paths/$graph.txt $tolerance
    done
    for graph in LG HCLGa HCLG; do
      check "$name, $made: paths of $graph" same_paths ${!made}/$graph.fst "$reference"/paths/$graph.txt $rounded
      check "$name, $made: size of $graph" similar_size ${!made}/$graph.fst "$reference"/$graph.fst
    done
    # What minimization leaves has the same costs of whole strings before and after pushing.
    check "$name, $made: paths of LG.3min" same_paths ${!made}/LG.3min.fst "$reference"/paths/LG.txt $rounded
    check "$name, $made: paths of CLG" same_paths_of_windows ${!made}/CLG.fst ${!made}/ilabels "$reference"/ilabels \
      "$reference"/paths/CLG.txt $rounded
  done
  check "$name, all: stochastic" compare numbers "$all"/stochastic.txt "$reference"/stochastic.txt 0.01
}

# The commands in ops/commands.txt, with their outputs in another folder.
operations() {
  local out=$work/ops line name command expected status made
  mkdir -p "$out"
  while IFS= read -r line; do
    name=${line%%: *} command=${line#*: } expected=0
    if [[ $command =~ (.*[^ ])\ *\[exit\ status\ ([0-9]+)\] ]]; then
      command=${BASH_REMATCH[1]} expected=${BASH_REMATCH[2]}
    fi
    (cd "$figures" && eval "${command//ops\//$out/}") 2> "$out/$name.log" # lint: it is a command
    status=$?
    check "ops, $name: status" test $status = "$expected"
    made=$out/$name.fst
    [[ -e $made ]] && fstprint "$made" > "$out/$name.txt"
    case $name in
      determinizestar.tropical) check "ops, $name" same_outcome "$made" "$figures/ops/$name.txt" ;;
      minimizeencoded.*)
        check "ops, $name: size" compare sizes "$out/$name.txt" "$figures/ops/$name.txt"
        check "ops, $name" same_outcome "$made" "$figures/ops/$name.txt"
        ;;
      *) [[ -e $figures/ops/$name.txt ]] && check "ops, $name: text" compare text "$out/$name.txt" "$figures/ops/$name.txt" ;;
    esac
    [[ -e $figures/ops/$name.log ]] && check "ops, $name: log" diff <(log_lines "$out/$name.log") <(log_lines "$figures/ops/$name.log")
  done < "$figures/ops/commands.txt"
  check "ops: words" compare bytes "$out/arpa.words" "$figures/ops/arpa.words"
  for name in context.3.1.disambig context.3.1.ilabels context.nodisambig.ilabels; do
    check "ops: $name" compare bytes "$out/$name" "$figures/ops/$name"
  done
}

# Messages without places in the source.
log_lines() { sed -n 's/^\([A-Z]*\) ([^ ]*()[^ ]*) /\1 /p' "$1"; }

# same_outcome FST TEXT: the costs of random strings of TEXT.
same_outcome() {
  python3 "$figures/random_paths.py" make "$2" > "$work/paths.txt" && same_paths "$1" "$work/paths.txt" $rounded
}

training_graphs() {
  local out=$work/train-graphs line name command key
  mkdir -p "$out"
  while IFS= read -r line; do
    name=${line%%: *} command=${line#*: }
    (cd "$figures/train-graphs" && eval "${command//ark:$name/ark:$out/$name}") 2> "$out/$name.log" # lint: it is a command
    check "$name: status" test $? = 0
    check "$name: log" diff <(log_lines "$out/$name.log") <(log_lines "$figures/train-graphs/$name.log")
    fstcopy ark:"$out"/"$name".fsts ark,t:"$out"/"$name".fsts.txt 2> /dev/null
    split_archive "$out/$name.fsts.txt" "$out/$name.ours"
    split_archive "$figures/train-graphs/$name.fsts.txt" "$out/$name.reference"
    check "$name: keys" diff <(ls "$out/$name.ours") <(ls "$out/$name.reference")
    for key in "$out/$name.reference"/*; do
      key=${key##*/}
      python3 "$figures/random_paths.py" make "$out/$name.reference/$key" > "$work/paths.txt"
      check "$name, $key" python3 "$figures/random_paths.py" check "$out/$name.ours/$key" "$work/paths.txt" 0.01
      check "$name, $key: size" compare sizes "$out/$name.ours/$key" "$out/$name.reference/$key"
    done
  done < "$figures/train-graphs/commands.txt"
}

# split_archive ARCHIVE FOLDER: a file for each key of a text archive.
split_archive() {
  mkdir -p "$2"
  folder="$2" awk 'BEGIN { folder = ENVIRON["folder"] } NF == 0 { out = ""; next } out == "" { out = folder "/" $1; next } { print > out }' "$1"
}

part() {
  case $1 in
    digits) language digits digits/lang lm/digits.bi.arpa mono 1.0 ;;
    digits-uni) language digits-uni digits/lang lm/digits.uni.arpa mono 0.1 ;;
    digits-wb) language digits-wb digits-wb/lang lm/digits.bi.arpa mono 1.0 ;;
    commands) language commands commands/lang lm/commands.tri.arpa bi 1.0 ;;
    digits-tri) language digits-tri digits/lang lm/digits.bi.arpa tri 1.0 ;;
    operations | training_graphs) $1 ;;
    *) echo "$0: there is no part '$1'" >&2 && exit 1 ;;
  esac
}

shift $(($# > 0 ? 1 : 0))
(( $# )) || set -- digits digits-uni digits-wb commands digits-tri operations training_graphs
for name; do part "$name"; done
echo "$passed of $total checks passed"
(( passed == total ))
