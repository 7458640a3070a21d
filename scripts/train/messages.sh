# What a driver says, and how it ends where something is wrong. `driver` is its name.

say() { echo "$driver: $*" >&2; }
fail() { say "$*"; exit 1; }
fail_with_log() { # <what> <log>
  if [[ ${private-} && $2 == "$private"/* ]]; then say "$1:" # (Its log goes with the folder of temporary files.)
  else say "$1; $2 ends:"
  fi
  tail -n 3 "$2" | sed 's/^/    /' >&2
  exit 1
}

# Runs a program of this toolkit with its log in a file. Its warnings, its error and, with `kinds`, lines of its log are said in the name of
# the script. An error ends the script. `renamed` has lines `option of the program<TAB>option of the script`.
program() { # <log> <program> <argument> …
  local log=$1 status=0
  shift
  "$@" 2>"$log" || status=$?
  say_log "$log" "${kinds-}"
  (( status == 0 )) && return
  grep -q '^ERROR (' "$log" || fail_with_log "$1 failed with status $status" "$log"
  exit 1
}

say_log() { # <log> [LOG]: the messages of a program
  # (The name of a folder of temporary files tells nobody anything.)
  driver=$driver kinds="WARNING ERROR ${2-}" hidden=${private:+$private/} renamed=${renamed-} awk '
    BEGIN { n = split(ENVIRON["kinds"], kinds, " "); for (i = 1; i <= n; i++) wanted[kinds[i]]; hidden = ENVIRON["hidden"]
      options = split(ENVIRON["renamed"], pairs, "\n") }
    hidden != "" { while (at = index($0, hidden)) $0 = substr($0, 1, at - 1) substr($0, at + length(hidden)) }
    { for (i = 1; i <= options; i++) { split(pairs[i], pair, "\t")
        if (at = index($0, pair[1])) $0 = substr($0, 1, at - 1) pair[2] substr($0, at + length(pair[1])) } }
    /^[A-Z]+ \([^ ]*\) / {
      kind = $1
      said = kind in wanted
      sub(/^[A-Z]+ \([^ ]*\) /, "")
      if (said) print ENVIRON["driver"] ": " (kind == "WARNING" ? "WARNING: " : "") $0
      next
    }
    said { print }' "$1" >&2
}
