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
RANDOM=7
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

# ---- the runner -----------------------------------------------------------------------------------------------------
run_makes_logs() {
  scripts/run.sh --max-jobs-run 2 JOB=1:5 "$work/run/x.JOB.log" echo job JOB \| sed 's/job/a job/' || return 1
  local i line
  for i in 1 2 3 4 5; do
    grep -qx "a job $i" "$work/run/x.$i.log" || return 1
    for line in '# echo job' '# Running on' '# Started at' '# Accounting: time=[0-9]+ threads=1' '# Ended \(code 0\) at'; do
      grep -qE "^$line" "$work/run/x.$i.log" || { echo "no '$line' in x.$i.log"; return 1; }
    done
  done
}

run_fails_with_a_job() {
  local said status
  said=$(scripts/run.sh JOB=1:3 "$work/run/y.JOB.log" exit \$\[JOB-2\] 2>&1)
  status=$?
  echo "$said"
  (( status == 1 )) && [[ $said == *"2 of 3 failed"* && $said == *y.3.log* ]]
}

run_fails_with_any_part_of_a_pipe() {
  ! scripts/run.sh "$work/run/p.log" false \| true && grep -q 'Ended (code 1)' "$work/run/p.log"
}

run_bounds_jobs() { # two at a time, of 0.3 s each, six of them
  local began=${EPOCHREALTIME/./} # lint: whole: began
  scripts/run.sh --max-jobs-run 2 JOB=1:6 "$work/run/b.JOB.log" sleep 0.3 || return 1
  local took=$(((${EPOCHREALTIME/./} - began) / 1000))
  echo "took $took ms"
  (( took >= 900 ))
}

run_retries() {
  scripts/run.sh --retries 1 "$work/run/r.log" mkdir "$work/run/once" \&\& exit 3
  (( $? == 1 )) && [[ -e $work/run/r.log.attempt1 ]] && grep -q 'File exists' "$work/run/r.log"
}

# bash may say that there is nothing to wait for, although a job has ended (once in some thousand starts). Here that happens to the second
# wait: its jobs have been waited for before.
run_asks_again_for_a_job() {
  cat >"$work/run/wait.sh" <<'END'
shopt -s expand_aliases
waits=0
before_wait() {
  waits=$((waits + 1))
  (( waits != 2 )) || builtin wait "$@"
}
alias wait='before_wait "$@"; builtin wait'
END
  local said status
  BASH_ENV=$work/run/wait.sh scripts/run.sh --max-jobs-run 2 JOB=1:3 "$work/run/w.JOB.log" true || return 1
  said=$(BASH_ENV=$work/run/wait.sh scripts/run.sh --max-jobs-run 2 JOB=1:3 "$work/run/w.JOB.log" exit 1 2>&1)
  status=$?
  echo "$said"
  (( status == 1 )) && [[ $said == *"3 of 3 failed"* ]]
}

run_takes_jobs_with_it() { # <signal>
  local marker=$((60000 + RANDOM)) pid try
  scripts/run.sh JOB=1:2 "$work/run/s.JOB.log" sleep $marker \| cat &
  pid=$!
  for ((try = 0; try < 100; try++)); do
    if grep -q Started "$work/run/s.1.log" && grep -q Started "$work/run/s.2.log"; then break; fi
    sleep 0.1
  done 2>/dev/null
  kill "-$1" $pid
  wait $pid
  for ((try = 0; try < 100; try++)); do
    if ! pgrep --full --exact "sleep $marker" >/dev/null; then break; fi
    sleep 0.1
  done
  grep -q 'Ended (code 143)' "$work/run/s.1.log" && ! pgrep --full --exact "sleep $marker"
}

scripts_say_what_is_missing() { # in one line, without all options
  local script said status
  for script in recognizer train adapt_model make_vosk_model segment_long transcribe_many run slurm k8s; do
    said=$("scripts/$script.sh" 2>&1)
    status=$?
    if ! [[ $status == 1 && $said == "$script.sh: ERROR: expected "*"; see $script.sh --help" && $said != *$'\n'* ]]; then
      echo "$script.sh ends with $status and: $said"
      return 1
    fi
  done
  said=$(scripts/make_graph.sh 2>&1)
  (( $? == 1 )) && [[ $said == "make_graph.sh: ERROR: expected 5 arguments, found 0;"* ]]
}

