#!/usr/bin/env bash
# Spoken digits recognised by other programs: the network of egs/digits as an ONNX model, kaldi-native-fbank, onnxruntime and
# kaldi-decoder; and in a browser. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C
export OPENBLAS_NUM_THREADS=1
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --digits DIR      a finished experiment of egs/digits (../digits/exp/tdnn; made by ../digits/run.sh if it is missing)
  --data DIR        its data (../digits/data)
  --dir DIR         where results go (exp)
  --programs DIR    folder of this repository's programs (on the PATH, or target/release, or built)
  --num-waves N     utterances of each of two test sets (100)
  --browser WHAT    yes: the page is made and tried in chromium; page: it is only made; no (yes)
END
}

digits=../digits/exp/tdnn
data=../digits/data
dir=exp
programs=
num_waves=100
browser=yes
while (( $# )); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --digits | --data | --dir | --programs | --num-waves | --browser)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --digits) digits=$2 ;;
    --data) data=$2 ;;
    --dir) dir=$2 ;;
    --programs) programs=$2 ;;
    --num-waves) num_waves=$2 ;;
    --browser) browser=$2 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift 2
done
number num_waves whole --num-waves "$num_waves" 1 1000000
for name in digits data dir programs; do
  [[ ! ${!name} ]] || plain_name "--$name" "${!name}"
done
plain_name "the recipe's folder" "$PWD"
[[ ! $programs || -x $programs/nnet3-export ]] || refuse_value "--programs: there is no $programs/nnet3-export"
[[ $browser == yes || $browser == no || $browser == page ]] ||
  { echo "run.sh: --browser: expected yes, page or no, found '$browser'" >&2; exit 2; }
claim_folder "$dir" egs/onnx/run.sh npm # which the page's maker leaves in exp

# ---- what is needed --------------------------------------------------------------------------------------------------
if [[ ! -e $digits/graph/HCLG.fst ]]; then
  [[ $digits == ../digits/exp/tdnn ]] || { echo "run.sh: $digits has no graph/HCLG.fst" >&2; exit 1; }
  ../digits/run.sh
fi
# <set>: its wave files, as <name> <file>. Files in the list are named from the recipe's folder.
waves() { awk '{ if ($2 !~ /^\//) $2 = "../digits/" $2; print }' "$data/$1/wav.scp"; }
if [[ -z $programs ]]; then
  programs=$(../digits/local/programs.sh)
fi
PATH=$(realpath "$programs"):$PATH
if ! cmp -s requirements.txt .venv/requirements.txt; then
  echo "installing with pip into $PWD/.venv: $(sed 's/[;=].*//' requirements.txt | sort -u | paste -sd' ')"
  python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
  cp requirements.txt .venv/requirements.txt
fi
python=$PWD/.venv/bin/python
mkdir -p "$dir/log"

# ---- models and graph ------------------------------------------------------------------------------------------------
echo "Exporting $digits/final.mdl"
export_model() { nnet3-export --use-priors=true --acoustic-scale=0.1 "$@" 2>>"$dir/log/export.log"; }
: >"$dir/log/export.log"
export_model "$digits/final.mdl" "$dir/model.onnx"
export_model --streaming=true --frames-per-chunk=10 "$digits/final.mdl" "$dir/streaming"
# The graph reads transition-ids; kaldi-decoder reads columns of the network's output, counted from 1.
show-transitions "$digits/lang/phones.txt" "$digits/final.mdl" 2>>"$dir/log/export.log" | awk '
  /^Transition-state/ { pdf = $NF }
  /^ *Transition-id/ { print $3, pdf + 1 }' >"$dir/columns.txt"
fstrelabel --relabel_ipairs="$dir/columns.txt" "$digits/graph/HCLG.fst" | fstconvert --fst_type=vector >"$dir/graph.fst"
# Sums over frames of sound like that of the training, for the running mean of a stream.
waves dev >"$dir/dev.wav.scp"
fbank() { compute-fbank-feats --config=../digits/conf/fbank.conf "${@:2}" "$1" ark:-; }
fbank "scp:$dir/dev.wav.scp" 2>"$dir/log/stats.log" |
  compute-cmvn-stats --binary=false ark:- "$dir/stats.txt" 2>>"$dir/log/stats.log"

