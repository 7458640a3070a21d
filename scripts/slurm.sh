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

# ---- what is submitted ----------------------------------------------------------------------------------------------
log_folder=$(dirname "$log")
queue=$log_folder/q
[[ $(basename "$log_folder") != log ]] || queue=$(dirname "$log_folder")/q
base=$(basename "$log")
base=${base//.${job_name:-none}/}
mkdir -p "$queue" || exit 1
spool=$(mktemp -d "$(cd "$queue" && pwd)/${base%.log}.XXXXXX") || exit 1
# The name tells the jobs of this call from all others of the user.
name=$base-$(printf '%s' "$PWD/$log" | cksum | cut -d' ' -f1)

options=(--parsable --job-name="$name" --chdir="$PWD" --output="$spool/slurm.%a" --open-mode=append
  --cpus-per-task="$num_threads" --no-requeue)
[[ $mem == 0 ]] || options+=(--mem="$mem")
[[ $gpu == 0 ]] || options+=(--gres=gpu:"$gpu")
[[ -z $time_limit ]] || options+=(--time="$time_limit")
[[ -z $partition ]] || options+=(--partition="$partition")
read -ra more <<<"${NNET3_SBATCH_OPTIONS-} $sbatch_options"
options+=("${more[@]}")

# Writes the script of a task: status.JOB appears when the job has ended by itself. A task does not end before its log does.
# shellcheck disable=SC2016
{
  echo '#!/usr/bin/env bash'
  echo 'job=$SLURM_ARRAY_TASK_ID'
  printf 'log=%q command=%q name=%q\n' "$log" "$command" "$job_name"
  echo 'if [[ $name ]]; then log=${log//$name/$job} command=${command//$name/$job}; fi'
  printf '%q "$log" %q "$command" & child=$!\n' "$here/jobs/job.sh" "$num_threads"
  echo 'trap '\''kill -TERM $child; wait $child; exit 143'\'' TERM INT HUP'
  echo 'wait $child; status=$?'
  printf 'echo $status >%q/status.$job.tmp && mv %q/status.$job.tmp %q/status.$job\n' "$spool" "$spool" "$spool"
  echo 'exit $status'
} >"$spool/task.sh"

# ---- submit, wait, again --------------------------------------------------------------------------------------------
slurm_job=
leave() { # <status>
  trap '' INT TERM HUP
  if [[ $slurm_job ]]; then scancel "$slurm_job" 2>/dev/null; fi
  rm -rf "$spool"
  rmdir "$queue" 2>/dev/null
  exit "$1"
}
trap 'leave 129' HUP
trap 'leave 130' INT
trap 'leave 143' TERM

submit() { # <task> …
  local IFS=,
  local limit=
  (( max_jobs_run == 0 )) || limit=%$max_jobs_run
  slurm_job=$(sbatch "${options[@]}" --array="$*$limit" "$spool/task.sh" 2>"$spool/sbatch.log")
  if (( $? != 0 )); then
    echo "$runner: sbatch did not accept the job: $(cat "$spool/sbatch.log")" >&2
    slurm_job=
    leave 1
  fi
  slurm_job=${slurm_job%%;*}
}

# Whether Slurm still knows of tasks that have not ended. An answer is needed: a controller that does not reply for a
# while says nothing about the tasks.
is_active() {
  local states
  until states=$(squeue --noheader --array --jobs="$slurm_job" --states=all --format=%T 2>"$spool/squeue.log"); do
    if grep -q 'Invalid job id' "$spool/squeue.log"; then return 1; fi
    sleep 5
  done
  grep -qE '^(PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED|STAGE_OUT|REQUEUED|RESIZING|SIGNALING|STOPPED)' <<<"$states"
}

has_status() { # <task> …
  local task
  for task; do [[ -e $spool/status.$task ]] || return 1; done
}

wait_for() { # <task> …: until all have ended, by themselves or not
  local pause=0.1 polls=0
  until has_status "$@"; do
    sleep "$pause"
    pause=$(awk -v p="$pause" 'BEGIN { p *= 1.3; print p < 5 ? p : 5 }')
    if (( ++polls % 5 == 0 )) && ! is_active; then
      sleep 2 # files of other machines may appear a little later
      return
    fi
  done
}

tasks=()
for ((task = first; task <= last; task++)); do tasks+=("$task"); done
# An earlier call for the same log may have been killed without a chance to take its jobs with it.
scancel --user="$(id -un)" --jobname="$name" 2>/dev/null
for ((attempt = 0; ; attempt++)); do
  for task in "${tasks[@]}"; do rm -f "$spool/status.$task"; done
  submit "${tasks[@]}"
  wait_for "${tasks[@]}"
  failed=()
  for task in "${tasks[@]}"; do
    if [[ ! -e $spool/status.$task ]]; then
      failed+=("$task")
      echo "# Ended (code 143): killed, or lost with its node" >>"$(log_of "$task")"
    elif [[ $(<"$spool/status.$task") != 0 ]]; then failed+=("$task")
    fi
  done
  if (( ${#failed[@]} == 0 )); then leave 0; fi
  if (( attempt == retries )); then break; fi
  for task in "${failed[@]}"; do
    keep_log_of_attempt "$task" $((attempt + 1))
    echo "$runner: ${job_name:+$job_name=$task }failed or was killed, and is submitted again;" \
      "see $(log_of "$task").attempt$((attempt + 1))" >&2
  done
  tasks=("${failed[@]}")
done
report_failures "${failed[@]}"
cat "$spool"/slurm.* 2>/dev/null | head -n 20 >&2
leave 1
