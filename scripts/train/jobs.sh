# Finds the programs, runs the jobs of a driver, whose option --cmd says how and whose logs are in $dir/log, and ends with none
# left behind. `here` is the folder of the driver.

if ! command -v nnet3-train >/dev/null && [[ -x $here/../target/release/nnet3-train ]]; then
  PATH=$(cd "$here/../target/release" && pwd):$PATH
fi
command -v nnet3-train >/dev/null || fail "nnet3-train is not on the PATH (cargo build --release builds it)"

plain_words train-cmd-opts "${train_cmd_opts-}"
# All commands run in the background, because only from `wait` does a signal get through.
read -ra cmd_words <<<"$cmd"
(( ${#cmd_words[@]} )) || fail "--cmd: expected what runs jobs, such as run.sh"
if [[ ${cmd_words[0]} == @(run.sh|slurm.sh|k8s.sh) ]]; then cmd_words[0]=$here/${cmd_words[0]}; fi
# A file: `.` and `eval` are commands of the shell, too.
[[ $(type -t -- "${cmd_words[0]}") == file ]] || { shown "${cmd_words[0]}"; fail "--cmd: there is no program '$REPLY'"; }
background=()

# What run.sh finds out for itself each time when it is called by itself.
has_setpriv=false
if setpriv --pdeathsig TERM true 2>/dev/null; then has_setpriv=true; fi

start() { # [options of the runner] [JOB=1:N] <log> <command> …; sets `process`, which is to be waited for
  if [[ ${cmd_words[0]} == "$here/run.sh" ]]; then
    ( set +e
      trap - EXIT
      source "$here/run.sh" "${cmd_words[@]:1}" "$@" ) &
  else "${cmd_words[@]}" "$@" &
  fi
  process=$!
}

finish() { # <process>
  # shellcheck disable=SC2086
  if [[ $1 == *.* ]]; then finish_jobs $1; return; fi
  wait "$1" || fail "stopped: a job failed; logs are in $dir/log"
}

run() { # as start; returns when all is done
  start "$@"
  finish "$process"
}

# As start, by workers if there may be some.
begin() { # <worker> [options of the runner] [JOB=1:N] <log> <command> …
  if [[ $use_workers == true ]]; then hand_out "$@"; else start "${@:2}"; fi
}

in_background() { # as begin
  begin "$@"
  background+=("$process")
}

wait_for_background() {
  local pid
  for pid in "${background[@]}"; do finish "$pid"; done
  background=()
}

source "$here/train/workers.sh"

stop() { # <status>
  trap '' INT TERM HUP
  local pid running=true
  end_workers
  # More than once: a shell that has just been forked may lose a signal. (Of a process that ends while it is being started, `jobs` may
  # say for ever that it runs.)
  while $running; do
    running=false
    for pid in $(jobs -p); do # lint: numbers of processes
      if kill -TERM "$pid" 2>/dev/null; then running=true; fi
    done
    ! $running || sleep 0.02
  done
  wait || true
  remove_private
  exit "$1"
}
trap 'stop $?' EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM
