# shellcheck shell=bash
# Waiting for any of several processes.

# Waits until one of the processes has ended, sets `ended` to it, and returns its status. One that ends just before `wait -n` begins is
# not always named by it, so those that are gone are asked for by themselves.
wait_for_one() { # <pid> ...
  local status
  while true; do
    ended=''
    wait -n -p ended "$@"
    status=$?
    if [[ ${ended-} ]]; then return "$status"; fi
    for ended in "$@"; do
      if ! kill -0 "$ended" 2>/dev/null; then
        wait "$ended"
        return
      fi
    done
  done
}
