#!/usr/bin/env bash
# Usage: test-recognizer.sh [WORDS]
# Tests scripts/recognizer.sh, adapt_model.sh, make_graph.sh and make_vosk_model.sh on a language of tones: a recogniser learns it from words
# alone, one that is killed and started again ends with the same bytes, and what is wrong with data is said. With WORDS, only the tests with
# these words in their names. Takes the programs from the PATH, or builds them; needs Python 3. The checks are in tests/recognizer. Ends
# with the line `N passed, N failed`.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"
plain_usage 0 1 "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C OPENBLAS_NUM_THREADS=1

words=${1-}
source tests/driver_checks.sh

# <part of a sentence> <command> …: fails, and says this.
says() {
  local said status
  said=$("${@:2}" 2>&1)
  status=$?
  echo "$said"
  (( status != 0 )) && [[ $said == *"$1"* ]]
}

toy=$work/toy
tests/recognizer/toy_speech.py --num 90 "$toy"
common=(--network="$toy/toy.xconfig" --num-epochs=3 --initial-lrate=0.004 --num-jobs-final=1 --cmvn=true --garbage=false --use-gpu=no
  --train-opts=--report=false)
fast=("${common[@]}" --start=flat --flat-network="$toy/toy.xconfig" --flat-epochs=3 --flat-initial-lrate=0.004)

bin=$work/bin
no_python() { # makes $bin: all programs of the PATH but Python
  local name path
  mkdir -p "$bin"
  IFS=: read -ra path <<<"$PATH"
  for name in "${path[@]}"; do
    find "$name" -maxdepth 1 ! -name 'python*' ! -name 'pip*' \( -type f -o -type l \) -exec ln -s -t "$bin" {} + 2>/dev/null
  done
  ! PATH=$bin command -v python3
}
no_python || exit

recognizer() { # <folder> <options> …
  scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" "${fast[@]}" "${@:2}" \
    "$work/$1"
}

# From Gaussian models, which is the default. The shortest utterances are shorter than all chunk sizes, and none is lost.
learns_from_gaussians() {
  local said
  said=$(scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" "${common[@]}" \
    --chunk-width=150,120 "$work/gaussian" 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  [[ $said == *"train: 90 utterances ("*" in, 90 utterances ("*" out"* && $said == *"alignments of the Gaussian models: 81 of 81 utterances"* &&
    $said == *"examples: from 72 of 72 utterances"* && $said == *"recognition of held_out: 9 of 9 utterances"* ]] || return 1
  awk 'NR > 1 { if (NF < 8 || $0 !~ / %/) exit 1; n++; if ($4 > 15) bad = 1 } END { exit bad || n != 1 }' "$work/gaussian/results.txt"
}

# Noise is no word, and words are words.
rejects() {
  recognizer garbage --garbage=true || return 1
  awk 'NR > 1 && $4 > 15 { exit 1 }' "$work/garbage/results.txt" || { cat "$work/garbage/results.txt"; return 1; }
  # Of eight noises, those with even numbers are no speech: white, pink and brown noise, and hum.
  garbage-sounds --print-args=false --srand=1001 --sample-frequency=8000 --min-count=8 --share=0 "$work/garbage/data/train" "$work/noise" || return 1
  nnet3-transcribe --print-args=false "$work/garbage/model" "$work"/noise/*[0246].wav 2>/dev/null | tee "$work/heard"
  ! cut -s -d' ' -f2- "$work/heard" | tr ' ' '\n' | grep -v '^<unk>$' | grep .
}

without_python() { # all parts
  PATH=$bin scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" "${common[@]}" --garbage=true \
    --perturb=true --num-epochs=1 "$work/no_python" || return 1
  echo 'lo mi lomi' >"$work/new_text"
  PATH=$bin scripts/adapt_model.sh --text="$work/new_text" --oov=g2p "$work/no_python" "$work/no_python_adapted" &&
    grep -q '^lomi ' "$work/no_python_adapted/new_words.txt"
}

# From Gaussian models, with a garbage word, and without Python.
other_recognisers() {
  work=$own
  check "language model and lexicon: as their definitions" python3 -m unittest discover -s tests/recognizer
  check "a recogniser learns from Gaussian models, from utterances of any length" learns_from_gaussians
  check "a garbage word: noise is no word" rejects
  check "no Python on the PATH: a recogniser, and an adapted one with a new word" without_python
}

source tests/recognizer/checks_of_a_recogniser.sh
source tests/recognizer/checks_of_speakers.sh
source tests/recognizer/checks_of_ivectors.sh
source tests/recognizer/checks_of_data.sh
beside a_recogniser speakers other_recognisers ivectors_and_long_recordings data # the longest first
summary
