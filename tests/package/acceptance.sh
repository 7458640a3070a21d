#!/usr/bin/env bash
# Usage: acceptance.sh DIR
# Tests installed programs as a user would find them on the PATH: all of them start, the training driver trains a network on a
# task of seconds, and the programs of the digits recipe make a graph and recognise words with it. Writes to DIR. Needs bash, awk, sed,
# grep, gzip and coreutils. Ends with the line `N passed, N failed`.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$here/scripts/common/usage.sh"
plain_usage 1 1 "$@"
work=$1
mkdir -p "$work"
passed=0 failed=0

check() { # <what> <command> …
  local log=$work/check.log
  if "${@:2}" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok      $1"
  else
    failed=$((failed + 1))
    echo "FAILED  $1"
    tail -n 12 "$log" | sed 's/^/        /'
  fi
}

all_start() {
  local name
  nnet3 --list=names >"$work/names" || return 1
  while read -r name; do
    [[ $("$name" --version </dev/null) == "$name "[0-9]* ]] || { echo "$name --version: $("$name" --version 2>&1)"; return 1; }
  done <"$work/names"
  (( $(wc -l <"$work/names") >= 190 ))
}

# Programs of examples have an allocator of their own, whichever way they are called: it can show what it did.
same_allocator() {
  local shown program
  for program in "nnet3 nnet3-copy-egs" nnet3-copy-egs; do
    shown=$(MIMALLOC_SHOW_STATS=1 $program --version 2>&1)
    [[ $shown == *committed* ]] || { echo "$program: $shown"; return 1; }
  done
  [[ $(MIMALLOC_SHOW_STATS=1 nnet3 copy-feats --version 2>&1) != *committed* ]]
}

# A program reads what another one writes, both found by their names.
a_pipe() { [[ $(copy-feats "ark:copy-feats scp:$data/feats.scp ark:- |" ark:- 2>/dev/null | feat-to-dim ark:- -) == 4 ]]; }

trains() {
  "$here/scripts/train.sh" --feats="scp:$data/feats.scp" --targets="ark:$data/ali.ark" --xconfig="$data/tdnn.xconfig" --archives=2 \
    --num-epochs=3 --minibatch-size=32 --nj=1 --initial-effective-lrate=0.001 --use-gpu=no "$work/tdnn" || return 1
  awk '/Overall accuracy/ { found = $0 ~ /accuracy for .output. is (0\.9|1)/ } END { exit !found }' \
    "$work/tdnn/log/compute_prob_valid.final.log"
}

# Classes 0 to 2 as phones 1 to 3, each of them a word: the words are the classes, one after the other.
make_lang() { # <folder>
  mkdir -p "$1/phones"
  printf '%s\n' '<eps> 0' 'a 1' 'b 2' 'c 3' '#0 4' '<s> 5' '</s> 6' >"$1/words.txt"
  printf '%s\n' '0 0 1 1 0' '0 0 2 2 0' '0 0 3 3 0' '0 0 4 4 0' '0 0' >"$1/lexicon.txt"
  echo 4 >"$1/phones/disambig.int"
  # shellcheck disable=SC1003
  printf '%b\n' '\\data\\' 'ngram 1=5' '' '\\1-grams:' '-99\t<s>' '-0.602\t</s>' '-0.602\ta' '-0.602\tb' '-0.602\tc' '' '\\end\\' >"$1/lm.arpa"
  printf '%s\n' '<Topology>' '<TopologyEntry>' '<ForPhones>' '1 2 3' '</ForPhones>' \
    '<State> 0 <PdfClass> 0 <Transition> 0 0.9 <Transition> 1 0.1 </State>' '<State> 1 </State>' '</TopologyEntry>' '</Topology>' >"$1/topo"
  printf '%s\n' 'ContextDependency 1 0 ToPdf TE 0 4 ( NULL CE 0 CE 1 CE 2 )' 'EndContextDependency' >"$1/tree"
}

makes_a_graph() {
  local lang=$work/lang
  make_lang "$lang"
  nnet3-am-init "$lang/tree" "$lang/topo" "$work/tdnn/final.raw" "$work/no_priors.mdl" &&
    nnet3-compute --use-gpu=no --apply-exp=true "$work/tdnn/final.raw" "scp:$data/feats.scp" ark:- |
    matrix-sum-rows ark:- ark:- | vector-sum ark:- "$work/posteriors.vec" &&
    nnet3-am-adjust-priors "$work/no_priors.mdl" "$work/posteriors.vec" "$work/final.mdl" &&
    "$here/egs/digits/local/graph.sh" "$lang" "$work/final.mdl" "$work/graph" || return 1
  # The classes without repetitions are what was said.
  copy-int-vector "ark:$data/ali.ark" ark,t:- |
    awk '{ line = $1; for (i = 2; i <= NF; i++) if (i == 2 || $i != $(i - 1)) line = line " " substr("abc", $i + 1, 1); print line }' \
      >"$work/text"
}

recognises() {
  nnet3-latgen-faster --use-gpu=no --acoustic-scale=1.0 "$work/final.mdl" "$work/graph/HCLG.fst" "scp:$data/feats.scp" \
    "ark:$work/lattices.ark" || return 1
  "$here/egs/digits/local/words.sh" "$work/lang/words.txt" "ark:$work/lattices.ark" 1 0 >"$work/words" &&
    compute-wer --text --mode=present "ark:$work/text" "ark:$work/words" | tee "$work/wer" || return 1
  awk '/^%WER/ { exit !($2 < 20) }' "$work/wer"
}

makes_features_of_sound() {
  compute-mfcc-feats --use-energy=true --dither=0 "scp:echo u7 $here/tests/data/sound/u7.wav |" "ark:$work/mfcc.ark" &&
    compute-cmvn-stats "ark:$work/mfcc.ark" "ark:$work/cmvn.ark" &&
    [[ $(apply-cmvn "ark:$work/cmvn.ark" "ark:$work/mfcc.ark" ark:- | feat-to-dim ark:- -) == 13 ]]
}

data=$work/data
check "all programs start by their names" all_start
check "a program has the same allocator by both names" same_allocator
check "made data" "$here/tests/train/toy_data.sh" "$data" 20
check "a pipe of two programs" a_pipe
check "features of sound" makes_features_of_sound
check "scripts/train.sh" trains
check "a model with priors, and a decoding graph" makes_a_graph
check "recognised words" recognises
[[ ! -s $work/wer ]] || grep '^%WER' "$work/wer" | sed 's/^/        /'

printf '\n%d passed, %d failed\n' "$passed" "$failed"
(( failed == 0 ))
