#!/usr/bin/env bash
# Usage: test.sh [--quick]
# All checks of the project: formatting, clippy, shellcheck, Rust tests, interoperability with Python's Kaldi libraries.
# Installs what is missing (Debian or Ubuntu: system packages with apt-get; Python packages into tests/*/.venv and
# packaging/.venv) and says so; once everything is there, works without network. Ends with the line `N passed, N failed`.
#
# --quick: formatting, and clippy and tests of the crates that differ from the last commit (or that it changed, if none do),
# for the loop of a person at work. It installs nothing.
#
# Tests that need figures of the reference run where the environment says that these are:
#   NNET3_CONFORMANCE_DIR  case folders, besides those in tests/data/conformance
#   NNET3_TRAINING_DIR     training runs, forward passes, examples
#   NNET3_PERF_DIR         full-size networks with their requests (memory plans)
#   NNET3_CHAIN_DIR        LF-MMI: graphs, supervision, objectives
#   NNET3_DECODING_DIR     decoding, lattices, online features
#   NNET3_RNNLM_DIR        training of recurrent language models
# The summary counts the tests that compared less without them; NNET3_REQUIRE_DATA=1 makes these fail. It names the parts
# that failed, and the parts that took long.
#
# NNET3_TEST_MINUTES=N: tests of scripts and packages that have not begun after N minutes are not run; the summary names them.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/common/values.sh"
minutes=999999
if [[ ${NNET3_TEST_MINUTES-} ]]; then number minutes whole NNET3_TEST_MINUTES "$NNET3_TEST_MINUTES" 0; fi
quick=false
if [[ ${1-} == --quick ]]; then
  quick=true
  shift
fi
plain_usage 0 0 "$@"
cd "$(dirname "$0")/.." || exit

passed=0
failed=0
current_part='' part_began=0
failed_parts=() # what the summary says of them, since a log of this length is rarely read whole
times=()
log=$(mktemp)
NNET3_SKIPPED=$(mktemp) # tests write here what they lack
export NNET3_SKIPPED
trap 'rm -f "$log" "$NNET3_SKIPPED"' EXIT

# Runs functions of this file at the same time, for parts that leave cores idle. What a part prints comes when it has
# ended, in the order of the arguments; its counts are added to those of the whole.
together() {
  local part folder line good bad
  folder=$(mktemp -d) || exit
  for part; do
    (
      passed=0 failed=0
      failed_parts=() times=() log=$folder/$part.log
      "$part" >"$folder/$part.out" 2>&1 </dev/null
      {
        echo "$passed $failed"
        printf 'time %s\n' "${times[@]}"
        (( failed == 0 )) || printf 'part %s\n' "${failed_parts[@]}"
      } >"$folder/$part.counts"
    ) &
  done
  wait
  for part; do
    cat "$folder/$part.out"
    # A part that was killed has no counts.
    if [[ ! -s $folder/$part.counts ]]; then
      failed=$((failed + 1)) failed_parts+=("$part: it ended before its end")
      continue
    fi
    { read -r good bad # lint: whole: good bad
      passed=$((passed + good)) # lint: whole: passed
      failed=$((failed + bad))
      while read -r line; do
        case $line in
          time\ *) times+=("${line#time }") ;;
          part\ *) failed_parts+=("${line#part }") ;;
        esac
      done
    } <"$folder/$part.counts"
  done
  rm -rf "$folder"
}

left_out=()

# Runs a function of this file, unless the minutes of NNET3_TEST_MINUTES are over.
in_time() {
  if (( SECONDS < 60 * minutes )); then "$@"; else left_out+=("$*"); fi
}

# Begins a part.
title() {
  current_part=$* part_began=$SECONDS
  printf '\n== %s\n' "$current_part"
}
# Counts what passed and failed in the part that ends here.
# lint: whole: $1 $2
count() {
  passed=$((passed + $1)) failed=$((failed + $2))
  (( $2 == 0 )) || failed_parts+=("$current_part: $2 failed")
  times+=("$((SECONDS - part_began)) s: $current_part")
}

# The sum of the numbers before WORD in the lines of the log that match PATTERN.
sum_of() { grep -E "$1" "$log" | grep -oE "[0-9]+ $2" | awk '{ sum += $1 } END { print sum + 0 }'; }

