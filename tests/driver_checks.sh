# What tests of the drivers share: the programs on the PATH, a folder for their files, checks that are counted, and lanes of checks that run
# beside each other. Only checks whose names have `words` in them are run.

if ! command -v nnet3-train >/dev/null; then
  cargo build --release --bins || exit 1
  PATH=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release:$PATH
fi
name=${0##*/}
work=$(mktemp -d "${TMPDIR:-/tmp}/${name%.sh}.XXXXXX")
all_work=$work own=$work
trap 'rm -rf "$all_work"' EXIT
# (Shells in the background do not get Ctrl-C.)
trap 'trap "" TERM; kill -TERM 0; wait; exit 130' INT
: >"$all_work/counts"

check() { # <what> <command> …
  local log=$own/check.log began=${EPOCHREALTIME/./} took said # lint: whole: began
  if [[ $1 != *"$words"* ]]; then return; fi
  if "${@:2}" >"$log" 2>&1; then said="ok      $1"
  else said="FAILED  $1"
  fi
  took=$(((${EPOCHREALTIME/./} - began) / 100000))
  echo "$said" >>"$all_work/counts"
  said+=" ($((took / 10)).$((took % 10)) s)"
  [[ $said == ok* ]] || said+=$'\n'$(tail -n 12 "$log" | sed 's/^/        /')
  printf '%s\n' "$said"
}

# Runs functions of checks beside each other, as many at a time as there are processors, each in a shell and with a folder of its own ($own).
beside() { # <function> …
  local lane most=${NNET3_LANES:-$(nproc)}
  number most whole "lanes (NNET3_LANES)" "$most" 1 100
  for lane; do
    while (( $(jobs -pr | wc -l) >= most )); do wait -n; done # lint: whole: most
    (
      own=$all_work/$lane RANDOM=7
      mkdir "$own"
      "$lane"
      echo "ended $lane" >>"$all_work/counts"
    ) &
  done
  wait
  for lane; do
    grep -qx "ended $lane" "$all_work/counts" || words= check "all checks of $lane are run" false
  done
}

# Prints `N passed, N failed`. True if none failed.
summary() {
  local passed failed # lint: whole: failed
  passed=$(grep -c '^ok ' "$all_work/counts")
  failed=$(grep -c '^FAILED ' "$all_work/counts")
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  (( failed == 0 ))
}
