#!/usr/bin/env bash
# Runs jobs on this machine; the convention is that of Kaldi's run.pl. Drivers read it in a shell of their own, which takes less time
# than starting it: it ends by `exit`.
set -uo pipefail
here=.
[[ ${BASH_SOURCE[0]} != */* ]] || here=${BASH_SOURCE[0]%/*}

usage() {
  cat <<'HELP'
usage: run.sh [options] [JOB=1:N] LOG COMMAND [ARGUMENT ...]
Runs a command, or N of them, with JOB replaced by 1 ... N in LOG and in the command, and what they print in LOG.
Arguments without blanks are for the shell ('|', '&&', '$[JOB+1]'), those with blanks are quoted. A pipe fails when any
part of it fails. Status 0 if all jobs succeed. e.g.:
  run.sh JOB=1:4 log/copy.JOB.log nnet3-copy-egs ark:egs.JOB.ark ark:- \| nnet3-shuffle-egs ark:- ark:out.JOB.ark

  --max-jobs-run N   at most so many at a time (as many as there are processors and memory for: processors / num-threads,
                     memory / mem; with --gpu: GPUs)
  --num-threads N    threads that a job will use (1)
  --mem SIZE         memory that a job will use, such as 4G or 500M (not known)
  --gpu N            1: each job gets a GPU of its own in CUDA_VISIBLE_DEVICES, one of those there if that is set (0)
  --retries N        starts a failed job anew, so many times (0)
  --time LIMIT       for exchange with slurm.sh: here jobs may take as long as they like
HELP
}

max_jobs_run=0 num_threads=1 mem=0 gpu=0 retries=0 time_limit=
declare -A runner_options=([max-jobs-run]=max_jobs_run [num-threads]=num_threads [mem]=mem [gpu]=gpu [retries]=retries
  [time]=time_limit)
source "$here/jobs/arguments.sh"
source "$here/jobs/wait.sh"
parse_arguments "$@"
check_shared_options

# ---- how many at a time ---------------------------------------------------------------------------------------------
gpus=()
if (( gpu > 0 )); then
  if [[ ${CUDA_VISIBLE_DEVICES-} ]]; then IFS=, read -ra gpus <<<"$CUDA_VISIBLE_DEVICES"
  elif command -v nvidia-smi >/dev/null; then mapfile -t gpus < <(nvidia-smi --query-gpu=index --format=csv,noheader)
  fi
  if (( ${#gpus[@]} == 0 )); then echo "$runner: WARNING: --gpu $gpu, but no GPU was found: one job at a time" >&2; fi
fi

slots_by_resources() {
  if (( gpu > 0 )); then echo $((${#gpus[@]} ? ${#gpus[@]} : 1)); return; fi
  local cpus slots memory
  cpus=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
  slots=$((cpus / num_threads))
  if [[ $mem != 0 ]]; then
    memory=$(size=${mem^^} awk '/^MemTotal:/ {
      size = ENVIRON["size"]
      power = index("KMGT", substr(size, length(size)))
      printf "%d", $2 * 1024 / (size * 1024 ^ power); exit }' /proc/meminfo)
    number memory whole /proc/meminfo "$memory"
    if (( memory < slots )); then slots=$memory; fi
  fi
  echo $((slots > 0 ? slots : 1))
}
(( first < last )) || max_jobs_run=1
(( max_jobs_run > 0 )) || max_jobs_run=$(slots_by_resources)
(( max_jobs_run <= last - first + 1 )) || max_jobs_run=$((last - first + 1))

# ---- jobs -----------------------------------------------------------------------------------------------------------
# A job ends with this script, however that ends; where there is no setpriv, it outlives a `kill -9` of it.
# `has_setpriv` is known where a driver has looked already.
with_parent=()
if ${has_setpriv:-setpriv --pdeathsig TERM true} 2>/dev/null; then with_parent=(setpriv --pdeathsig TERM); fi

declare -A job_of slot_of attempts
failed=()
free_slots=()
for ((slot = max_jobs_run - 1; slot >= 0; slot--)); do free_slots+=("$slot"); done

stop_all() {
  trap '' INT TERM HUP
  local pid
  for pid in "${!job_of[@]}"; do kill -TERM "$pid" 2>/dev/null; done
  wait
  exit "$1"
}
trap 'stop_all 129' HUP
trap 'stop_all 130' INT
trap 'stop_all 143' TERM

start() { # <job>
  local slot=${free_slots[-1]} environment=()
  unset 'free_slots[-1]'
  if (( ${#gpus[@]} )); then environment=(env CUDA_VISIBLE_DEVICES="${gpus[slot % ${#gpus[@]}]}"); fi
  "${environment[@]}" "${with_parent[@]}" "$here/jobs/job.sh" "${log//"$job_name"/$1}" "$num_threads" "${command//"$job_name"/$1}" &
  job_of[$!]=$1 slot_of[$!]=$slot
}

reap() { # waits for one job
  local ended='' pid status job
  wait_for_one "${!job_of[@]}"
  status=$?
  pid=$ended
  job=${job_of[$pid]}
  free_slots+=("${slot_of[$pid]}")
  unset "job_of[$pid]" "slot_of[$pid]" # lint: a process
  if (( status == 0 )); then return; fi
  attempts[$job]=$((${attempts[$job]-0} + 1))
  if (( ${attempts[$job]} <= retries )); then
    keep_log_of_attempt "$job" "${attempts[$job]}"
    echo "$runner: job $job ended with status $status, and starts anew; see $(log_of "$job").attempt${attempts[$job]}" >&2
    start "$job"
  else
    failed+=("$job")
  fi
}

for ((job = first; job <= last; job++)); do
  while (( ${#free_slots[@]} == 0 )); do reap; done
  start "$job"
done
while (( ${#job_of[@]} )); do reap; done
if (( ${#failed[@]} )); then
  report_failures "${failed[@]}"
  exit 1
fi