tables_are_tables() { # features may be a folder
  local said
  said=$(train not_there --feats="$work/nodata" --targets=scp:x "${tdnn[@]}" 2>&1) && return 1
  [[ $said == *"--feats=$work/nodata: expected a data folder with feats.scp, or a table"*"found no such file or folder" ]] || return 1
  said=$(train not_there --targets="$data" "${tdnn[@]}" 2>&1) && return 1
  [[ $said == *"--targets=$data: expected a table"*"found a folder" && ! -e $work/not_there ]]
}

check "scripts: without arguments they say what is missing" scripts_say_what_is_missing
check "train.sh: what is no table is named before anything begins" tables_are_tables
check "run.sh: logs as Kaldi's scripts expect them" run_makes_logs
check "run.sh: fails with a job, and says which" run_fails_with_a_job
check "run.sh: fails with any part of a pipe" run_fails_with_any_part_of_a_pipe
check "run.sh: so many jobs at a time" run_bounds_jobs
check "run.sh: retries" run_retries
check "run.sh: a job that ends just before the wait" run_asks_again_for_a_job
check "run.sh: SIGTERM stops the jobs" run_takes_jobs_with_it TERM
check "run.sh: SIGKILL stops the jobs" run_takes_jobs_with_it KILL

# ---- the schedule ---------------------------------------------------------------------------------------------------
# Expected figures: what Kaldi's drivers compute (steps/libs/nnet3/train).
# lint: whole: num_archives frames_per_archive
schedule_of() ( # <archives> <epochs> <initial jobs> <final jobs> <job step> <models to combine> <dropout>
  source scripts/train/schedule.sh
  dir=$work private=$work frames_per_archive=1
  num_archives=$1 num_epochs=$2 num_jobs_initial=$3 num_jobs_final=$4 num_jobs_step=$5 max_models_combine=$6 dropout_schedule=$7
  initial_effective_lrate=3e-4 final_effective_lrate=3e-5
  write_schedule
  awk '{ printf "%s%d %d %d %.4g", (NR > 1 ? ", " : ""), $1, $2, $3, $5 }' "$dir/schedule.txt" | tr '\n' ' '
  echo
  models_to_combine
)

jobs_and_rates() {
  diff <(schedule_of 16 4 2 8 1 20 '' | head -n 1 | sed 's/, /\n/g; s/ $//') - <<'EXPECTED'
0 2 0 0.0006
1 3 2 0.0008375
2 3 5 0.0007518
3 4 8 0.0008999
4 4 12 0.0007793
5 5 16 0.0008435
6 5 21 0.0007046
7 6 26 0.0007064
8 6 32 0.0005692
9 7 38 0.0005351
10 7 45 0.000416
11 8 52 0.00024
EXPECTED
}

combined_models() {
  diff <(schedule_of 16 4 2 8 1 20 '' | tail -n 1) - <<<"12 11 10 9 8 7" &&
    diff <(schedule_of 100 10 2 12 4 5 '' | tail -n 1) - <<<"142 141 140 139 138"
}

dropout() {
  schedule_of 100 1 1 1 1 20 '0,0.3@0.2,0.5@0.5,0 lstm*=0.3,0@0.75,0' >/dev/null
  diff <(sed -n '1p; 11p; 36p; 71p; 100p' "$work/schedule.txt" | cut -d' ' -f6- | sed 's/set-dropout-proportion //g') - <<'EXPECTED'
name=* proportion=0;name=lstm* proportion=0.3
name=* proportion=0.15;name=lstm* proportion=0.26
name=* proportion=0.4;name=lstm* proportion=0.16
name=* proportion=0.3;name=lstm* proportion=0.02
name=* proportion=0.01;name=lstm* proportion=0
EXPECTED
}

