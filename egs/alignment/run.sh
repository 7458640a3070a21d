#!/usr/bin/env bash
# Forced alignment, from nothing: has synthetic voices speak, aligns what they say, and compares with the times that the synthesiser knows.
# With --mboshi, human speech. See README.md.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C.UTF-8 OPENBLAS_NUM_THREADS=1
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --quick         100 sentences in the place of 500
  --mboshi DIR    align the sentences of this clone of besacier/mboshi-french-parallel-corpus instead
  --dir DIR       folder of the results, relative to egs/alignment (exp, with --quick exp/quick, with --mboshi exp/mboshi)
Started again, it goes on where it was.
END
}

dir='' mboshi='' count=500
while (( $# )); do
  case $1 in
    --dir | --mboshi)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --quick) count=100 ;;
    --dir) dir=$2; shift ;;
    --mboshi) mboshi=$2; shift ;;
    --help | -h) usage; exit 0 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift
done
if [[ $mboshi && $mboshi != /* ]]; then mboshi=$caller/$mboshi; fi
[[ ! $mboshi || -d $mboshi/full_corpus_newsplit/all ]] || refuse_value "--mboshi: there is no folder $mboshi/full_corpus_newsplit/all"
if [[ $mboshi ]]; then dir=${dir:-exp/mboshi}; elif (( count == 100 )); then dir=${dir:-exp/quick}; fi
dir=${dir:-exp}
plain_name --dir "$dir"
claim_folder "$dir" egs/alignment/run.sh
say() { printf '\n== %s\n' "$*"; }

say "The programs"
programs=$(../digits/local/programs.sh)
PATH=$programs:$PATH

if [[ $mboshi ]]; then
  say "Alignment of human speech"
  nnet3-align --text-extension=mb.cleaned --speakers=field:1 --skip-bad=true "$mboshi/full_corpus_newsplit/all" letters "$dir/aligned"
  say "$dir/aligned has the TextGrids, and files.tsv a line for each recording"
  if [[ -d $mboshi/forced_alignments_supervised_spkr/align-kit-old ]]; then
    say "Comparison with the times of the corpus"
    python3 local/compare_mboshi.py "$dir/aligned" "$mboshi/forced_alignments_supervised_spkr/align-kit-old"
  fi
  exit
fi

say "What the recipe needs"
../digits/local/install.sh
say "Speech"
if [[ -f $dir/speech/reference.tsv ]]; then echo "$dir/speech is there already"
else .venv/bin/python local/make_corpus.py --count="$count" "$dir/speech"
fi
say "Alignment, without a model"
nnet3-align --picture="$dir/picture.svg" "$dir/speech/corpus" ../commands/conf/lexicon.txt "$dir/aligned"
say "Comparison with the synthesiser's times"
.venv/bin/python local/compare.py "$dir/aligned" "$dir/speech/reference.tsv"
.venv/bin/python local/readers.py "$dir/aligned/textgrids"
echo "$dir/picture.svg is a picture of a sentence"
