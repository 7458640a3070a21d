#!/usr/bin/env bash
# From wave files, transcripts and a lexicon to a working recogniser. See docs/recognizer.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

driver=recognizer.sh
source "$here/train/messages.sh"
source "$here/common/values.sh"
source "$here/common/folders.sh"

usage() {
  cat <<'HELP'
usage: recognizer.sh [options] DIR
Trains a recogniser of speech: Gaussian models first (or, with --start=flat, a network without alignments), then, with the alignments of
those, a chain model of phones in context. DIR/results.txt has the word error rates on recordings that it was not trained on, DIR/model is a folder for
nnet3-transcribe and vosk. Started again, it goes on where it was; steps whose inputs have changed are done again. e.g.:
  recognizer.sh --wav=recordings --text=transcripts.txt --lexicon=lexicon.txt exp
  recognizer.sh --data=data/train --test-data=data/dev,data/test --lexicon=lexicon.txt --arpa=lm.arpa exp
HELP
  explain_options
}

source "$here/train/options.sh"
source "$here/train/calibration.sh"
source "$here/recognizer/option_list.sh"
source "$here/recognizer/steps.sh"
source "$here/recognizer/data.sh"
source "$here/recognizer/prepare.sh"
source "$here/recognizer/networks.sh"
source "$here/recognizer/ivectors.sh"
source "$here/recognizer/counts.sh"
source "$here/recognizer/gaussian_start.sh"
source "$here/recognizer/flat_start.sh"
source "$here/recognizer/copies.sh"
source "$here/recognizer/adaptation.sh"
source "$here/recognizer/chain.sh"
source "$here/recognizer/gaussian_model.sh"
source "$here/recognizer/decode.sh"
source "$here/recognizer/results.sh"

parse_options "$@"
need_arguments "the folder of the results (DIR)"
dir=${arguments[0]}
check_options
dir=$(realpath -m "$dir")
plain_name "the folder" "$dir"
source "$here/train/jobs.sh"
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1} # several jobs at a time

claim_folder "$dir" recognizer.sh .lock
mkdir -p "$dir/log"
exec {lock}>"$dir/.lock"
if ! flock -n "$lock"; then
  say "another recognizer.sh is at work in $dir, or a training that a killed one has left is going on: waiting"
  flock "$lock"
fi

find "$dir" -mindepth 1 -maxdepth 1 -name '.tmp.*' -exec rm -rf {} + # of one that was killed
make_private "$dir"
began=$SECONDS
for part in $parts; do # lint: words of this script
  "do_$part"
  if [[ $part == "$last_part" && $part != model ]]; then
    say "done until $part, as --last-part says, in $((SECONDS - began)) s"
    exit
  fi
done
say "done in $((SECONDS - began)) s. Word error rates ($dir/results.txt):"
cat "$dir/results.txt"
{ uncertainty_of_results "$dir/results.txt"; advice_of_results "$dir/results.txt"; } | while IFS= read -r line; do say "$line"; done
say "what was wrong: errors.txt (by word) and wrong.tsv (by utterance) in $dir/decode/SET"
say "the model: $dir/model; e.g.: nnet3-transcribe $dir/model some.wav"