saturated() { # as get_saturation.pl: the mean over a sigmoid, a tanh and the five of an LSTM; rectifiers do not count
  local said
  said=$(
    source scripts/train/schedule.sh
    nnet3-info() {
      echo 'component name=a type=SigmoidComponent, dim=4, deriv-avg=[0.1 0.2, mean=0.2, stddev=0.1], x'
      echo 'component name=b type=TanhComponent, dim=4, deriv-avg=[0.1 0.2, mean=0.5, stddev=0.1], x'
      echo 'component name=c type=RectifiedLinearComponent, dim=4, deriv-avg=[0.1 0.2, mean=0.9, stddev=0.1], x'
      echo "component name=l type=LstmNonlinearityComponent, $(printf '%s={ value-avg=[1, mean=9, s], deriv-avg=[1, mean=0.25, s] }, ' \
        i_t_sigmoid f_t_sigmoid c_t_tanh o_t_sigmoid m_t_tanh)"
    }
    saturation x
  )
  echo "$said"
  [[ $said == 0.314286 ]] # (0.2 + 0.5 + 0 + 0 + 0.75 + 0 + 0.75) / 7
}
check "schedule: jobs and learning rates" jobs_and_rates
check "schedule: models to combine" combined_models
check "schedule: dropout" dropout
check "schedule: saturation" saturated

# ---- variants of training -------------------------------------------------------------------------------------------
is_good() { # <name> [<accuracy>]
  local accuracy
  accuracy=$(figure "$1" accuracy)
  echo "accuracy $accuracy, expected ${2:-0.95}"
  a="$accuracy" b="${2:-0.95}" awk 'BEGIN { a = ENVIRON["a"]; b = ENVIRON["b"]; exit !(a >= b) }'
}

reaches() { # <accuracy> <name> <options> …
  train "${@:2}" && is_good "$2" "$1"
}

words='' check "train.sh: a TDNN" reaches 0.95 plain "${tdnn[@]}" --cleanup=false --momentum=0.5
is_not_much_longer() { # nothing is left to do
  scripts/train.sh --help >/dev/null && train plain "${tdnn[@]}" --cleanup=false --momentum=0.5 &&
    cmp "$work/plain/final.raw" "$work/plain.final"
}
cp "$work/plain/final.raw" "$work/plain.final"
report_is_whole() {
  grep -q '100.0%' "$work/plain/report.html" && grep -q '<td>final</td><td>' "$work/plain/report.html" &&
    [[ $(grep -o '<svg' "$work/plain/report.html" | wc -l) == 6 ]]
}
check "train.sh: a report" report_is_whole
check "train.sh: again: nothing to do" is_not_much_longer
check "train.sh: the same seed gives the same bytes" \
  eval 'train twin "${tdnn[@]}" --cleanup=false --momentum=0.5 && cmp "$work/plain/final.raw" "$work/twin/final.raw"' # lint: words of this script
refuses() { ! train "$@" 2>"$work/said"; cat "$work/said"; }
check "train.sh: other options in the same folder are refused" \
  eval 'refuses plain "${tdnn[@]}" --cleanup=false --momentum=0.6 | grep -q -- --momentum=0.5' # lint: words of this script
check "train.sh: unknown options are refused" eval 'refuses x --num-epoch=3 | grep -qF "unknown option --num-epoch (did you mean --num-epochs?)"' # lint: words of this script
check "train.sh: values that make no sense are refused" eval 'refuses x "${tdnn[@]}" --srand=x | grep -q "whole number"' # lint: words of this script
sed 's/dim=4/dim=5/' "$data/tdnn.xconfig" >"$work/five.xconfig"
check "train.sh: features that do not fit the network are refused" \
  eval 'refuses five --xconfig="$work/five.xconfig" | grep -q "have 4 columns, but the network.s input has 5"' # lint: words of this script
check "train.sh: a folder in which nothing was made yet is taken again" reaches 0.95 five "${tdnn[@]}"
check "train.sh: features and targets through pipes" reaches 0.95 pipes "${tdnn[@]}" \
  --feats="ark:copy-feats scp:$data/feats.scp ark:- |" --targets="ark:copy-int-vector ark:$data/ali.ark ark:- |"
check "train.sh: examples on the fly" reaches 0.95 fly "${tdnn[@]}" --on-the-fly=true
check "train.sh: a frame of each example at a time" \
  reaches 0.95 frame "${tdnn[@]}" --frame-level=true --num-epochs=1 --chunk-width=4 --minibatch-size=128
