#!/usr/bin/env bash
# Runs jobs on a Slurm cluster; the convention is that of Kaldi's slurm.pl.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<'HELP'
usage: slurm.sh [options] [JOB=1:N] LOG COMMAND [ARGUMENT ...]
Submits a command, or N of them as one job array, with JOB replaced by 1 ... N in LOG and in the command, waits for the end,
and submits anew what failed or was killed. What they print is in LOG; what sbatch says, beside it in the folder q. Arguments
without blanks are for the shell ('|', '&&', '$[JOB+1]'), those with blanks are quoted. A pipe fails when any part of it
fails. Status 0 if all jobs succeed. Folders must be seen from all nodes. e.g.:
  slurm.sh --gpu 1 --mem 4G JOB=1:4 log/train.1.JOB.log nnet3-train 1.raw ark:egs.JOB.ark 2.JOB.raw

  --max-jobs-run N   at most so many at a time (no limit)
  --num-threads N    processors for a job (1)
  --mem SIZE         memory for a job, such as 4G or 500M (the cluster's default)
  --gpu N            GPUs for a job (0)
  --time LIMIT       after which a job is killed, such as 90 (minutes) or 4:00:00 (the cluster's default)
  --partition NAME   partition, or several separated by commas (the cluster's default)
  --retries N        how often to submit a failed job again (2)
  --sbatch OPTIONS   further options of sbatch, separated by blanks; those in NNET3_SBATCH_OPTIONS come first
HELP
}

max_jobs_run=0 num_threads=1 mem=0 gpu=0 time_limit= partition= retries=2 sbatch_options=
declare -A runner_options=([max-jobs-run]=max_jobs_run [num-threads]=num_threads [mem]=mem [gpu]=gpu [time]=time_limit
  [partition]=partition [retries]=retries [sbatch]=sbatch_options)
source "$here/jobs/arguments.sh"
parse_arguments "$@"
check_shared_options
command -v sbatch >/dev/null || refuse "there is no sbatch here: is this a machine of the cluster?"

source "$here/jobs/array.sh"
make_spool
[[ $spool != *%* ]] || refuse "$spool: Slurm would take % in names for something else"
options=(--parsable --job-name="$name" --chdir="$PWD" --output="$spool/output.%a" --open-mode=append
  --cpus-per-task="$num_threads" --no-requeue)
[[ $mem == 0 ]] || options+=(--mem="$mem")
[[ $gpu == 0 ]] || options+=(--gres=gpu:"$gpu")
[[ -z $time_limit ]] || options+=(--time="$time_limit")
[[ -z $partition ]] || options+=(--partition="$partition")
read -ra more <<<"${NNET3_SBATCH_OPTIONS-} $sbatch_options"
options+=("${more[@]}")
# shellcheck disable=SC2016
write_task '$SLURM_ARRAY_TASK_ID' "$here/jobs/job.sh"

slurm_job=
submit() { # <task> …
  local IFS=,
  local limit=
  (( max_jobs_run == 0 )) || limit=%$max_jobs_run
  if ! slurm_job=$(sbatch "${options[@]}" --array="$*$limit" "$spool/task.sh" 2>"$spool/sbatch.log"); then
    echo "$runner: sbatch did not accept the job: $(cat "$spool/sbatch.log")" >&2
    slurm_job=
    return 1
  fi
  slurm_job=${slurm_job%%;*}
}

# A controller that does not reply for a while says nothing about the tasks.
is_active() {
  local states
  until states=$(squeue --noheader --array --jobs="$slurm_job" --states=all --format=%T 2>"$spool/squeue.log"); do
    if grep -q 'Invalid job id' "$spool/squeue.log"; then return 1; fi
    sleep 5
  done
  grep -qE '^(PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED|STAGE_OUT|REQUEUED|RESIZING|SIGNALING|STOPPED)' <<<"$states"
}

cancel() { if [[ $slurm_job ]]; then scancel "$slurm_job" 2>/dev/null; fi; }

cancel_earlier() { scancel --user="$(id -un)" --jobname="$name" 2>/dev/null; }

run_array