# A command that either passes or fails as a whole.
check() {
  title "$1"
  shift
  if "$@"; then count 1 0; else count 0 1; fi
}

# Counts what a test runner has written to the log. A runner that failed without a failed test counts as one.
count_tests() {
  local status=$1 good=$2 bad=$3 # lint: whole: status good bad
  (( status != 0 && bad == 0 )) && bad=1
  if (( status == 0 && good == 0 )); then
    echo "test.sh: no tests were found in this output" >&2
    bad=1
  fi
  count "$good" "$bad"
  # The names, as nextest, libtest, unittest and the scripts write them.
  (( bad == 0 )) || mapfile -t -O "${#failed_parts[@]}" failed_parts < <(
    grep -E '^ *(FAIL|FAILED|TIMEOUT|SIG[A-Z]+|ERROR:) |^(FAIL|test .* FAILED)' "$log" | sort -u | head -n 20 | sed 's/^ */  /')
}

# ---- what is needed -------------------------------------------------------------------------------------------------

links_c_program() { echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null 2>/dev/null; }

target_folder() {
  cargo metadata --no-deps --format-version 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])'
}

# A full disk makes builds and tests fail in ways that say little of the reason.
# lint: whole: $1
has_space() { # <MB> <folder>
  local free # lint: whole: free
  mkdir -p "$2" && free=$(df --output=avail --block-size=1M "$2" | tail -n 1) || return 0
  (( free >= $1 )) || { echo "test.sh: $2 has $((free)) MB of free disk space, $1 MB are needed" >&2; return 1; }
}

has_all_space() {
  local target needed=4000
  target=$(target_folder)
  if [[ -d $target/debug ]]; then needed=1000; elif [[ ${CARGO_INCREMENTAL-} == 0 ]]; then needed=2500; fi
  has_space "$needed" "$target" && has_space 1000 "${TMPDIR:-/tmp}"
}

install() {
  local missing=()
  # The twin of the GPU kernels is C++.
  { links_c_program && command -v c++ >/dev/null; } || missing+=(build-essential)
  # Programs load OpenBLAS when they multiply; one check builds what links it.
  command -v pkg-config >/dev/null || missing+=(pkg-config)
  { command -v pkg-config >/dev/null && pkg-config --exists openblas; } || missing+=(libopenblas-dev)
  command -v python3 >/dev/null || missing+=(python3)
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  command -v pkill >/dev/null || missing+=(procps)
  command -v shellcheck >/dev/null || missing+=(shellcheck)
  scripts/common/install_packages.sh "${missing[@]}" || return 1

  command -v cargo >/dev/null || { echo "test.sh: cargo is missing: install Rust (https://rustup.rs)" >&2; return 1; }
  local tool
  for tool in rustfmt clippy; do
    if ! cargo "${tool/rustfmt/fmt}" --version >/dev/null 2>&1; then
      echo "installing with rustup: $tool"
      rustup component add "$tool" || return 1
    fi
  done
}

venv=tests/interop/.venv

install_python() {
  local wanted=tests/interop/requirements.txt
  cmp -s "$wanted" "$venv/requirements.txt" && "$venv/bin/python" -c 'import kaldi_native_io, kaldiio, numpy' && return
  echo "installing with pip into $venv: $(sed 's/;.*//' "$wanted" | sort -u -t= -k1,1 | paste -sd' ')"
  "$venv/bin/python" -c '' 2>/dev/null || { rm -rf "$venv"; python3 -m venv "$venv" || return 1; }
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted" || return 1
  cp "$wanted" "$venv/requirements.txt"
}

# NVRTC, so that every kernel is compiled, on machines without a GPU too.
nvrtc=tests/nvrtc

