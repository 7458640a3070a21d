#!/usr/bin/env bash
# Runs recipes of a Kaldi checkout, unchanged, with the programs of this repository alone. See README.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C OPENBLAS_NUM_THREADS=1 # several jobs at a time
source "$here/../../scripts/common/values.sh"
source "$here/../../scripts/common/folders.sh"
source "$here/local/steps.sh"

usage() {
  cat <<'END'
usage: run.sh [options] KALDI
KALDI is a checkout of Kaldi (git clone https://github.com/kaldi-asr/kaldi); it need not be built, and stays as it is.
  --only NAME,…     recipes to run (yesno,mini_librispeech,voxceleb,aishell,cifar,callhome,rnnlm; with --vosk also vosk)
  --vosk DIR        a checkout of vosk-api (git clone https://github.com/alphacep/vosk-api), for the recipe vosk
  --quick           little data, and the first systems only
  --every           with --quick, too, all systems
  --dir DIR         where recipes run (exp); with --quick exp/quick
  --programs DIR    programs (on the PATH, or target/release, or built)
  --seed N          other data for another number (1)
  --sentences N     sentences to train on in mini_librispeech (2000; with --quick 600), vosk (2000; 400) and aishell (1500; 300), and a tenth
                    of that to test on; mini_librispeech needs 500, aishell without --quick 401
  --nj N            processes that make data, and with --quick jobs of scripts (2)
  --at-once N       recipes at the same time (1; with --quick 2)
Prints a table for each recipe: steps, times, error rates. Started again, it goes on where it was.
END
}

only='' quick=false every=false dir='' programs='' nj=2 seed=1 at_once='' vosk='' sentences='' arguments=()
while (( $# )); do
  case $1 in
    --only | --dir | --programs | --nj | --seed | --at-once | --vosk | --sentences) (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --only) only=$2; shift ;;
    --quick) quick=true ;;
    --every) every=true ;;
    --dir) dir=$2; shift ;;
    --programs) programs=$2; shift ;;
    --nj) nj=$2; shift ;;
    --seed) seed=$2; shift ;;
    --sentences) sentences=$2; shift ;;
    --at-once) at_once=$2; shift ;;
    --vosk) vosk=$2; shift ;;
    --help | -h) usage; exit 0 ;;
    -*) refuse_option "$1" 2 "$(usage)" ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
(( ${#arguments[@]} == 1 )) || { usage >&2; exit 2; }
number nj whole --nj "$nj" 1 10000
number seed whole --seed "$seed" 1 1000000
if [[ $sentences ]]; then number sentences whole --sentences "$sentences" 200 20000; fi
if [[ ! $at_once ]]; then
  at_once=1
  if $quick; then at_once=2; fi
fi
number at_once whole --at-once "$at_once" 1 1000
kaldi=$(realpath -m "${arguments[0]}")
[[ -d $kaldi/egs/wsj/s5/steps ]] || refuse_value "$kaldi has no egs/wsj/s5/steps; is it a checkout of Kaldi?"
if [[ $vosk ]]; then
  vosk=$(realpath -m "$vosk")
  [[ -f $vosk/training/run.sh ]] || refuse_value "$vosk has no training/run.sh; is it a checkout of vosk-api?"
fi
if [[ ! $dir ]]; then
  dir=$here/exp
  if $quick; then dir=$here/exp/quick; fi
fi
plain_name --dir "$dir"
dir=$(realpath -m "$dir")
plain_name "the folder" "$dir"
if [[ ! $only ]]; then
  only=yesno,mini_librispeech,voxceleb,aishell,cifar,callhome
  if [[ $vosk ]]; then only+=,vosk; fi
  only+=,rnnlm
fi
mapfile -t recipes < <(tr , '\n' <<<"$only" | awk '!seen[$0]++')
for recipe in "${recipes[@]}"; do
  [[ $recipe =~ ^[a-z_]+$ && -f $here/local/$recipe.sh && -f $here/programs/$recipe.txt ]] || refuse_value "--only: there is no recipe '$recipe'"
done
if [[ $programs ]]; then programs=$(realpath -m "$programs"); fi
[[ ! $programs || -x $programs/nnet3 ]] || refuse_value "--programs: there is no $programs/nnet3"
for recipe in "${recipes[@]}"; do (check "$recipe" "$dir/$recipe"); done
claim_folder "$dir" egs/recipes/run.sh

cd "$here"
../digits/local/install.sh ${programs:+--built} flac sox perl gzip bc
if [[ ! $programs ]]; then
  programs=$(../digits/local/programs.sh)
fi
[[ -x $programs/nnet3 ]] || refuse_value "there is no $programs/nnet3"
python=$here/.venv/bin/python
text=$here/../chars/text/train.txt

failed=()
if ! $quick; then every=true; fi
export here kaldi programs python text quick every nj seed sentences vosk
# The recipe that another one needs: it goes first if both are wanted.
declare -A needed=([rnnlm]=mini_librispeech [callhome]=voxceleb) process=()
for recipe in "${recipes[@]}"; do
  while (( $(jobs -pr | wc -l) >= at_once )); do wait -n || true; done # lint: whole: at_once
  earlier=${needed[$recipe]-}
  if [[ $earlier && ${process[$earlier]-} ]]; then wait "${process[$earlier]}" || true; fi
  "$here/local/one.sh" "$recipe" "$dir/$recipe" &
  process[$recipe]=$!
done
for recipe in "${recipes[@]}"; do
  wait "${process[$recipe]}" || failed+=("$recipe")
done
for recipe in "${recipes[@]}"; do
  work=$dir/$recipe
  if [[ -f $work/steps.tsv ]]; then report; fi
done
if (( ${#failed[@]} )); then
  echo "run.sh: failed: ${failed[*]}" >&2
  exit 1
fi