check "train.sh: validation data of their own, no combination" reaches 0.94 valid "${tdnn[@]}" \
  --valid-feats="scp:$work/valid_data/feats.scp" --valid-targets="ark:$work/valid_data/ali.ark" --do-final-combination=false
check "train.sh: on examples that are there" eval \
  'train egs --feats= --targets= --egs-dir="$work/plain/egs" "${tdnn[@]}" --backstitch-training-scale=0.3 \
   --backstitch-training-interval=2 && is_good egs'
damaged_examples_are_named() { # with workers, and with processes for each job
  cp -r "$work/plain/egs" "$work/damaged"
  head -c 3000 "$work/plain/egs/egs.3.ark" >"$work/damaged/egs.3.ark"
  local options
  for options in "--cmd=run.sh" "--cmd=run.sh --max-jobs-run 4"; do
    rm -rf "$work/of-damaged"
    refuses of-damaged --feats= --targets= --egs-dir="$work/damaged" "${tdnn[@]}" --restart=true "$options" >/dev/null
    grep -q 'train\.[0-9.]*\.log' "$work/said" && grep -q 'ERROR.*egs.3.ark' "$work/said" && grep -q 'a job failed' "$work/said" || return 1
    ! ls "$work/of-damaged"/final.raw 2>/dev/null && grep -q "^# Ended (code 255) at" "$work/of-damaged"/log/train.1.*.log || return 1
  done
}
check "train.sh: damaged examples are named" damaged_examples_are_named
with_and_without_workers() { # (Lines of a job's several programs come in any order.)
  train processes "${tdnn[@]}" --cleanup=false --momentum=0.5 --cmd="run.sh --max-jobs-run 4" &&
    cmp "$work/plain/final.raw" "$work/processes/final.raw" &&
    diff <(sed '/^# \(Started\|Ended\|Acc\)/d; s/[0-9.e-]* seconds.*//; s/\/processes\//\/plain\//g' "$work/processes/log/train.3.1.log" | sort) \
      <(sed '/^# \(Started\|Ended\|Acc\)/d; s/[0-9.e-]* seconds.*//' "$work/plain/log/train.3.1.log" | sort)
}
check "train.sh: a process for each job gives the same bytes and logs" with_and_without_workers
check "train.sh: from a model" reaches 0.95 more --input-model="$work/plain/final.raw" --num-epochs=1 --remove-egs=true \
  --minibatch-size=64,32

cat >"$work/lda.xconfig" <<'XCONFIG'
input dim=4 name=input
fixed-affine-layer name=lda input=Append(-2,-1,0,1,2) affine-transform-file=anywhere/lda.mat
relu-batchnorm-dropout-layer name=tdnn1 dim=16 dropout-proportion=0.0
output-layer name=output dim=3
XCONFIG
check "train.sh: a transform of the input, dropout" eval \
  'reaches 0.94 lda --xconfig="$work/lda.xconfig" --dropout-schedule="0,0.2@0.3,0" && [[ -s $work/lda/lda.mat ]] &&
   grep -q "set-dropout-proportion name=\* proportion=0.1" "$work"/lda/log/train.*.log'

cat >"$work/lstm.xconfig" <<'XCONFIG'
input dim=4 name=input
fast-lstmp-layer name=lstm cell-dim=16 recurrent-projection-dim=8 non-recurrent-projection-dim=8 delay=-1
output-layer name=output dim=3
XCONFIG
check "train.sh: an LSTM" reaches 0.80 lstm --xconfig="$work/lstm.xconfig" --chunk-width=20,10 --chunk-left-context=5 \
  --chunk-left-context-initial=0 --deriv-truncate-margin=3 --shrink-value=0.99 --num-epochs=4 --num-jobs-initial=1 \
  --num-jobs-final=1 --minibatch-size=16

sed 's/output-layer name=output dim=3/output-layer name=output dim=3 include-log-softmax=false objective-type=quadratic/' \
  "$data/tdnn.xconfig" >"$work/dense.xconfig"
