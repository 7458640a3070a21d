#!/usr/bin/env bash
# Usage: test-train.sh [KILLS [WORDS]]
# Tests scripts/train.sh and scripts/run.sh on a task of seconds: trainings in all their variants reach the accuracy that
# they should; one that is killed at KILLS random moments (default 40) and started again each time ends with the same bytes as
# one that was left alone, and no model that it leaves on the way is damaged. With WORDS, only the tests with
# these words in their names. Takes the programs from the PATH, or builds them. Ends with the line `N passed, N failed`.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"
plain_usage 0 2 "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C OPENBLAS_NUM_THREADS=1

number kills whole KILLS "${1:-40}" 0 100000
words=${2-}
source tests/driver_checks.sh

data=$work/data
tests/train/toy_data.sh "$data"
tests/train/toy_data.sh "$work/valid_data" 5

train() { # <name> <options> …
  scripts/train.sh --feats="scp:$data/feats.scp" --targets="ark:$data/ali.ark" --archives=4 --num-epochs=3 \
    --num-jobs-initial=2 --num-jobs-final=3 --minibatch-size=32 --initial-effective-lrate=0.001 "${@:2}" "$work/$1"
}

tdnn=(--xconfig="$data/tdnn.xconfig")

figure() { # <name> <log-likelihood|objective|accuracy>: of the final model on validation data
  sed -n "s/.* Overall $2 for 'output' is \([^ ]*\) per frame.*/\1/p" "$work/$1"/log/compute_prob_valid.*.log | tail -n 1
}

source tests/train/checks_of_the_runner.sh
source tests/train/checks_of_frames.sh
source tests/train/checks_of_chain.sh
source tests/train/checks_of_interruptions.sh

words='' check "train.sh: a TDNN" reaches 0.95 plain "${tdnn[@]}" --cleanup=false --momentum=0.5
beside frames chain_models interruptions the_runner # the longest first
summary
