#!/usr/bin/env bash
# Recognisers of recordings of people, each by one call of scripts/recognizer.sh: error rates, times, and errors over minutes of speech. See README.md.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C OPENBLAS_NUM_THREADS=1 # two jobs run at a time
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --digits DIR  clone of github.com/Jakobovski/free-spoken-digit-dataset
  --mboshi DIR  clone of github.com/besacier/mboshi-french-parallel-corpus
  --yesno DIR   clone of github.com/keighrim/kaldi-yesno-tutorial, or the folder waves_yesno of Kaldi's recipe
  --speakers true|false|NAME,…   of the digits also hold out one speaker after the other (true), or these alone, and train nothing else
  --minutes N,…  minutes of Mboshi to train on for the curve (5,10,20,40,80); none: no curve
  --dir DIR     experiment folder, relative to egs/recordings (exp)
  --nj N        parallel jobs (2)
Give at least one corpus. Started again, it goes on where it was.
END
}

digits='' mboshi='' yesno='' speakers=true minutes=5,10,20,40,80 dir=exp nj=2
while (( $# )); do
  case $1 in
    --digits | --mboshi | --yesno | --speakers | --minutes | --dir | --nj)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2" # lint: an option's name
      shift
      ;;
    --help | -h) usage; exit 0 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift
done
[[ $digits || $mboshi || $yesno ]] || { echo "run.sh: give a corpus" >&2; usage >&2; exit 2; }
[[ $speakers =~ ^[a-z]+(,[a-z]+)*$ ]] || { echo "run.sh: --speakers=$speakers: expected true, false, or names such as george,theo" >&2; exit 2; }
number nj whole --nj "$nj" 1 10000
[[ $minutes == none ]] || numbers minutes , --minutes "$minutes" 1 10000
plain_name --dir "$dir"
for corpus in digits mboshi yesno; do
  if [[ ${!corpus} && ${!corpus} != /* ]]; then printf -v "$corpus" %s "$caller/${!corpus}"; fi # lint: an option's name
  [[ ! ${!corpus} || -d ${!corpus} ]] || { echo "run.sh: --$corpus: there is no folder ${!corpus}" >&2; exit 2; } # lint: an option's name
done
claim_folder "$dir" egs/recordings/run.sh
say() { printf '\n== %s\n' "$*"; }

say "The programs"
programs=$(../digits/local/programs.sh)
PATH=$programs:$PATH
make_private "$dir"
trap remove_private EXIT
source local/corpora.sh
table=$dir/results.tsv
printf 'corpus\ttraining minutes\tutterances\twords\tword errors %%\tcharacter errors %%\tseconds\tremark\n' >"$table"

[[ ! $yesno ]] || { say "yesno"; train_yesno; }
[[ ! $digits ]] || { say "Digits"; train_digits; }
[[ ! $mboshi ]] || { say "Mboshi"; train_mboshi; }

say "Results ($table)"
awk -F'\t' '{ line = sprintf("%-26s %9s %11s %7s %14s %19s %8s  %s", $1, $2, $3, $4, $5, $6, $7, $8); sub(/ +$/, "", line); print line }' "$table"