dense_is_good() {
  train dense --xconfig="$work/dense.xconfig" --target-type=dense --targets="scp:$data/dense.scp" || return 1
  echo "objective $(figure dense objective)"
  x="$(figure dense objective)" awk 'BEGIN { x = ENVIRON["x"]; exit !(x > -0.08) }'
}
check "train.sh: dense targets" dense_is_good

# A data folder: two speakers, and versions of utterances that must not be parted between training and validation.
mkdir -p "$work/data_folder"
cp "$data/feats.scp" "$work/data_folder"
awk '{ print $1, NR % 2 ? "a" : "b" }' "$data/feats.scp" >"$work/data_folder/utt2spk"
awk '{ print $1, "u" int(NR / 3) }' "$data/feats.scp" >"$work/data_folder/utt2uniq"
awk '{ u[$2] = u[$2] " " $1 } END { for (s in u) print s u[s] }' "$work/data_folder/utt2spk" >"$work/data_folder/spk2utt"
compute-cmvn-stats --spk2utt="ark:$work/data_folder/spk2utt" "scp:$data/feats.scp" \
  "ark,scp:$work/data_folder/cmvn.ark,$work/data_folder/cmvn.scp" 2>/dev/null
a_data_folder() { # <name> <options> …
  train "$1" "${tdnn[@]}" --feats="$work/data_folder" --cmvn-opts=--norm-vars=true "${@:2}" && is_good "$1" || return 1
  [[ $(<"$work/$1/cmvn_opts") == --norm-vars=true ]] || { echo "no cmvn_opts"; return 1; }
  grep -q 'apply-cmvn --norm-vars=true' "$work/$1"/log/{get_egs,train}.*.log || { echo "no normalisation"; return 1; }
  valid="$work/$1/data/valid" awk 'BEGIN { valid = ENVIRON["valid"]; while ((getline key < valid) > 0) kept[key] = 1 }
    $1 in kept { in_valid[$2] = 1; next } { in_train[$2] = 1 }
    END { for (u in in_valid) if (u in in_train) { print u " is in both sets"; exit 1 } }' "$work/data_folder/utt2uniq"
}
is_not_normalised() { # <name>: Kaldi's scripts are told so; they would normalise
  diff "$work/$1/cmvn_opts" - <<<"--norm-means=false --norm-vars=false"
}
check "train.sh: cmvn_opts of features as they are" is_not_normalised plain
check "train.sh: a data folder with normalisation" a_data_folder folder
check "train.sh: a data folder with normalisation, on the fly" a_data_folder folder-fly --on-the-fly=true

# Classes 0, 1, 2 become transition-ids of the first three of 22 pdfs.
mkdir -p "$work/ali"
cp tests/data/am/transitions.mdl "$work/ali/final.mdl"
cp tests/data/am/tree "$work/ali"
echo "<eps> 0" >"$work/ali/phones.txt"
copy-int-vector "ark:$data/ali.ark" ark,t:- 2>/dev/null | awk '{ for (i = 2; i <= NF; i++) $i = 2 * $i + 1; print }' |
  gzip >"$work/ali/ali.1.gz"
sed 's/dim=3/dim=22/' "$data/tdnn.xconfig" >"$work/am.xconfig"
an_acoustic_model() { # <name> <options> …
  train "$1" --targets= --ali-dir="$work/ali" --xconfig="$work/am.xconfig" "${@:2}" && is_good "$1" &&
    nnet3-am-info "$work/$1/final.mdl" | grep -qx 'prior-dimension: 22' && cmp "$work/ali/tree" "$work/$1/tree" &&
    cmp "$work/ali/phones.txt" "$work/$1/phones.txt" && is_not_normalised "$1" && [[ ! -e $work/$1/frame_subsampling_factor ]]
}
check "train.sh: an acoustic model" an_acoustic_model am
check "train.sh: an acoustic model, examples on the fly, no combination" \
  an_acoustic_model am-fly --on-the-fly=true --do-final-combination=false

# ---- chain models ---------------------------------------------------------------------------------------------------
tests/train/toy_chain.sh "$data" "$work/chain_data"
train_chain() { # <name> <options> …
  scripts/train.sh --objective=chain --feats="scp:$data/feats.scp" --archives=2 --num-epochs=2 --num-jobs-initial=1 \
    --num-jobs-final=2 --initial-effective-lrate=0.002 --final-effective-lrate=0.0005 --use-gpu=no \
    --xconfig="$work/chain_data/tdnn.xconfig" "${@:2}" "$work/$1"
}
from_lattices=(--tree-dir="$work/chain_data/tree" --lat-dir="$work/chain_data/lats" --chunk-width=60 --minibatch-size=16)
from_graphs=(--graph-dir="$work/chain_data/graphs" --chunk-width=201 --minibatch-size=1:8)

chain_objectives() { # <name>: of the final model on validation data, of output and output-xent
  sed -n "s/.* Overall log-probability for '\(output[-a-z]*\)' is \([^ ]*\) .*/\1 \2/p" \
    "$work/$1/log/compute_prob_valid.final.log" | sort | cut -d' ' -f2 | paste -sd' '
}

chain_reaches() { # <objective> <cross-entropy> <name> <options> …
  train_chain "${@:3}" || return 1
  echo "objectives $(chain_objectives "$3"), expected $1 $2"
  nnet3-am-info "$work/$3/final.mdl" >/dev/null && chain_objectives "$3" |
    a="$1" b="$2" awk 'BEGIN { a = ENVIRON["a"]; b = ENVIRON["b"] } { ok = NF == 2 && $1 >= a && $2 >= b } END { exit !ok }'
}

words='' check "train.sh: a chain model" chain_reaches -0.19 -0.60 chain "${from_lattices[@]}"
cp "$work/chain/final.mdl" "$work/chain.final"
what_kaldi_reads() { # and no phones.txt, as there is none where the tree lies
  cmp "$work/chain_data/tree/tree" "$work/chain/tree" && diff "$work/chain/frame_subsampling_factor" - <<<3 && is_not_normalised chain &&
    [[ ! -e $work/chain/phones.txt ]]
}
check "train.sh: a chain model has what Kaldi's scripts read" what_kaldi_reads
chain_report_is_whole() {
  grep -q '100.0%' "$work/chain/report.html" && grep -q '<th>validation cross-entropy' "$work/chain/report.html" &&
    [[ $(grep -o '<svg' "$work/chain/report.html" | wc -l) == 6 ]]
}
check "train.sh: a report with both objectives" chain_report_is_whole
check "train.sh: a chain model again: nothing to do" \
  eval 'train_chain chain "${from_lattices[@]}" && cmp "$work/chain/final.mdl" "$work/chain.final"' # lint: words of this script
check "train.sh: a chain model, examples on the fly, no combination" \
  chain_reaches -0.20 -0.65 chain-fly "${from_lattices[@]}" --on-the-fly=true --do-final-combination=false
# A model that is not too sure stays as it is. If it is made too sure, its output gets about the factor that makes up for it, and the objective of
# what was kept for validation is higher.
is_calibrated() {
  local said factor
  train_chain chain-calibrated "${from_lattices[@]}" --calibrate=true 2>"$work/said" || { cat "$work/said"; return 1; }
  grep -q 'calibration: the output stays as it is' "$work/said" && cmp "$work/chain/final.mdl" "$work/chain-calibrated/final.mdl" || return 1
  echo 'output-node name=output input=Scale(2.5, output.affine) objective=linear' >"$work/sure.config"
  nnet3-am-copy --nnet-config="$work/sure.config" "$work/chain/final.mdl" "$work/sure.mdl" || return 1
  said=$(
    private=$work/calibration
    mkdir "$private"
    source scripts/common/values.sh
    source scripts/train/calibration.sh
    run() { "${@:2}" >"$1" 2>&1; }
    say() { echo "$*"; }
    calibrate "$work/sure.mdl" "$work/chain/den.fst" "$work/chain/egs/valid_diagnostic.cegs" --leaky-hmm-coefficient=0.1 "$work/calibration/log" "$work/calibrated.mdl"
  )
  echo "$said"
  factor=$(nnet3-am-info --print-args=false "$work/calibrated.mdl" | sed -n 's/^output-node name=output input=Scale(\([0-9.]*\), output.affine) .*/\1/p')
  echo "factor $factor in all"
  factor=$factor awk 'BEGIN { f = ENVIRON["factor"]; exit !(f > 1.2 && f < 1.4) }' &&
    awk '{ sub(/,$/, "", $(NF - 3)); exit !($NF + 0 > $(NF - 3) + 0 && $NF > -0.18) }' <<<"$said"
}
check "train.sh: a chain model whose output is calibrated" is_calibrated
check "train.sh: calibration without LF-MMI is refused" \
  eval 'refuses calibrated-frames "${tdnn[@]}" --calibrate=true | grep -q -e "--calibrate=true is for --objective=chain"' # lint: words of this script
check "train.sh: a chain model, times left open within chunks" \
  chain_reaches -0.20 -0.65 chain-free "${from_lattices[@]}" --constrained=false
check "train.sh: a chain model without alignments" chain_reaches -0.20 -0.75 chain-e2e "${from_graphs[@]}" --num-epochs=3
check "train.sh: a chain model without alignments, examples on the fly" \
  chain_reaches -0.20 -0.75 chain-e2e-fly "${from_graphs[@]}" --num-epochs=3 --on-the-fly=true
sed 's/dim=6/dim=5/' "$work/chain_data/tdnn.xconfig" >"$work/five_pdfs.xconfig"
grep -v xent "$work/chain_data/tdnn.xconfig" >"$work/no_xent.xconfig"
refuses_chain() { # <pattern> <options> …
  if ! train_chain refused "${@:2}" 2>"$work/said" && grep -q -- "$1" "$work/said"; then return; fi
  cat "$work/said"
  return 1
}
check "train.sh: a network that does not fit the tree is refused" \
  refuses_chain 'output has 5 columns, but .*/tree has 6 pdfs' "${from_lattices[@]}" --xconfig="$work/five_pdfs.xconfig"
check "train.sh: a network without output-xent is refused" refuses_chain "needs an output node 'output-xent'" \
  "${from_lattices[@]}" --xconfig="$work/no_xent.xconfig" --restart=true
check "train.sh: lattices and graphs are refused" refuses_chain 'not both' "${from_lattices[@]}" "${from_graphs[@]}"
check "train.sh: targets for a chain model are refused" \
  refuses_chain 'supervision comes from' "${from_lattices[@]}" --targets="ark:$data/ali.ark"

chain_survives() {
  local pid attempt struck=0
  for ((attempt = 0; attempt < 4; attempt++)); do
    setsid scripts/train.sh --objective=chain --feats="scp:$data/feats.scp" --archives=2 --num-epochs=2 --num-jobs-initial=1 \
      --num-jobs-final=2 --initial-effective-lrate=0.002 --final-effective-lrate=0.0005 --use-gpu=no \
      --xconfig="$work/chain_data/tdnn.xconfig" "${from_lattices[@]}" "$work/chain-killed" 2>>"$work/killed.log" &
    pid=$!
    sleep "$(r=$RANDOM awk 'BEGIN { r = ENVIRON["r"]; printf "%.3f", 0.1 + 0.8 * r / 32768 }')"
    pkill -KILL --session $pid && struck=$((struck + 1))
    wait $pid 2>/dev/null
    [[ ! -e $work/chain-killed/final.mdl ]] || rm -rf "${work:?}/chain-killed"
  done
  train_chain chain-killed "${from_lattices[@]}" || return 1
  echo "struck $struck times"
  (( struck > 0 )) && cmp "$work/chain-killed/final.mdl" "$work/chain.final"
}
check "train.sh: a chain model, killed at random moments" chain_survives

# ---- interruptions --------------------------------------------------------------------------------------------------
# Every model that is there must be the one that the undisturbed training made.
models_are_whole() { # <name>
  local file
  for file in "$work/$1"/[0-9]*.raw "$work/$1"/final.raw; do
    [[ -e $file && $(basename "$file") != *.*.raw ]] || continue
    cmp "$file" "$work/plain/$(basename "$file")" || return 1
  done
}