# ---- words -----------------------------------------------------------------------------------------------------------
words_of() { # <lattices>: the words of their best paths, with the weights that the models were exported with
  ../digits/local/words.sh "$digits/lang/words.txt" "$1" 10 0 2>>"$dir/log/ours.log"
}
: >"$dir/log/ours.log"
failed=0
compare() { # <what> <ours> <theirs> <spoken>
  local differing
  differing=$(diff <(sort "$2") <(sort "$3") | grep -c '^>' || true)
  printf '%-32s %3d of %3d utterances as our decoder; word error rate %s, ours %s\n' "$1" \
    $(($(wc -l <"$3") - differing)) "$(wc -l <"$2")" "$(wer "$4" "$3")" "$(wer "$4" "$2")"
  [[ $differing == 0 && $(wc -l <"$2") == $(wc -l <"$3") ]] || failed=1
}
wer() { compute-wer --text --mode=present "ark:$1" "ark:$2" 2>>"$dir/log/wer.log" | sed -n 's/^%WER \([0-9.]*\) .*/\1 %/p'; }
: >"$dir/log/wer.log"
for set in test_seen test_unseen; do
  waves "$set" | sed -n "1,${num_waves}p" >"$dir/$set.wav.scp"
  mapfile -t files < <(cut -d' ' -f2 "$dir/$set.wav.scp")
  text=$data/$set/text

  fbank "scp:$dir/$set.wav.scp" --subtract-mean=true 2>>"$dir/log/ours.log" |
    nnet3-latgen-faster --frames-per-chunk=150 --acoustic-scale=0.1 "$digits/final.mdl" "$digits/graph/HCLG.fst" \
      ark:- "ark:$dir/lattices.ark" 2>>"$dir/log/ours.log"
  words_of "ark:$dir/lattices.ark" >"$dir/$set.ours"
  "$python" local/recognize.py "$dir/model.onnx" "$dir/graph.fst" "$digits/lang/words.txt" "${files[@]}" >"$dir/$set.onnx"
  compare "$set, whole utterances:" "$dir/$set.ours" "$dir/$set.onnx" "$text"

  fbank "scp:$dir/$set.wav.scp" 2>>"$dir/log/ours.log" |
    apply-cmvn-online "$dir/stats.txt" ark:- ark:- 2>>"$dir/log/ours.log" |
    nnet3-latgen-faster-looped --frames-per-chunk=10 --acoustic-scale=0.1 "$digits/final.mdl" "$digits/graph/HCLG.fst" \
      ark:- "ark:$dir/lattices.ark" 2>>"$dir/log/ours.log"
  words_of "ark:$dir/lattices.ark" >"$dir/$set.streaming.ours"
  "$python" local/recognize.py --streaming --stats "$dir/stats.txt" "$dir/streaming" "$dir/graph.fst" \
    "$digits/lang/words.txt" "${files[@]}" >"$dir/$set.streaming.onnx"
  compare "$set, while they come in:" "$dir/$set.streaming.ours" "$dir/$set.streaming.onnx" "$text"
done
rm -f "$dir/lattices.ark"

# ---- a page ----------------------------------------------------------------------------------------------------------
if [[ $browser != no ]]; then
  export_model --streaming=true --single-graph=true --pack-states=true --frames-per-chunk=10 "$digits/final.mdl" "$dir/digits.onnx"
  mapfile -t files < <(cut -d' ' -f2 "$dir/test_unseen.wav.scp")
  "$python" local/make_page.py --digits "$digits" --stats "$dir/stats.txt" --model "$dir/digits.onnx" \
    --waves "${files[@]:0:5}" --text "$dir/test_unseen.streaming.onnx" "$dir/page"
  if [[ $browser == yes ]]; then "$python" local/try_page.py "$dir/page" "$dir" || failed=1; fi
  echo "To look at it: python3 -m http.server --directory $(realpath "$dir")/page 8000, then http://localhost:8000/"
fi
exit "$failed"
