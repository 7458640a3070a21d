# Finds the programs, runs the jobs of a driver, whose option --cmd says how and whose logs are in $dir/log, and ends with none
# left behind. `here` is the folder of the driver.

if ! command -v nnet3-train >/dev/null && [[ -x $here/../target/release/nnet3-train ]]; then
  PATH=$(cd "$here/../target/release" && pwd):$PATH
fi
command -v nnet3-train >/dev/null || fail "nnet3-train is not on the PATH (cargo build --release builds it)"

# All commands run in the background, because only from `wait` does a signal get through.
read -ra cmd_words <<<"$cmd"
if [[ ${cmd_words[0]} == @(run.sh|slurm.sh|k8s.sh) ]]; then cmd_words[0]=$here/${cmd_words[0]}; fi
background=()

run() { # [options of the runner] [JOB=1:N] <log> <command> …
  "${cmd_words[@]}" "$@" &
  wait $! || fail "stopped: a job failed; logs are in $dir/log"
}

in_background() {
  "${cmd_words[@]}" "$@" &
  background+=($!)
}

wait_for_background() {
  local pid
  for pid in "${background[@]}"; do wait "$pid" || fail "stopped: a job failed; logs are in $dir/log"; done
  background=()
}

stop() { # <status>
  trap '' INT TERM HUP
  local pids
  pids=$(jobs -p)
  # shellcheck disable=SC2086
  if [[ $pids ]]; then kill -TERM $pids 2>/dev/null || true; fi
  wait || true
  exit "$1"
}
trap 'stop $?' EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM
