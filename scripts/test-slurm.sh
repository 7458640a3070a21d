#!/usr/bin/env bash
# Usage: test-slurm.sh
# Starts a Slurm cluster of one node on this machine, with its own configuration in a temporary folder, and trains through it
# with scripts/train.sh and scripts/slurm.sh: two jobs at a time, one of which is cancelled and one killed while they run.
# Checks that the training recovers, and that its model is the one that jobs on this machine make. Installs Slurm
# (Debian: slurmctld, slurmd, munge) if it is missing, and stops all that it started. Needs to be root, as slurmd does.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
plain_usage 0 0 "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C OPENBLAS_NUM_THREADS=1

fail() { echo "test-slurm.sh: $*" >&2; exit 1; }
(( EUID == 0 )) || fail "only root can start slurmd"
missing=()
command -v slurmctld >/dev/null || missing+=(slurmctld)
command -v slurmd >/dev/null || missing+=(slurmd)
command -v sbatch >/dev/null || missing+=(slurm-client)
command -v munged >/dev/null || missing+=(munge)
scripts/install_packages.sh "${missing[@]}" || exit 1
if ! command -v nnet3-train >/dev/null; then
  cargo build --release --bins || exit 1
  PATH=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release:$PATH
fi

# ---- a cluster of this machine --------------------------------------------------------------------------------------
work=$(mktemp -d "${TMPDIR:-/tmp}/test-slurm.XXXXXX")
chmod 755 "$work"
daemons=()
finish() {
  local status=$?
  trap '' INT TERM HUP
  if [[ -e $work/slurm.conf ]]; then
    scancel --user=root 2>/dev/null
    for ((i = 0; i < 20; i++)); do [[ $(squeue --noheader 2>/dev/null) ]] || break; sleep 0.5; done
  fi
  if (( ${#daemons[@]} )); then
    kill "${daemons[@]}" 2>/dev/null
    sleep 1
    kill -KILL "${daemons[@]}" 2>/dev/null
    wait 2>/dev/null
  fi
  if (( status != 0 )); then tail -n 15 "$work"/slurm*.log "$work/train.log" >&2 2>/dev/null; fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# munged refuses folders that others could write to, and runs as the user who owns its files: root here.
mkdir -p "$work/munge" "$work/state" "$work/spool"
chmod 700 "$work/munge"
dd if=/dev/urandom bs=1024 count=1 of="$work/munge/key" 2>/dev/null
chmod 400 "$work/munge/key"
chmod 755 "$work/munge" # its socket is for all
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --seed-file="$work/munge/seed" --log-file="$work/munge/log" 2>"$work/munged.log" &
daemons+=($!)

host=$(hostname -s)
cat >"$work/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
SlurmctldPort=26817
SlurmdPort=26818
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
# Containers often have no control groups to give away: processes are found by their descent.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=1
KillWait=5
ReturnToService=2
MailProg=/bin/true
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
export SLURM_CONF=$work/slurm.conf
for ((i = 0; i < 50; i++)); do [[ -S $work/munge/socket ]] && break; sleep 0.1; done
[[ -S $work/munge/socket ]] || fail "munged did not start: $(cat "$work/munged.log")"
slurmctld -D -c &>"$work/slurmctld.out" &
daemons+=($!)
slurmd -D -N "$host" &>"$work/slurmd.out" &
daemons+=($!)
for ((i = 0; i < 100; i++)); do
  [[ $(sinfo --noheader --format=%T 2>/dev/null) == @(idle|mixed|allocated) ]] && break
  sleep 0.2
done
sinfo 2>/dev/null | sed 's/^/    /'
[[ $(sinfo --noheader --format=%T 2>/dev/null) == idle ]] ||
  fail "the node did not come up: $(tail -n 5 "$work/slurmctld.out" "$work/slurmd.out")"

# ---- tests ----------------------------------------------------------------------------------------------------------
passed=0 failed=0
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
logs=$work/logs/log
slurm() { scripts/slurm.sh "$@"; }

an_array() {
  slurm --num-threads 1 --mem 50M --time 5 JOB=1:3 "$logs/a.JOB.log" echo number JOB \| sed 's/number/a number/' || return 1
  local i line
  for i in 1 2 3; do
    for line in "a number $i" '# Slurm job [0-9]+, task '$i '# Running on' '# Started at' \
      '# Accounting: time=[0-9]+ threads=1' '# Ended \(code 0\)'; do
      grep -qE "^$line" "$logs/a.$i.log" || { echo "no '$line' in a.$i.log"; return 1; }
    done
  done
  [[ ! -e $work/logs/q ]]
}

a_failure() {
  local said status
  said=$(slurm --retries 1 JOB=1:2 "$logs/f.JOB.log" exit \$\[JOB-1\] 2>&1)
  status=$?
  echo "$said"
  (( status == 1 )) && [[ $said == *'JOB=2 failed or was killed, and is submitted again'* && $said == *'1 of 2 failed'* ]] &&
    [[ $said == *f.2.log* && -e $logs/f.2.log.attempt1 ]]
}

bounded() { # two jobs of 2 s, one at a time
  local began=$SECONDS
  slurm --max-jobs-run 1 JOB=1:2 "$logs/b.JOB.log" sleep 2 || return 1
  (( SECONDS - began >= 4 ))
}

interrupted() { # a signal takes the jobs out of the queue
  scripts/slurm.sh JOB=1:2 "$logs/i.JOB.log" sleep 600 &
  local pid=$! i
  for ((i = 0; i < 100; i++)); do
    if grep -qs Started "$logs/i.1.log"; then break; fi
    sleep 0.2
  done
  kill -TERM $pid
  wait $pid
  for ((i = 0; i < 50; i++)); do
    [[ $(squeue --noheader) ]] || return 0
    sleep 0.2
  done
  squeue
  return 1
}

refused() { ! slurm --partition nowhere "$logs/r.log" true 2>"$work/said" && grep -q 'sbatch did not accept' "$work/said"; }

check "slurm.sh: a job array, with logs as Kaldi's scripts expect them" an_array
check "slurm.sh: a failing task is tried again, then named" a_failure
check "slurm.sh: so many jobs at a time" bounded
check "slurm.sh: SIGTERM cancels the jobs" interrupted
check "slurm.sh: what sbatch refuses is an error" refused

data=$work/data
tests/train/toy_data.sh "$data" 60 400
train() { # <name> <cmd>
  scripts/train.sh --feats="scp:$data/feats.scp" --targets="ark:$data/ali.ark" --xconfig="$data/tdnn.xconfig" \
    --archives=4 --num-epochs=2 --num-jobs-initial=2 --num-jobs-final=2 --minibatch-size=32 --nj=2 --report=false \
    --initial-effective-lrate=0.001 --cmd="$2" "$work/$1"
}

accuracy() { sed -n "s/.* Overall accuracy for 'output' is \([^ ]*\) per frame.*/\1/p" "$1/log/compute_prob_valid.final.log"; }

# Cancels a task of iteration 1 while it runs.
cancel_a_task() { # <file that tells that it was done>
  local task
  while sleep 0.05; do
    task=$(squeue --noheader --array --states=RUNNING --format='%i %j' 2>/dev/null | grep ' train\.1\.' | head -n 1 | cut -d' ' -f1)
    if [[ $task ]] && scancel "$task"; then
      echo "cancelled task $task, iteration 1" >"$1"
      return
    fi
  done
}

# Kills a program of iteration 2, or of iteration 3 if that was over before it was seen: it takes a tenth of a second.
kill_a_program() { # <file that tells that it was done>
  local pid
  while sleep 0.01; do
    pid=$(pgrep --newest --full "^nnet3-train .*$work/cluster/[23]\.raw") || continue
    if kill -KILL "$pid" 2>/dev/null; then
      echo "killed process $pid" >"$1"
      return
    fi
  done
}

training_recovers() {
  local strikers=()
  cancel_a_task "$work/cancelled" &
  strikers+=($!)
  kill_a_program "$work/killed" &
  strikers+=($!)
  train cluster slurm.sh 2>&1 | tee "$work/train.log"
  kill "${strikers[@]}" 2>/dev/null
  wait "${strikers[@]}" 2>/dev/null
  [[ -s $work/cluster/final.raw ]] || return 1
  [[ -e $work/cancelled && -e $work/killed ]] || { echo "no job was struck"; return 1; }
  grep -q 'submitted again' "$work/train.log"
}

same_as_here() {
  train here run.sh && cmp "$work/cluster/final.raw" "$work/here/final.raw"
}

good() { awk -v a="$(accuracy "$work/cluster")" 'BEGIN { print a; exit !(a >= 0.95) }'; }

check "train.sh on Slurm: recovers from a cancelled task and a killed program" training_recovers
sed 's/^/        /' "$work/cancelled" "$work/killed" 2>/dev/null
grep -h 'submitted again' "$work/train.log" | sed 's/^/        /'
check "train.sh on Slurm: a good model (frame accuracy $(accuracy "$work/cluster"))" good
check "train.sh on Slurm: the bytes that jobs on this machine make" same_as_here

printf '\n%d passed, %d failed\n' "$passed" "$failed"
(( failed == 0 ))
