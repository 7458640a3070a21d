# shellcheck shell=bash
# Waiting for any of several processes.

# Waits until one of the processes has ended, sets `ended` to it, and returns its status. One that ends just before `wait -n` begins is
# not always named by it, so those that are gone are asked for by themselves. (`wait -p` unsets its variable first. If that were a local
# one of the caller, a variable outside with the same name would come to light, with a process of earlier.)
wait_for_one() { # <pid> ...
  local status named
  while true; do
    wait -n -p named "$@" 2>/dev/null
    status=$?
    if [[ ${named-} ]]; then ended=$named; return "$status"; fi
    for ended in "$@"; do
      if ! kill -0 "$ended" 2>/dev/null; then
        wait "$ended"
        return
      fi
    done
  done
}
