# Checks of dev/test-train.sh: run.sh, and the schedule of a training.

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
  for script in recognizer train adapt_model make_graph make_vosk_model segment_long transcribe_many run slurm k8s; do
    said=$("scripts/$script.sh" 2>&1)
    status=$?
    if ! [[ $status == 1 && $said == "$script.sh: ERROR: expected "*"; see $script.sh --help" && $said != *$'\n'* ]]; then
      echo "$script.sh ends with $status and: $said"
      return 1
    fi
  done
}

tables_are_tables() { # features may be a folder
  local said
  said=$(train not_there --feats="$work/nodata" --targets=scp:x "${tdnn[@]}" 2>&1) && return 1
  [[ $said == *"--feats=$work/nodata: expected a data folder with feats.scp, or a table"*"found no such file or folder" ]] || return 1
  said=$(train not_there --targets="$data" "${tdnn[@]}" 2>&1) && return 1
  [[ $said == *"--targets=$data: expected a table"*"found a folder" && ! -e $work/not_there ]]
}

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

# Nothing is trained here.
the_runner() {
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
  check "schedule: jobs and learning rates" jobs_and_rates
  check "schedule: models to combine" combined_models
  check "schedule: dropout" dropout
  check "schedule: saturation" saturated
}
