# Jobs of this machine's `run.sh` that are one program of ours each are done by processes that stay (`nnet3-train --worker`): an iteration of a
# small network takes a third of a second, of which starting shells and programs would be a quarter. A job is done by a worker that
# it is given to, one after the other; its log is as a runner writes it.

worker_pids=() worker_in=() worker_out=() worker_jobs=() # of each worker; the jobs that it was given
worker_done=()                                           # how many of them are done
declare -A job_log job_command job_attempts job_began job_status # by worker.number
most_attempts=3                                          # at a job during which workers end

source "$here/jobs/logs.sh"
num_processors=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
# GPUs stay with the jobs that need them: those have processes of their own.
use_workers=false
if [[ ${cmd_words[*]} == "$here/run.sh" && ! $train_cmd_opts && ! -e /dev/nvidiactl ]]; then use_workers=true; fi

# lint: whole: $1
start_worker() { # <number>
  # shellcheck disable=SC2173
  trap : KILL ABRT # or the shell would say where in its source it started what such a signal has ended
  local pipe=$private/worker.$1 with_parent=() fd in out
  if $has_setpriv; then with_parent=(setpriv --pdeathsig TERM); fi
  mkfifo "$pipe.in" "$pipe.out"
  (
    trap - EXIT
    for fd in "${worker_in[@]}" "${worker_out[@]}"; do exec {fd}>&-; done
    exec "${with_parent[@]}" nnet3-train --worker <"$pipe.in" >"$pipe.out"
  ) &
  worker_pids[$1]=$!
  # (For reading, too: then a job for a worker that has ended waits in the pipe, and is no signal that would end this script.)
  exec {in}<>"$pipe.in" {out}<"$pipe.out"
  worker_in[$1]=$in worker_out[$1]=$out
  rm -f "$pipe".*
}

# Sets REPLY to a command with its `$[…]` worked out.
with_numbers() { # <command>
  REPLY=$1
  local expression value
  while [[ $REPLY =~ \$\[([^][]*)\] ]]; do
    expression=${BASH_REMATCH[1]}
    [[ $expression =~ ^[0-9()+*/%-]+$ ]] || fail "'$expression': expected numbers and signs between them"
    value=$((expression)) # lint: whole: numbers and signs
    REPLY=${REPLY/"\$[$expression]"/$value}
  done
}

# As `start`, with the first of the workers that do the jobs.
hand_out() { # <worker> [JOB=1:N] <log> <command> …
  local worker=$1 jobs=1 name= job command # lint: whole: worker jobs
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

# lint: whole: $1
give() { # <worker> <log> <command>
  worker_jobs[$1]=${worker_jobs[$1]-0} worker_done[$1]=${worker_done[$1]-0}
  local id=$1.${worker_jobs[$1]}
  [[ ${worker_pids[$1]-} ]] || start_worker "$1"
  job_log[$id]=$2 job_command[$id]=$3 job_attempts[$id]=1
  begin_job "$id"
  worker_jobs[$1]=$((${worker_jobs[$1]} + 1))
  process+=" $id"
}

# lint: whole: $1
begin_job() { # <worker.number>
  local log=${job_log[$1]} now
  with_numbers "${job_command[$1]}"
  printf -v now '%(%a %b %e %T %Z %Y)T' -1
  printf '# %s\n# Running on %s\n# Started at %s\n#\n' "${job_command[$1]}" "$HOSTNAME" "$now" >"$log"
  job_began[$1]=$EPOCHSECONDS
  printf '%s\t%s\n' "$log" "$REPLY" >&"${worker_in[${1%.*}]}"
}

# A worker has ended, as it happens where memory is short. Another one does what it was given, the job at which it ended too, unless that
# was the last attempt.
# lint: whole: $1
replace_worker() { # <worker>
  # lint: whole: worker
  local worker=$1 job=${worker_done[$1]} status=0 reason log in=${worker_in[$1]} out=${worker_out[$1]}
  wait "${worker_pids[$worker]}" 2>/dev/null || status=$?
  exec {in}>&- {out}<&-
  start_worker "$worker"
  log=${job_log[$worker.$job]}
  reason="ended with status $status"
  if (( status > 128 )); then reason="was killed by signal $((status - 128))"; fi
  if (( status == 137 )); then reason+=", as it happens where memory is short"; fi
  end_job "$worker.$job" "$status"
  if (( ${job_attempts[$worker.$job]} < most_attempts )); then
    cp -f "$log" "$log.attempt${job_attempts[$worker.$job]}"
    say "a process of the training $reason: its job is done again, attempt $((${job_attempts[$worker.$job]} + 1)) of $most_attempts ($log)"
    job_attempts[$worker.$job]=$((${job_attempts[$worker.$job]} + 1))
  else
    say "a process of the training $reason, at attempt $most_attempts of $most_attempts: $log"
    job=$((job + 1))
    worker_done[worker]=$job
  fi
  for ((; job < worker_jobs[worker]; job++)); do begin_job "$worker.$job"; done
}

# Waits until these jobs are done, and fails with what their logs say if one of them does.
finish_jobs() { # <worker.number> …
  local id worker status failed=0 # lint: whole: worker id
  for id; do
    worker=${id%.*}
    while (( worker_done[worker] <= ${id#*.} )); do
      if read -r -u "${worker_out[$worker]}" status; then
        number status whole "status of a job" "$status" 0 255
        end_job "$worker.${worker_done[$worker]}" "$status"
        worker_done[worker]=$((${worker_done[$worker]} + 1))
      else replace_worker "$worker"
      fi
    done
    [[ ${job_status[$id]} == 0 ]] || { failed=1; say "${job_log[$id]} says:"; show_failure "${job_log[$id]}" || true; }
    unset "job_log[$id]" "job_command[$id]" "job_attempts[$id]" "job_began[$id]" "job_status[$id]" # lint: two numbers
  done
  (( ! failed )) || fail "stopped: a job failed; logs are in $dir/log"
}

end_job() { # <worker.number> <status>
  local now seconds=$((EPOCHSECONDS - ${job_began[$1]}))
  printf -v now '%(%a %b %e %T %Z %Y)T' -1
  printf '# Accounting: time=%d threads=1\n# Ended (code %d) at %s, elapsed time %d seconds\n' "$seconds" "$2" "$now" "$seconds" \
    >>"${job_log[$1]}"
  job_status[$1]=$2
}

# What is being done when the driver stops has not been done.
end_workers() {
  local worker id # lint: whole: worker
  for worker in "${!worker_pids[@]}"; do
    kill -TERM "${worker_pids[$worker]}" 2>/dev/null || true
    for ((id = worker_done[worker]; id < worker_jobs[worker]; id++)); do
      echo "# Stopped by a signal" >>"${job_log[$worker.$id]}"
      end_job "$worker.$id" 143
    done
  done
  worker_pids=()
}
