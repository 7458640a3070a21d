#!/usr/bin/env bash
# Cuts a data folder into training examples: chunks of labelled frames with the context that the network needs.
#   make_egs.sh <data> <model> <egs>
# Writes <egs>/egs.{1..num_archives}.ark (shuffled), and train_diagnostic.egs and valid_diagnostic.egs, small sets of
# minibatches for nnet3-compute-prob, from <data>/train and <data>/dev. Runs in the recipe's folder.
set -euo pipefail

chunk_width=20       # labelled frames in an example
num_archives=6       # a training job reads one archive in an iteration
num_diagnostic=500   # examples in each diagnostic set
num_phones=$(grep -c '^[0-9]' conf/phones.txt)

data=$1 model=$2 egs=$3
mkdir -p "$egs/log"

model_info=$(nnet3-info "$model" 2>"$egs/log/info.log")
left_context=$(sed -n 's/^left-context: //p' <<<"$model_info")
right_context=$(sed -n 's/^right-context: //p' <<<"$model_info")

get_egs() { # <set> <wspecifier>
  nnet3-get-egs --num-pdfs="$num_phones" --num-frames="$chunk_width" \
    --left-context="$left_context" --right-context="$right_context" \
    "scp:$data/$1/feats.scp" "ark:$data/$1/post.ark" "$2"
}

get_egs train ark:- 2>"$egs/log/get_egs.train.log" |
  nnet3-shuffle-egs --srand=1 ark:- "ark:$egs/all.egs" 2>"$egs/log/shuffle.log"
archives=()
for ((i = 1; i <= num_archives; i++)); do archives+=("ark:$egs/egs.$i.ark"); done
nnet3-copy-egs "ark:$egs/all.egs" "${archives[@]}" 2>"$egs/log/split.log"

diagnostic_minibatches() { # <rspecifier> <name>
  nnet3-subset-egs --n="$num_diagnostic" --srand=1 "$1" ark:- 2>"$egs/log/subset.$2.log" |
    nnet3-merge-egs --minibatch-size=1:64 ark:- "ark:$egs/$2_diagnostic.egs" 2>"$egs/log/merge.$2.log"
}
diagnostic_minibatches "ark:$egs/all.egs" train
get_egs dev "ark:$egs/dev.egs" 2>"$egs/log/get_egs.valid.log"
diagnostic_minibatches "ark:$egs/dev.egs" valid
rm "$egs/all.egs" "$egs/dev.egs"
