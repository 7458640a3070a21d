# Jobs of this machine's `run.sh` that are one program of ours each are done by processes that stay (`nnet3-train --worker`): an iteration of a
# small network takes a third of a second, of which starting shells and programs would be a quarter. A job is done by a worker that
# it is given to, one after the other; its log is as a runner writes it.

worker_pids=() worker_in=() worker_out=() worker_jobs=() # of each worker; the jobs that it was given
worker_done=()                                           # how many of them are done
declare -A job_log job_began job_status                  # by worker.number

source "$here/jobs/logs.sh"
num_processors=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
# GPUs stay with the jobs that need them: those have processes of their own.
use_workers=false
if [[ ${cmd_words[*]} == "$here/run.sh" && ! $train_cmd_opts && ! -e /dev/nvidiactl ]]; then use_workers=true; fi

start_worker() { # <number>
  local pipe=$dir/.worker.$1 with_parent=() fd in out
  worker_jobs[$1]=0 worker_done[$1]=0
  if $has_setpriv; then with_parent=(setpriv --pdeathsig TERM); fi
  rm -f "$pipe".*
  mkfifo "$pipe.in" "$pipe.out"
  (
    trap - EXIT
    for fd in "${worker_in[@]}" "${worker_out[@]}"; do exec {fd}>&-; done
    exec "${with_parent[@]}" nnet3-train --worker <"$pipe.in" >"$pipe.out"
  ) &
  worker_pids[$1]=$!
  exec {in}>"$pipe.in" {out}<"$pipe.out"
  worker_in[$1]=$in worker_out[$1]=$out
  rm -f "$pipe".*
}

# Sets REPLY to a command with its `$[…]` worked out.
with_numbers() { # <command>
  REPLY=$1
  while [[ $REPLY =~ \$\[([^][]*)\] ]]; do REPLY=${REPLY/"${BASH_REMATCH[0]}"/$((BASH_REMATCH[1]))}; done
}

# As `start`, with the first of the workers that do the jobs.
hand_out() { # <worker> [JOB=1:N] <log> <command> …
  local worker=$1 jobs=1 name= job command
  shift
  if [[ $1 == JOB=1:* ]]; then
    name=JOB jobs=${1#JOB=1:}
    shift
  fi
  local log=$1
  quote_command "${@:2}"
  local pattern=$command
  process=
  for ((job = 1; job <= jobs; job++)); do
    give "$((worker + (job - 1) % num_processors))" "${log//"${name:-$'\n'}"/$job}" "${pattern//"${name:-$'\n'}"/$job}"
  done
}

give() { # <worker> <log> <command>
  local id=$1.${worker_jobs[$1]-0} now
  [[ ${worker_pids[$1]-} ]] || start_worker "$1"
  with_numbers "$3"
  printf -v now '%(%a %b %e %T %Z %Y)T' -1
  printf '# %s\n# Running on %s\n# Started at %s\n#\n' "$3" "$HOSTNAME" "$now" >"$2"
  job_log[$id]=$2 job_began[$id]=$EPOCHSECONDS
  # (Whoever waits for a worker that has ended sees that.)
  printf '%s\t%s\n' "$2" "$REPLY" 2>/dev/null >&"${worker_in[$1]}" || true
  worker_jobs[$1]=$((${worker_jobs[$1]} + 1))
  process+=" $id"
}

# Waits until these jobs are done, and fails with what their logs say if one of them does.
finish_jobs() { # <worker.number> …
  local id worker status failed=0
  for id; do
    worker=${id%.*}
    while (( worker_done[worker] <= ${id#*.} )); do
      read -r -u "${worker_out[$worker]}" status || { wait "${worker_pids[$worker]}" && status=1 || status=$?; }
      end_job "$worker.${worker_done[$worker]}" "$status"
      worker_done[$worker]=$((${worker_done[$worker]} + 1))
    done
    (( job_status[$id] == 0 )) || { failed=1; say "${job_log[$id]} says:"; show_failure "${job_log[$id]}" || true; }
    unset "job_log[$id]" "job_began[$id]" "job_status[$id]"
  done
  (( ! failed )) || fail "stopped: a job failed; logs are in $dir/log"
}

end_job() { # <worker.number> <status>
  local now seconds=$((EPOCHSECONDS - ${job_began[$1]}))
  printf -v now '%(%a %b %e %T %Z %Y)T' -1
  printf '# Accounting: time=%d threads=1\n# Ended (code %d) at %s, elapsed time %d seconds\n' $seconds "$2" "$now" $seconds \
    >>"${job_log[$1]}"
  job_status[$1]=$2
}

# What is being done when the driver stops has not been done.
end_workers() {
  local worker id
  for worker in "${!worker_pids[@]}"; do
    kill -TERM "${worker_pids[$worker]}" 2>/dev/null || true
    for ((id = worker_done[worker]; id < worker_jobs[worker]; id++)); do
      echo "# Stopped by a signal" >>"${job_log[$worker.$id]}"
      end_job "$worker.$id" 143
    done
  done
  worker_pids=()
}
