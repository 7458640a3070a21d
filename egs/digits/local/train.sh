#!/usr/bin/env bash
# Trains a network as Kaldi's raw drivers do: in each iteration a few jobs train the same model on different archives, and
# their average is the next model.
#   train.sh [--num-epochs N] [--num-jobs J] <egs> <dir>
# Starts from <dir>/0.raw, or from the last whole iteration that it finds there, and ends with <dir>/final.raw, the average
# of the last models. What each iteration does is in <dir>/schedule.txt. Runs in the recipe's folder.
set -euo pipefail
set -m # each background job is a process group, which can be stopped as a whole
export LC_ALL=C

num_epochs=8
num_jobs=2
initial_lrate=0.002 # effective: an iteration's learning rate is this times the number of jobs
final_lrate=0.0002
minibatch_size=64 # examples
max_param_change=2.0
num_average=5 # the final model is the average of this many iterations' models

while [[ ${1-} == --* ]]; do
  case $1 in
    --num-epochs) num_epochs=$2 ;;
    --num-jobs) num_jobs=$2 ;;
    *) echo "train.sh: unknown option $1" >&2; exit 1 ;;
  esac
  shift 2
done
egs=$1 dir=$2 log=$2/log
mkdir -p "$log"

trap 'for job in $(jobs -p); do kill -- "-$job" 2>/dev/null || true; done' EXIT
fail() { # <what went wrong> <log that says why>
  echo "train.sh: $1; the end of $2 is:" >&2
  tail -n 3 "$2" | sed 's/^/    /' >&2
  exit 1
}

num_archives=$(find "$egs" -name 'egs.*.ark' | wc -l)
if (( num_jobs > num_archives )); then
  echo "train.sh: $num_jobs jobs need as many archives, but $egs has $num_archives" >&2
  exit 1
fi

# One line an iteration: number, archives processed before it, learning rate, minibatch size, largest parameter change.
# The first iteration starts from random numbers, and is careful: half the minibatch size, change divided by sqrt(2).
awk -v epochs="$num_epochs" -v archives="$num_archives" -v jobs="$num_jobs" \
  -v initial="$initial_lrate" -v final="$final_lrate" -v minibatch="$minibatch_size" -v change="$max_param_change" '
  BEGIN {
    to_process = int(epochs * archives)
    num_iters = int(2 * to_process / (jobs + jobs))
    if (num_iters < 1) num_iters = 1
    for (i = 0; i < num_iters; i++) {
      lrate = i + 1 == num_iters ? final : initial * exp(i * jobs * log(final / initial) / to_process)
      print i, i * jobs, jobs * lrate, i ? minibatch : int(minibatch / 2), i ? change : change / sqrt(2)
    }
  }' >"$dir/schedule.txt"
num_iters=$(wc -l <"$dir/schedule.txt")

# ---- diagnostics ----------------------------------------------------------------------------------------------------
diagnose() { # <model>: objective and accuracy on parts of the training and the validation set
  local part
  for part in train valid; do
    nnet3-compute-prob "$dir/$1.raw" "ark,bg:$egs/${part}_diagnostic.egs" &>"$log/compute_prob_$part.$1.log" || return 1
  done
}

figures_of() { # <part> <model>: its objective and accuracy, from the log
  local per_frame="for 'output' is \([^ ]*\) per frame.*"
  sed -n "s/.* Overall log-likelihood $per_frame/\1/p; s/.* Overall accuracy $per_frame/\1/p" \
    "$log/compute_prob_$1.$2.log" | tail -n 2 | paste -sd' '
}

report() { # <model> <since when>
  echo "$1 $(figures_of train "$1") $(figures_of valid "$1") $2 $EPOCHREALTIME" | awk '{
    printf "  %5s  %12.4f  %7.2f %%  %12.4f  %7.2f %%  %7.1f\n", $1, $2, 100 * $3, $4, 100 * $5, $7 - $6 }'
}

# ---- one iteration --------------------------------------------------------------------------------------------------
train_job() { # <job> <a line of the schedule>
  local job=$1 i=$2 lrate=$4 minibatch=$5 change=$6
  local archive=$((($3 + job - 1) % num_archives + 1))
  local shuffle="nnet3-shuffle-egs --buffer-size=5000 --srand=$i ark:$egs/egs.$archive.ark ark:-"
  local merge="nnet3-merge-egs --minibatch-size=$minibatch ark:- ark:-"
  nnet3-train --use-gpu=no --print-interval=10 --momentum=0.0 --max-param-change="$change" \
    --l2-regularize-factor="$(awk -v jobs="$num_jobs" 'BEGIN { print 1 / jobs }')" --srand="$i" \
    "nnet3-copy --learning-rate=$lrate $dir/$i.raw - |" "ark,bg:$shuffle | $merge |" "$dir/$((i + 1)).$job.raw"
}

job_objective() { # <iteration> <job>
  sed -n "s/^LOG .* Overall average objective function for 'output' is \([^ ]*\) over .* frames.*/\1/p" \
    "$log/train.$1.$2.log" | tail -n 1
}

best_job() { # <iteration>
  for ((job = 1; job <= num_jobs; job++)); do
    echo "$(job_objective "$1" "$job") $job"
  done | sort -g | tail -n 1 | cut -d' ' -f2
}

iteration() { # <a line of the schedule>
  local i=$1 next=$dir/$(($1 + 1)) started=$EPOCHREALTIME job pids=() diagnosis
  rm -f "$next".*.raw # what an interrupted run may have left
  diagnose "$i" &
  diagnosis=$!
  for ((job = 1; job <= num_jobs; job++)); do
    train_job "$job" "$@" &>"$log/train.$i.$job.log" &
    pids+=($!)
  done
  for ((job = 1; job <= num_jobs; job++)); do
    wait "${pids[job - 1]}" || fail "job $job of iteration $i failed" "$log/train.$i.$job.log"
  done
  wait "$diagnosis" || fail "nnet3-compute-prob failed" "$(ls -t "$log"/compute_prob_*."$i".log | head -n 1)"

  if (( i == 0 )); then # models fresh from random numbers do not average well
    nnet3-copy "$next.$(best_job 0).raw" "$next.tmp" &>"$log/average.$i.log" || fail "nnet3-copy failed" "$log/average.$i.log"
  else
    nnet3-average "$next".*.raw "$next.tmp" &>"$log/average.$i.log" || fail "nnet3-average failed" "$log/average.$i.log"
  fi
  mv "$next.tmp" "$next.raw" # only now does the iteration count as done
  rm "$next".*.raw
  report "$i" "$started"
}

# ---- all iterations -------------------------------------------------------------------------------------------------
first=0
while [[ -s $dir/$((first + 1)).raw ]] && (( first < num_iters )); do first=$((first + 1)); done
if (( first > 0 )); then echo "  resuming after iteration $first of $num_iters"; fi
echo "  model  objf (train)   acc (train)  objf (valid)   acc (valid)  seconds"
while read -r -u 3 -a line; do
  if (( line[0] >= first )); then iteration "${line[@]}"; fi
done 3<"$dir/schedule.txt"

models=()
for ((i = num_iters; i > 0 && i > num_iters - num_average; i--)); do models+=("$dir/$i.raw"); done
nnet3-average "${models[@]}" "$dir/final.tmp" &>"$log/average.final.log" || fail "nnet3-average failed" "$log/average.final.log"
mv "$dir/final.tmp" "$dir/final.raw"
started=$EPOCHREALTIME
diagnose final || fail "nnet3-compute-prob failed" "$log/compute_prob_valid.final.log"
report final "$started"
