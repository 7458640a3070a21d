# What tests of cluster runners share. Sourced by dev/test-slurm.sh, test-gridengine.sh and test-k8s.sh, which are in the root of the
# repository, and have set `work` to an empty folder and `shown_logs` to files to show when something fails. Theirs are `stop_cluster`,
# which takes jobs out of the queue, `queue_is_empty`, and `cancel_a_task FILE`, which cancels a task of iteration 1 while it runs and
# says so in FILE. `daemons` are the processes that they started.

daemons=() passed=0 failed=0 root=$PWD

fail() { echo "$(basename "$0"): $*" >&2; exit 1; }

finish() {
  local status=$?
  trap '' INT TERM HUP
  stop_cluster
  if (( ${#daemons[@]} )); then
    kill "${daemons[@]}" 2>/dev/null
    sleep 1
    kill -KILL "${daemons[@]}" 2>/dev/null
    wait 2>/dev/null
  fi
  if (( status != 0 )); then tail -n 15 "${shown_logs[@]}" "$work/train.log" >&2 2>/dev/null; fi
  rm -rf "$work"
}

finish_at_exit() {
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

find_programs() {
  if command -v nnet3-train >/dev/null; then return; fi
  cargo build --release --bins || exit 1
  PATH=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release:$PATH
}

check() { # <what> <command> …
  if "${@:2}" >"$work/check.log" 2>&1; then
    passed=$((passed + 1))
    echo "ok      $1"
  else
    failed=$((failed + 1))
    echo "FAILED  $1"
    tail -n 20 "$work/check.log" | sed 's/^/        /'
  fi
}

summary() {
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  (( failed == 0 ))
}

eventually() { # <command> …: whether it succeeds within 20 seconds
  local i
  for ((i = 0; i < 100; i++)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  "$@"
}

# ---- runners that submit arrays: `runner` is the command of one -----------------------------------------------------
logs=$work/logs/log

an_array() { # <what the log says of the job that is number $i>
  "${runner[@]}" --num-threads 1 --mem 50M --time 5 JOB=1:3 "$logs/a.JOB.log" echo number JOB \| sed 's/number/a number/' || return 1
  local i line
  for i in 1 2 3; do
    for line in "a number $i" "${1//JOB/$i}" '# Running on' '# Started at' '# Accounting: time=[0-9]+ threads=1' '# Ended \(code 0\)'; do
      grep -qE "^$line" "$logs/a.$i.log" || { echo "no '$line' in a.$i.log"; return 1; }
    done
  done
  [[ ! -e $work/logs/q ]]
}

a_failure() {
  local said status
  said=$("${runner[@]}" --retries 1 JOB=1:2 "$logs/f.JOB.log" exit \$\[JOB-1\] 2>&1)
  status=$?
  echo "$said"
  (( status == 1 )) && [[ $said == *'JOB=2 failed or was killed, and is submitted again'* && $said == *'1 of 2 failed'* ]] &&
    [[ $said == *f.2.log* && -e $logs/f.2.log.attempt1 ]]
}

bounded() { # two jobs of 2 s, one at a time
  local began=$SECONDS
  "${runner[@]}" --max-jobs-run 1 JOB=1:2 "$logs/b.JOB.log" sleep 2 || return 1
  (( SECONDS - began >= 4 ))
}

interrupted() { # a signal takes the jobs out of the queue
  "${runner[@]}" JOB=1:2 "$logs/i.JOB.log" sleep 600 &
  local pid=$!
  eventually grep -qs Started "$logs/i.1.log"
  kill -TERM $pid
  wait $pid
  eventually queue_is_empty
}

after_a_killed_call() { # the next one for the same log takes its jobs out of the queue
  "${runner[@]}" "$logs/k.log" sleep 600 &
  local pid=$!
  eventually grep -qs Started "$logs/k.log"
  kill -KILL $pid
  wait $pid
  rm -r "$work/logs/q" # a killed call has left what it was using
  "${runner[@]}" "$logs/k.log" true && eventually queue_is_empty
}

# Two jobs of a training are struck: one by `cancel_a_task`, one is killed.
training_recovers() {
  local strikers=()
  cancel_a_task "$work/cancelled" &
  strikers+=($!)
  kill_a_program "$work/killed" &
  strikers+=($!)
  train cluster "${runner[*]}" 2>&1 | tee "$work/train.log"
  kill "${strikers[@]}" 2>/dev/null
  wait "${strikers[@]}" 2>/dev/null
  [[ -s $work/cluster/final.raw ]] || return 1
  [[ -e $work/cancelled && -e $work/killed ]] || { echo "no job was struck"; return 1; }
  grep -q 'submitted again' "$work/train.log"
}

check_training() { # <cluster>
  make_training_data
  check "train.sh on $1: recovers from a cancelled task and a killed program" training_recovers
  sed 's/^/        /' "$work/cancelled" "$work/killed" 2>/dev/null
  grep -h 'submitted again' "$work/train.log" | sed 's/^/        /'
  check "train.sh on $1: a good model (frame accuracy $(accuracy "$work/cluster"))" good
  check "train.sh on $1: the bytes that jobs on this machine make" same_as_here
}

# ---- trainings ------------------------------------------------------------------------------------------------------
make_training_data() { tests/train/toy_data.sh "$work/data" 60 400; }

train() { # <name> <cmd> <options> …
  "$root/scripts/train.sh" --feats="scp:$work/data/feats.scp" --targets="ark:$work/data/ali.ark" --xconfig="$work/data/tdnn.xconfig" \
    --archives=4 --num-epochs=2 --num-jobs-initial=2 --num-jobs-final=2 --minibatch-size=32 --nj=2 --report=false \
    --initial-effective-lrate=0.001 --cmd="$2" "${@:3}" "$work/$1"
}

accuracy() { sed -n "s/.* Overall accuracy for 'output' is \([^ ]*\) per frame.*/\1/p" "$1/log/compute_prob_valid.final.log"; }

good() { a=$(accuracy "$work/cluster") awk 'BEGIN { a = ENVIRON["a"]; print a; exit !(a >= 0.95) }'; }

same_as_here() { train here run.sh && cmp "$work/cluster/final.raw" "$work/here/final.raw"; }

# A job takes a tenth of a second. To be struck while they run, those of iterations 1 and 2 take longer: an nnet3-train that comes first
# on the PATH sleeps before it becomes the program.
slow_down_training() {
  mkdir -p "$work/bin"
  printf '%s\n' '#!/bin/bash' "[[ \$* != *$work/cluster/[12].raw* ]] || sleep 3" "exec $(command -v nnet3-train) \"\$@\"" \
    >"$work/bin/nnet3-train"
  chmod +x "$work/bin/nnet3-train"
  PATH=$work/bin:$PATH
}

training_process() { # <iteration>
  pgrep --newest --full "^[^ ]*bash $work/bin/nnet3-train .*$work/cluster/$1\.raw"
}

# Kills a program of iteration 2.
kill_a_program() { # <file that tells that it was done>
  local pid
  while sleep 0.05; do
    pid=$(training_process 2) || continue
    if kill -KILL "$pid" 2>/dev/null; then
      echo "killed process $pid" >"$1"
      return
    fi
  done
}
