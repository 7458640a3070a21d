#!/usr/bin/env bash
# Usage: job.sh LOG THREADS COMMAND
# Runs one line of shell, with what it prints in LOG between the lines that Kaldi's scripts look for. Writes
# `# Ended (code C)` also when it is told to stop, and then takes everything that it started with it.
set -uo pipefail
if (( $# != 3 )) || [[ $1 == -* ]]; then
  source "${BASH_SOURCE[0]%/*}/../common/usage.sh"
  plain_usage 3 3 "$@"
fi

# Nothing here starts a process but the command: there are many short jobs.
log=$1 threads=$2 command=$3
[[ $log != */* || -d ${log%/*} ]] || mkdir -p "${log%/*}"
[[ ! -d $log && $log != */ ]] || { echo "job.sh: $log: expected the name of a log file, found a folder" >&2; exit 1; }
started=$EPOCHSECONDS
at() { printf -v REPLY '%(%a %b %e %T %Z %Y)T' -1; } # the time, as `date` has it
{
  echo "# $command"
  echo "# Running on $HOSTNAME"
  [[ -z ${SLURM_JOB_ID-} ]] || echo "# Slurm job ${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+, task $SLURM_ARRAY_TASK_ID}"
  [[ -z ${JOB_COMPLETION_INDEX-} ]] || echo "# Kubernetes pod $HOSTNAME, index $JOB_COMPLETION_INDEX"
  [[ -z ${CUDA_VISIBLE_DEVICES-} ]] || echo "# CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"
  at
  echo "# Started at $REPLY"
  echo "#"
} >"$log" || exit 1

finish() { # <status>
  local elapsed=$((EPOCHSECONDS - started))
  at
  {
    echo "# Accounting: time=$elapsed threads=$threads"
    echo "# Ended (code $1) at $REPLY, elapsed time $elapsed seconds"
  } >>"$log"
  exit "$1"
}

stop() { # <status>
  trap '' TERM INT HUP
  kill -TERM -- "-$child" 2>/dev/null
  wait "$child" 2>/dev/null
  echo "# Stopped by a signal" >>"$log"
  finish "$1"
}

# A shell of its own for the command, which has nothing of this one.
in_own_shell() {
  set +um
  unset -f at finish stop
  eval "unset log threads command started; set --; $1" # lint: it is the command to run
}

set -m # the command is a process group, which can be stopped as a whole
(in_own_shell "$command") </dev/null >>"$log" 2>&1 &
child=$!
set +m
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM
wait "$child"
finish $?
