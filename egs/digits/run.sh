#!/usr/bin/env bash
# Spoken digits, from nothing to a table of results: makes the speech, trains a small TDNN with this repository's programs,
# and scores it on voices that it knows and on voices that it has never heard. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C
export OPENBLAS_NUM_THREADS=1 # two jobs run at a time; numpy in the Python parts should not take more than its own
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --dir DIR         experiment folder, relative to egs/digits (exp/tdnn)
  --data DIR        data folder, relative to egs/digits (data)
  --num-utts N      training utterances (1600)
  --num-epochs N    passes over the training data (8)
  --nj N            parallel jobs, for data and for training (2)
  --stage N         begin with this stage: 1 programs, 2 data, 3 training, 4 graph, 5 decoding, 6 scores,
                    7 figures (1)
  --last-stage N    end with this one (7)
Data made by an earlier run are used again if they were made the same way, and so is a training of the same kind on the same
data: an interrupted one goes on from its last whole iteration. Everything else is done afresh.
END
}

dir=exp/tdnn
data=data
num_utts=1600
num_epochs=8
nj=2
first_stage=1
last_stage=7
while (( $# )); do
  case $1 in
    --dir | --data | --num-utts | --num-epochs | --nj | --stage | --last-stage)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --dir) dir=$2; shift ;;
    --data) data=$2; shift ;;
    --num-utts) num_utts=$2; shift ;;
    --num-epochs) num_epochs=$2; shift ;;
    --nj) nj=$2; shift ;;
    --stage) first_stage=$2; shift ;;
    --last-stage) last_stage=$2; shift ;;
    --help | -h) usage; exit 0 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift
done
number num_utts whole --num-utts "$num_utts" 1 100000000
number num_epochs whole --num-epochs "$num_epochs" 1 1000000
number nj whole --nj "$nj" 1 10000
number first_stage whole --stage "$first_stage" 1 7
number last_stage whole --last-stage "$last_stage" 0 7
plain_name --dir "$dir"
plain_name --data "$data"
plain_name "the recipe's folder" "$PWD"

python=.venv/bin/python
log=$dir/log
claim_folder "$dir" egs/digits/run.sh
mkdir -p "$log"

# ---- stages: headings, times, and what to say when one fails --------------------------------------------------------
current="starting"
current_log=
started=$SECONDS
training=
on_exit() {
  local status=$?
  if [[ $training ]]; then kill "$training" 2>/dev/null || true; fi
  if (( status == 0 )); then return; fi
  echo >&2
  echo "run.sh: failed in $current (status $status)${current_log:+; its logs are in $(realpath "$current_log")}" >&2
}
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# lint: whole: $1
duration() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }

# lint: whole: $1
stage() { # <number> <heading> <log to read when it fails> <function>
  if (( $1 < first_stage || $1 > last_stage )); then return; fi
  local since=$SECONDS
  current="stage $1 ($2)" current_log=$3
  printf '\n== Stage %d: %s\n' "$1" "$2"
  "$4"
  printf '   (%s)\n' "$(duration $((SECONDS - since)))"
}

# ---- 0, 1: tools ----------------------------------------------------------------------------------------------------
install_tools() { local/install.sh; }

find_programs() {
  programs=$(local/programs.sh)
  PATH=$programs:$PATH
}

# ---- 2: data --------------------------------------------------------------------------------------------------------
make_data() {
  local recipe=(local/make_speech.py local/espeak.py local/features.py local/lang.py local/sound.py conf/phones.txt conf/voices.txt conf/fbank.conf)
  local made_by set
  made_by="$num_utts utterances, $(cat "${recipe[@]}" | cksum)"
  if [[ -f $data/made_by && $(<"$data/made_by") == "$made_by" ]]; then
    echo "$data is there already"
    return
  fi
  claim_folder "$data" egs/digits/run.sh
  rm -rf "${data:?}"/{made_by,train,dev,test_seen,test_unseen}
  "$python" local/make_speech.py --dir "$data" --num-train "$num_utts" --nj "$nj"
  for set in train dev test_seen test_unseen; do make_features "$data/$set" 2>"$log/features.$set.log"; done
  echo "$made_by" >"$data/made_by"
}

make_features() { # <folder of a set>
  compute-fbank-feats --config=conf/fbank.conf --subtract-mean=true "scp:$1/wav.scp" ark:- |
    copy-feats --compress=true --compression-method=2 ark:- "ark,scp:$1/feats.ark,$1/feats.scp"
}

