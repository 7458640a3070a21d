# What tests of the drivers share: the programs on the PATH, a folder for their files, and checks that are counted in `passed` and
# `failed`. Only those whose names have `words` in them are run.

if ! command -v nnet3-train >/dev/null; then
  cargo build --release --bins || exit 1
  PATH=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release:$PATH
fi
name=${0##*/}
work=$(mktemp -d "${TMPDIR:-/tmp}/${name%.sh}.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

check() { # <what> <command> …
  local log=$work/check.log
  if [[ $1 != *"$words"* ]]; then return; fi
  if "${@:2}" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok      $1"
  else
    failed=$((failed + 1))
    echo "FAILED  $1"
    tail -n 12 "$log" | sed 's/^/        /'
  fi
}
