# What a driver says, and how it ends where something is wrong. `driver` is its name.

say() { echo "$driver: $*" >&2; }
fail() { say "$*"; exit 1; }
fail_with_log() { # <what> <log>
  say "$1; $2 ends:"
  tail -n 3 "$2" | sed 's/^/    /' >&2
  exit 1
}