# ---- 3: training ----------------------------------------------------------------------------------------------------
# An interrupted training goes on; one with other options or data is forgotten. The network sees 20 labelled frames at a time.
train() {
  # In the background, because only from `wait` does a signal get through: stopping this script stops the training.
  ../../scripts/train.sh --restart=changed --feats="$data/train" --targets="ark:$data/train/post.ark" --target-type=post \
    --valid-feats="$data/dev" --valid-targets="ark:$data/dev/post.ark" --nnet-config=conf/network.config \
    --chunk-width=20 --archives=6 --num-epochs="$num_epochs" --num-jobs-initial="$nj" --num-jobs-final="$nj" \
    --initial-effective-lrate=0.002 --final-effective-lrate=0.0002 --srand=1 --use-gpu=no --nj="$nj" "$dir" &
  training=$!
  wait "$training"
  training=
}

# ---- 4, 5: graph and decoding --------------------------------------------------------------------------------------
# The network's outputs become the pdfs of phones, its average outputs in training their priors.
make_graph() {
  "$python" local/make_lang.py "$dir/lang"
  {
    nnet3-am-init "$dir/lang/tree" "$dir/lang/topo" "$dir/final.raw" "$dir/model_without_priors"
    nnet3-compute --use-gpu=no --frames-per-chunk=150 --apply-exp=true "$dir/final.raw" "scp:$data/train/feats.scp" ark:- |
      matrix-sum-rows ark:- ark:- | vector-sum ark:- "$dir/posteriors.vec"
    nnet3-am-adjust-priors "$dir/model_without_priors" "$dir/posteriors.vec" "$dir/final.mdl"
    rm "$dir/model_without_priors"
    local/graph.sh "$dir/lang" "$dir/final.mdl" "$dir/graph"
  } 2>"$log/graph.log"
}

decode() {
  local set
  for set in dev test_seen test_unseen; do
    nnet3-compute --use-gpu=no --frames-per-chunk=150 "$dir/final.raw" "scp:$data/$set/feats.scp" \
      "ark:$dir/output.$set.ark" 2>"$log/compute.$set.log"
    nnet3-latgen-faster --frames-per-chunk=150 --acoustic-scale=0.1 "$dir/final.mdl" "$dir/graph/HCLG.fst" \
      "scp:$data/$set/feats.scp" "ark:$dir/lattices.$set.ark" 2>"$log/decode.$set.log"
    grep -o 'Done [0-9]* utterances.*' "$log/decode.$set.log" | sed "s/^/$set: /"
  done
}

# The weight of the language model and the penalty for a word with the fewest errors on dev; of several the first.
find_weights() {
  local weight penalty errors fewest=
  for weight in 10 7 5 3; do
    for penalty in 0 1 2 4; do
      errors=$(local/words.sh "$dir/lang/words.txt" "ark:$dir/lattices.dev.ark" "$weight" "$penalty" 2>>"$log/score.log" |
        compute-wer --text --mode=present "ark:$data/dev/text" ark:- 2>>"$log/score.log" |
        sed -n 's/^%WER [^[]*\[ \([0-9]*\) .*/\1/p')
      number errors whole "number of errors in $log/score.log" "$errors"
      if [[ -z $fewest ]] || ((errors < fewest)); then fewest=$errors weights=("$weight" "$penalty"); fi
    done
  done
}

# ---- 6, 7: results --------------------------------------------------------------------------------------------------
score() {
  local set weights=()
  mkdir -p "$dir/scoring"
  : >"$log/score.log"
  find_weights
  for set in test_seen test_unseen; do
    local/words.sh "$dir/lang/words.txt" "ark:$dir/lattices.$set.ark" "${weights[@]}" >"$dir/scoring/$set.txt" 2>>"$log/score.log"
  done
  "$python" local/score.py --data "$data" "$dir"
  echo "chosen on dev: ${weights[0]} for the language model's weight, ${weights[1]} for the penalty for a word"
}

draw() { "$python" local/plots.py --data "$data" "$dir"; }

current="stage 0 (what the recipe needs)"
echo "== Stage 0: what the recipe needs"
install_tools
stage 1 "the programs" "" find_programs
(( first_stage == 1 )) || find_programs
stage 2 "speech, features and phone labels" "$log" make_data
stage 3 "training" "$log" train
stage 4 "decoding graph" "$log" make_graph
stage 5 "decoding" "$log" decode
stage 6 "scores" "$log" score
stage 7 "figures" "" draw
if (( last_stage < 7 )); then exit; fi
printf '\nDone in %s. Table: %s; figures: %s; the training: %s\n' "$(duration $((SECONDS - started)))" \
  "$(realpath "$dir")/scoring/results.txt" "$(realpath "$dir")/figures" "$(realpath "$dir")/report.html"
