#!/usr/bin/env bash
# Usage: gpu-check.sh [build|run]
# Checks and measures the programs on a machine with a GPU. `build` puts all that is needed into target/gpu-check (programs
# without BLAS, cases, data), so that `run` needs no compiler; without an argument both are done. Full logs go to $OUT, or to
# target/gpu-check/out. Ends with a table; the status is 1 if something failed.
#
#   NNET3_CONFORMANCE_DIR  more cases than those in tests/data/conformance (build)
#   NNET3_PERF_DIR         networks with requests to measure (build)
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
plain_usage 0 1 "$@"

top=$(cd "$(dirname "$0")/.." && pwd)
kit=${GPU_CHECK_DIR:-$top/target/gpu-check}
programs=(nnet3-train nnet3-compute-request nnet3-copy)

build() {
  cd "$top" || return 1
  local flags=(--release --no-default-features --features pure-rust) name sequences
  [[ -f src/bin/nnet3-benchmark.rs ]] && programs+=(nnet3-benchmark)
  cargo build "${flags[@]}" --bin nnet3 --example conformance || return 1
  local target suite
  target=$(cargo metadata --no-deps --format-version 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
  suite=$(cargo test "${flags[@]}" -p nnet3-matrix --test cuda --no-run --message-format=json |
    python3 -c 'import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["target"]["name"] == "cuda":
        print(message["executable"])') || return 1
  rm -rf "$kit" && mkdir -p "$kit/bin" "$kit/cases" "$kit/perf" || return 1
  cp "$suite" "$kit/bin/suite"
  for name in "${programs[@]}"; do cp "$target/release/$name" "$kit/bin/"; done
  cp "$target/release/examples/conformance" "$kit/bin/"
  strip "$kit"/bin/* 2>/dev/null
  cp -r tests/data/conformance "$kit/cases/shipped"
  [[ -z ${NNET3_CONFORMANCE_DIR:-} ]] || cp -rL "$NNET3_CONFORMANCE_DIR" "$kit/cases/full"
  cp -r crates/nnet3-train/tests/data "$kit/training"
  for name in tdnnf_train lstmp_train; do
    [[ -d ${NNET3_PERF_DIR:-/nowhere}/$name ]] || continue
    for sequences in 128 512; do
      mkdir -p "$kit/perf/$name-$sequences"
      cp "$NNET3_PERF_DIR/$name/config" "$kit/perf/$name-$sequences/network.config"
      python3 scripts/scale-request.py "$NNET3_PERF_DIR/$name/request.txt" "$sequences" \
        >"$kit/perf/$name-$sequences/request.txt" || return 1
    done
  done
  [[ -f benches/pytorch_compare.py ]] && cp benches/pytorch_compare.py "$kit/"
  du -sh "$kit"
}

# Folders of CUDA libraries: the toolkit's, and those of Python packages.
libraries() {
  ls -d /usr/local/cuda/lib64 2>/dev/null
  python3 - <<'PYTHON' 2>/dev/null
import glob, site
for folder in [*site.getsitepackages(), site.getusersitepackages()]:
    print("\n".join(glob.glob(folder + "/nvidia/*/lib")))
PYTHON
}

failed=0
table=()
# A line of the table: passes or fails as the command does. Its output goes to a log, the last line into the table.
check() {
  local title=$1 log="$out/${1//[^a-z0-9]/-}.log" started=$SECONDS status
  shift
  "$@" >"$log" 2>&1
  status=$?
  (( status == 0 )) || { failed=1; echo "== $title failed ($status)"; tail -n 15 "$log"; }
  table+=("$(printf '%-28s %-6s %4d s  %s' "$title" "$( ((status == 0)) && echo ok || echo FAILED)" \
    $((SECONDS - started)) "$(grep -v '^ *$' "$log" | tail -n 1 | cut -c1-110)")")
}

train() { # SEED, NETWORK, OUTPUT, further options
  local seed=$1 network=$2 to=$3
  shift 3
  "$kit/bin/nnet3-train" --srand="$seed" --print-interval=2 "$@" "$kit/training/$network.initial.raw" \
    "ark:$kit/training/minibatches.egs" "$to"
}

same_bytes() { # NETWORK
  train 1 "$1" "$out/$1.a.raw" --use-gpu=yes && train 1 "$1" "$out/$1.b.raw" --use-gpu=yes &&
    cmp "$out/$1.a.raw" "$out/$1.b.raw" && echo "$1: two runs, the same bytes"
}

run() {
  out=${OUT:-$kit/out}
  mkdir -p "$out"
  LD_LIBRARY_PATH="$(libraries | paste -sd:)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export LD_LIBRARY_PATH NNET3_REQUIRE_GPU=1
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  local case
  check "suite" "$kit/bin/suite" --test-threads=1
  if command -v compute-sanitizer >/dev/null; then
    local kernels=(primitive::col_dots primitive::row_sums primitive::softmax primitive::lstm_cell_backward
      primitive::copy_transposed primitive::sum primitive::col_sums_and_dots primitive::low_rank_update)
    for case in memcheck racecheck; do
      check "$case" timeout 150 compute-sanitizer --tool "$case" --error-exitcode 9 "$kit/bin/suite" \
        --test-threads=1 "${kernels[@]}"
    done
  fi
  for case in "$kit"/cases/*; do
    check "conformance ${case##*/} fp32" "$kit/bin/conformance" --use-gpu=yes "$case"
  done
  check "training ff" same_bytes ff
  check "training lstm" same_bytes lstm
  if [[ -x $kit/bin/nnet3-benchmark ]]; then
    for case in "$kit"/perf/*; do
      [[ -f $case/request.txt ]] || continue
      check "benchmark ${case##*/}" "$kit/bin/nnet3-benchmark" --use-gpu=yes "$case/network.config" "$case/request.txt"
    done
  fi
  if [[ -f $kit/pytorch_compare.py ]]; then
    check "pytorch" python3 "$kit/pytorch_compare.py"
  fi
  local math
  for math in tf32 bf16; do
    check "conformance shipped $math" "$kit/bin/conformance" --use-gpu=yes --gpu-math=$math "$kit/cases/shipped"
  done
  printf '\n'
  printf '%s\n' "${table[@]}" | tee "$out/table.txt"
  return "$failed"
}

case ${1:-both} in
  build) build ;;
  run) run ;;
  both) build && run ;;
  *) echo "gpu-check.sh: expected build, run or nothing, found '$1'" >&2; exit 2 ;;
esac