# One of: the driver gets a signal; everything is killed at once; one of the programs is killed. (Background processes of a
# script cannot get SIGINT.)
strike() { # <leader of the session> <kind>
  local try
  case $2 in
    0) kill -TERM "$1" ;;
    1) kill -HUP "$1" ;;
    2) kill -KILL "$1" ;;
    3) pkill -KILL --session "$1" ;;
    4) # programs are gone as fast as they come
      for ((try = 0; try < 40; try++)); do
        pkill -KILL --session "$1" --newest nnet3- && return
        sleep 0.02
      done
      return 1
      ;;
  esac 2>/dev/null
}

survives() {
  local struck=0 whole=0 pid strikes=(0 0 0 0 0) kind attempt
  for ((attempt = 0; attempt < kills; attempt++)); do
    setsid scripts/train.sh --feats="scp:$data/feats.scp" --targets="ark:$data/ali.ark" --archives=4 --num-epochs=3 \
      --num-jobs-initial=2 --num-jobs-final=3 --minibatch-size=32 --initial-effective-lrate=0.001 "${tdnn[@]}" \
      --cleanup=false --momentum=0.5 "$work/killed" 2>>"$work/killed.log" &
    pid=$!
    sleep "$(r=$RANDOM awk 'BEGIN { r = ENVIRON["r"]; printf "%.3f", 0.05 + 0.5 * r / 32768 }')"
    kind=$((attempt % 5))
    if strike $pid $kind; then strikes[kind]=$((strikes[kind] + 1)) struck=$((struck + 1)); fi
    wait $pid 2>/dev/null
    models_are_whole killed || return 1
    if [[ -e $work/killed/final.raw ]]; then
      whole=$((whole + 1))
      rm -rf "${work:?}/killed"
    fi
  done
  train killed "${tdnn[@]}" --cleanup=false --momentum=0.5 || return 1
  models_are_whole killed || return 1
  echo "struck $struck times (${strikes[*]}) during $((whole + 1)) trainings" >"$work/struck"
}
check "train.sh: killed at $kills random moments, the same bytes at the end" survives
sed 's/^/        /' "$work/struck" 2>/dev/null

# Where there is a GPU, jobs have processes of their own.
if [[ ! -e /dev/nvidiactl ]]; then
  replaces_workers() { # two of them are killed
    local pid worker struck=0
    (exec scripts/train.sh --feats="scp:$data/feats.scp" --targets="ark:$data/ali.ark" --archives=4 --num-epochs=3 --num-jobs-initial=2 \
      --num-jobs-final=3 --minibatch-size=32 --initial-effective-lrate=0.001 "${tdnn[@]}" --cleanup=false --momentum=0.5 "$work/replaced") \
      2>"$work/said" &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
      sleep 0.2
      worker=$(pgrep --parent $pid --full 'nnet3-train --worker' | tail -n 1)
      if (( struck < 2 )) && [[ $worker ]] && kill -KILL "$worker" 2>/dev/null; then struck=$((struck + 1)); fi
    done
    wait $pid || { cat "$work/said"; return 1; }
    cat "$work/said"
    (( struck == 2 )) && grep -q 'was killed by signal 9, .* is done again, attempt 2 of 3' "$work/said" && ! grep -q '\.sh: line' "$work/said" &&
      cmp "$work/replaced/final.raw" "$work/plain/final.raw"
  }
  check "train.sh: a worker that is killed is replaced, and its job done again" replaces_workers
  gives_up() { # each is killed at once
    local status
    mkdir -p "$work/deadly"
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'kill -KILL $$' >"$work/deadly/nnet3-train"
    chmod +x "$work/deadly/nnet3-train"
    PATH=$work/deadly:$PATH train given-up "${tdnn[@]}" 2>"$work/said"
    status=$?
    cat "$work/said"
    (( status == 1 )) && grep -q 'was killed by signal 9, .* at attempt 3 of 3: .*/log/train.0.1.log' "$work/said" &&
      grep -q 'stopped: a job failed' "$work/said" && ! grep -q '\.sh: line' "$work/said"
  }
  check "train.sh: workers that are always killed end the training with a sentence" gives_up
fi

printf '\n%d passed, %d failed\n' "$passed" "$failed"
(( failed == 0 ))
