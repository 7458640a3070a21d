# Jobs that a scheduler runs on other machines: submitted as one array, waited for, and what failed or was lost submitted again.
# Sourced by slurm.sh and k8s.sh after arguments.sh; they define
#   submit <task> …   submits these tasks; status 1, with the reason on standard error, if that is refused
#   is_active         whether the scheduler still has tasks of the last submission that have not ended; it does not return before
#                     the scheduler has answered
#   cancel            takes the last submission out of the queue
#   cancel_earlier    takes all jobs of this name, $name, out of the queue
# A task runs $spool/task.sh, and leaves status.TASK there when it has ended by itself.

# Sets spool, a new folder beside the log for what the scheduler needs and says, and name, which tells the jobs of this call from all
# others of the user.
make_spool() {
  log_folder=$(dirname "$log")
  queue=$log_folder/q
  [[ $(basename "$log_folder") != log ]] || queue=$(dirname "$log_folder")/q
  base=$(basename "$log")
  base=${base//.${job_name:-none}/}
  mkdir -p "$queue" || exit 1
  base=${base//[^A-Za-z0-9._-]/_} # lists of jobs are separated by commas
  spool=$(mktemp -d "$(realpath -- "$queue")/${base%.log}.XXXXXX") || exit 1
  name=$base-$(printf '%s' "$PWD/$log" | cksum | cut -d' ' -f1)
}

# A task does not end before its log does.
# shellcheck disable=SC2016
write_task() { # <how the shell learns the task's number> <job.sh> [<file to source>]
  {
    echo '#!/usr/bin/env bash'
    [[ ! ${3-} ]] || printf 'source %q\n' "$3"
    echo "job=$1"
    printf 'log=%q command=%q name=%q\n' "$log" "$command" "$job_name"
    echo 'if [[ $name ]]; then log=${log//$name/$job} command=${command//$name/$job}; fi'
    printf '%q "$log" %q "$command" & child=$!\n' "$2" "$num_threads"
    echo 'trap '\''kill -TERM $child; wait $child; exit 143'\'' TERM INT HUP'
    echo 'wait $child; status=$?'
    printf 'echo $status >%q/status.$job.tmp && mv %q/status.$job.tmp %q/status.$job\n' "$spool" "$spool" "$spool" # lint: the folder is private
    echo 'exit $status'
  } >"$spool/task.sh"
}

leave() { # <status>
  trap '' INT TERM HUP
  cancel
  rm -rf "$spool"
  rmdir "$queue" 2>/dev/null
  exit "$1"
}

has_status() { # <task> …
  local task
  for task; do [[ -e $spool/status.$task ]] || return 1; done
}

wait_for() { # <task> …: until all have ended, by themselves or not
  local pause=0.1 polls=0
  until has_status "$@"; do
    sleep "$pause"
    pause=$(p="$pause" awk 'BEGIN { p = ENVIRON["p"]; p *= 1.3; print p < 5 ? p : 5 }')
    if (( ++polls % 5 == 0 )) && ! is_active; then
      sleep 2 # files of other machines may appear a little later
      return
    fi
  done
}

run_array() {
  local task tasks=() failed=() attempt # lint: whole: task
  trap 'leave 129' HUP
  trap 'leave 130' INT
  trap 'leave 143' TERM
  for ((task = first; task <= last; task++)); do tasks+=("$task"); done
  # An earlier call for the same log may have been killed without a chance to take its jobs with it.
  cancel_earlier
  for ((attempt = 0; ; attempt++)); do
    for task in "${tasks[@]}"; do rm -f "$spool/status.$task"; done
    submit "${tasks[@]}" || leave 1
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
  cat "$spool"/output.* 2>/dev/null | head -n 20 >&2
  leave 1
}