install_nvrtc() {
  local wanted=$nvrtc/requirements.txt site
  if [[ $(uname -m) != x86_64 ]]; then
    echo "no NVRTC of this version for $(uname -m): its tests are skipped"
    return
  fi
  if ! cmp -s "$wanted" "$nvrtc/.venv/requirements.txt"; then
    echo "installing with pip into $nvrtc/.venv: $(cat "$wanted")"
    "$nvrtc/.venv/bin/python" -c '' 2>/dev/null || { rm -rf "$nvrtc/.venv"; python3 -m venv "$nvrtc/.venv" || return 1; }
    "$nvrtc/.venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted" || return 1
    cp "$wanted" "$nvrtc/.venv/requirements.txt"
  fi
  site=$("$nvrtc/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  export LD_LIBRARY_PATH=$PWD/${site#"$PWD/"}/nvidia/cuda_nvrtc/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export NNET3_REQUIRE_NVRTC=1
}

# Licences, sources and versions of third-party crates.
check_dependencies() {
  if cargo deny --version >/dev/null 2>&1; then
    check "third-party crates (deny.toml)" cargo deny check licenses bans sources
  else
    title "third-party crates (deny.toml)"
    echo "not checked: cargo-deny is not installed (cargo install --locked cargo-deny)"
  fi
}

# ---- tests ----------------------------------------------------------------------------------------------------------

targets=(--lib --bins --examples --test '*')

# Runs the tests that the arguments select.
rust_tests() {
  title "Rust tests: $*"
  local status
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --color never --no-fail-fast --status-level fail --final-status-level fail \
      "${targets[@]}" "$@" 2>&1 | tee "$log"
    status=$?
    count_tests "$status" "$(sum_of '^ *Summary ' passed)" "$(sum_of '^ *Summary ' '(failed|timed out|exec failed)')"
  else
    cargo test --color never --no-fail-fast "${targets[@]}" "$@" 2>&1 | tee "$log"
    status=$?
    count_tests "$status" "$(sum_of '^test result: ' passed)" "$(sum_of '^test result: ' failed)"
  fi
}

doc_tests() {
  title "Rust tests: examples in the documentation"
  cargo test --color never --workspace --doc --no-fail-fast 2>&1 | tee "$log"
  count_tests $? "$(sum_of '^test result: ' passed)" "$(sum_of '^test result: ' failed)"
}

interop_tests() {
  title "interoperability with kaldi_native_io, kaldiio and bindings of vosk"
  if ! { install_python && cargo build --workspace --lib --bins --examples; }; then
    count 0 1
    return
  fi
  NNET3_BIN="$(target_folder)/debug" "$venv/bin/python" -m unittest discover -s tests/interop 2>&1 | tee "$log"
  local status=$? ran bad skipped # lint: whole: ran bad skipped
  ran=$(grep -oE '^Ran [0-9]+ tests?' "$log" | grep -oE '[0-9]+')
  bad=$(grep -E '^FAILED \(' "$log" | grep -oE '(failures|errors)=[0-9]+' | awk -F= '{ sum += $2 } END { print sum + 0 }')
  skipped=$(grep -E '^(OK|FAILED) \(' "$log" | grep -oE 'skipped=[0-9]+' | cut -d= -f2)
  count_tests "$status" "$(( ${ran:-0} > bad + ${skipped:-0} ? ran - bad - ${skipped:-0} : 0 ))" "$bad"
}

# Scripts: shellcheck, and what it does not look for: values that could be evaluated.
script_checks() {
  local files
  mapfile -t files < <(git ls-files --cached --others --exclude-standard dev scripts egs tests packaging | grep '\.sh$' | grep -v '^tests/lint/')
  check "shellcheck" shellcheck "${files[@]}"
  check "values that scripts could evaluate" dev/lint-shell.py "${files[@]}"
  check "values that scripts could evaluate: a sample" dev/lint-shell.py --expect tests/lint/hostile.sh
  check "comments that begin with a relative word" dev/lint-prose.py
  check "links between documents" dev/lint-links.py
  check "modes of scripts" dev/lint-modes.py
  check "modes of scripts: a sample" dev/lint-modes.py --expect
  check "recipes: options, programs that they call, killed runs, comparisons" python3 -m unittest discover -s tests/recipes
}

# The whole is dev/test-hostile-scripts.sh.
hostile_script_tests() {
  title "scripts with hostile values"
  PATH="$(target_folder)/debug:$PATH" timeout 20m dev/test-hostile-scripts.sh --quick 2>&1 | tee "$log"
  count_tests "${PIPESTATUS[0]}" "$(sum_of '^[0-9]+ passed' passed)" "$(sum_of '^[0-9]+ passed' failed)"
}

training_tests() {
  title "the training driver"
  PATH="$(target_folder)/debug:$PATH" timeout 30m dev/test-train.sh 15 2>&1 | tee "$log"
  local status=${PIPESTATUS[0]} # lint: whole: status
  if (( status == 124 )); then echo "test.sh: the training driver's tests took more than 30 minutes" >&2; fi
  count_tests "$status" "$(sum_of '^[0-9]+ passed' passed)" "$(sum_of '^[0-9]+ passed' failed)"
}

recognizer_tests() {
  title "a recogniser from waves and words"
  PATH="$(target_folder)/debug:$PATH" timeout 30m dev/test-recognizer.sh 2>&1 | tee "$log"
  count_tests "${PIPESTATUS[0]}" "$(sum_of '^[0-9]+ passed' passed)" "$(sum_of '^[0-9]+ passed' failed)"
}

# Packages of the debug build, each in an environment that has nothing else.
package_tests() {
  local part parts=(wheel)
  if command -v dpkg-deb >/dev/null && (( EUID == 0 )); then parts+=(deb); else echo "the Debian package is not tested: only root can"; fi
  for part in "${parts[@]}"; do
    title "packages: $part"
    { dev/package.sh --debug "$part" && dev/package.sh --debug check "$part"; } 2>&1 | tee "$log"
    count_tests "${PIPESTATUS[0]}" "$(sum_of '^[0-9]+ passed, ' passed)" "$(sum_of '^[0-9]+ passed, ' failed)"
  done
}

# The packages with files that differ from the last commit, or that it changed.
changed_packages() {
  local files
  files=$({ git diff --name-only HEAD; git ls-files --others --exclude-standard; } 2>/dev/null)
  [[ -n $files ]] || files=$(git diff --name-only HEAD~1 2>/dev/null)
  sed -nE 's,^crates/([^/]+)/.*,\1,p; s,^(src|tests|build\.rs|Cargo).*,nnet3,p' <<< "$files" | sort -u
}

# `cargo fmt` does not see the programs, since build.rs writes their `mod` lines.
formatted() { cargo fmt --all --check && find src/bin -name '*.rs' -exec rustfmt --edition 2024 --check {} +; }

quick_tests() {
  local package options=()
  for package in $(changed_packages); do options+=(-p "$package"); done
  check "formatting" formatted
  if (( ${#options[@]} == 0 )); then
    echo "no crate differs from the last commit, nor did that change one"
    return
  fi
  check "clippy: ${options[*]}" cargo clippy "${options[@]}" --all-targets -- -D warnings
  rust_tests "${options[@]}"
}

# What tests have not compared for want of figures, by the variable that names them.
report_skipped() {
  [[ -s $NNET3_SKIPPED ]] || return 0
  title "tests that compared less"
  sort -u "$NNET3_SKIPPED" | cut -d ' ' -f 1 | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\1 tests without \2/'
}

if $quick; then
  quick_tests
  report_skipped
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  (( failed == 0 ))
  exit
fi

title "what is needed"
install && has_all_space && install_nvrtc || exit 1
echo "all there"

pure_rust=(--features pure-rust)
check "formatting" formatted
check "clippy" cargo clippy --workspace --all-targets -- -D warnings
check "clippy, without BLAS" cargo clippy -p nnet3-matrix "${pure_rust[@]}" --all-targets -- -D warnings
check "clippy, with BLAS linked" cargo clippy -p nnet3-matrix --features linked-openblas -- -D warnings
# (Comments of internal crates lead their readers to private items, too.)
check "documentation of the libraries" env RUSTDOCFLAGS="-Dwarnings -Arustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --quiet
check "one set of features for all packages" dev/feature-sets.py
check "crates that can be packed" dev/package/crates.sh
check_dependencies
script_checks
rust_tests --workspace
rust_tests -p nnet3-matrix "${pure_rust[@]}"
doc_tests
interop_tests
in_time together hostile_script_tests training_tests recognizer_tests
in_time package_tests
report_skipped
title "seconds of the parts above ten"
printf '%s\n' "${times[@]}" | awk '$1 > 10'
if (( ${#left_out[@]} )); then printf '\n== NOT RUN after %s minutes (NNET3_TEST_MINUTES)\n' "$((SECONDS / 60))"; printf '%s\n' "${left_out[@]}"; fi
if (( failed > 0 )); then printf '\n== FAILED\n'; printf '%s\n' "${failed_parts[@]}"; fi

printf '\n%d passed, %d failed\n' "$passed" "$failed"
(( failed == 0 ))
