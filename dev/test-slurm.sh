#!/usr/bin/env bash
# Usage: test-slurm.sh
# Starts a Slurm cluster of one node on this machine, with its own configuration in a temporary folder, and trains through it
# with scripts/train.sh and scripts/slurm.sh: two jobs at a time, one of which is cancelled and one killed while they run.
# Checks that the training recovers, and that its model is the one that jobs on this machine make. Installs Slurm
# (Debian: slurmctld, slurmd, munge) if it is missing, and stops all that it started. Needs to be root, as slurmd does.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
plain_usage 0 0 "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C OPENBLAS_NUM_THREADS=1

work=$(mktemp -d "${TMPDIR:-/tmp}/test-slurm.XXXXXX")
source tests/train/cluster.sh
shown_logs=("$work"/slurm{ctld,d}.log)
stop_cluster() {
  if [[ -e $work/slurm.conf ]]; then
    scancel --user=root 2>/dev/null
    for ((i = 0; i < 20; i++)); do [[ $(squeue --noheader 2>/dev/null) ]] || break; sleep 0.5; done
  fi
}
finish_at_exit

(( EUID == 0 )) || fail "only root can start slurmd"
missing=()
command -v slurmctld >/dev/null || missing+=(slurmctld)
command -v slurmd >/dev/null || missing+=(slurmd)
command -v sbatch >/dev/null || missing+=(slurm-client)
command -v munged >/dev/null || missing+=(munge)
scripts/common/install_packages.sh "${missing[@]}" || exit 1
find_programs
slow_down_training

# ---- a cluster of this machine --------------------------------------------------------------------------------------
chmod 755 "$work"
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
runner=(scripts/slurm.sh)
queue_is_empty() { [[ -z $(squeue --noheader) ]]; }
refused() { ! "${runner[@]}" --partition nowhere "$logs/r.log" true 2>"$work/said" && grep -q 'sbatch did not accept' "$work/said"; }

cancel_a_task() { # <file>
  local task
  while sleep 0.05; do
    task=$(squeue --noheader --array --states=RUNNING --format='%i %j' 2>/dev/null | grep ' train\.1\.' | head -n 1 | cut -d' ' -f1)
    if [[ $task ]] && scancel "$task"; then
      echo "cancelled task $task, iteration 1" >"$1"
      return
    fi
  done
}

check "slurm.sh: a job array, with logs as Kaldi's scripts expect them" an_array '# Slurm job [0-9]+, task JOB'
check "slurm.sh: a failing task is tried again, then named" a_failure
check "slurm.sh: so many jobs at a time" bounded
check "slurm.sh: SIGTERM cancels the jobs" interrupted
check "slurm.sh: the jobs of a call that was killed go with the next one" after_a_killed_call
check "slurm.sh: what sbatch refuses is an error" refused
check_training Slurm

summary
