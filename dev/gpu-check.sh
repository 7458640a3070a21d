#!/usr/bin/env bash
# Usage: gpu-check.sh [build] [run [GROUP ...]]
# Checks and measures the programs on a machine with a GPU. `build` packs all that is needed into target/gpu-check.tar.gz
# (programs without BLAS, cases, data), so that `run` needs no compiler; without an argument both are done. `run` unpacks the
# archive beside itself if need be and does the groups that are named, or all: probe suite cases train rates bench
# sanitize pytorch. Each line of the table appears when its step ends, and at once in $OUT/table.txt ($OUT, or target/gpu-check/out);
# logs are in one archive there. The status is 1 if something failed.
#
#   NNET3_CONFORMANCE_DIR  more cases than those in tests/data/conformance (build)
#   NNET3_PERF_DIR         networks with requests to measure (build)
#   GPU_CHECK_DIR          the kit's folder (target/gpu-check)
#   GPU_CHECK_SANITIZE     seconds that each sanitizer may take (80)
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/folders.sh"
plain_usage 0 20 "$@"

top=$(cd "$(dirname "$0")/.." && pwd)
kit=${GPU_CHECK_DIR:-$top/target/gpu-check}
[[ $kit == /* ]] || kit=$PWD/$kit
number sanitize_seconds whole GPU_CHECK_SANITIZE "${GPU_CHECK_SANITIZE:-80}" 1 100000
all_groups=(probe suite cases train rates bench sanitize pytorch)

# The executable of a test or an example, of cargo's messages on the input: KIND NAME.
executable() {
  python3 -c 'import json, sys
for line in sys.stdin:
    message = json.loads(line)
    target = message.get("target", {})
    if message.get("executable") and target["kind"] == [sys.argv[1]] and target["name"] == sys.argv[2]:
        print(message["executable"])' "$@"
}

build() {
  cd "$top" || return 1
  local flags=(--release --features pure-rust --message-format=json) name sequences path
  claim_folder "$kit" gpu-check.sh
  rm -rf "${kit:?}"/* && mkdir -p "$kit/bin" "$kit/cases" "$kit/perf" || return 1
  path=$(cargo build "${flags[@]}" --bin nnet3 | executable bin nnet3) && cp "$path" "$kit/bin/nnet3" || return 1
  path=$(cargo build "${flags[@]}" --example conformance | executable example conformance) &&
    cp "$path" "$kit/bin/conformance" || return 1
  path=$(cargo build "${flags[@]}" -p nnet3-matrix --example gpu_rates | executable example gpu_rates) &&
    cp "$path" "$kit/bin/gpu_rates" || return 1
  path=$(cargo test "${flags[@]}" -p nnet3-matrix --test cuda --no-run | executable test cuda) &&
    cp "$path" "$kit/bin/suite" || return 1
  flags=(--release --features nnet3-matrix/pure-rust --message-format=json) # nnet3-train has no such feature of its own
  path=$(cargo test "${flags[@]}" -p nnet3-train --test cuda --no-run | executable test cuda) &&
    cp "$path" "$kit/bin/training" || return 1
  strip "$kit"/bin/* 2>/dev/null
  for name in nnet3-train nnet3-benchmark cuda-gpu-available; do ln -s nnet3 "$kit/bin/$name"; done
  cp -r tests/data/conformance "$kit/cases/shipped"
  [[ -z ${NNET3_CONFORMANCE_DIR:-} ]] || cp -rL "$NNET3_CONFORMANCE_DIR" "$kit/cases/full"
  cp -r crates/nnet3-train/tests/data "$kit/training"
  for name in tdnnf_train lstmp_train; do
    [[ -d ${NNET3_PERF_DIR:-/nowhere}/$name ]] || continue
    for sequences in 128 512; do
      mkdir -p "$kit/perf/$name-$sequences"
      cp "$NNET3_PERF_DIR/$name/config" "$kit/perf/$name-$sequences/network.config"
      python3 dev/scale-request.py "$NNET3_PERF_DIR/$name/request.txt" "$sequences" \
        >"$kit/perf/$name-$sequences/request.txt" || return 1
    done
  done
  cp benches/pytorch_compare.py "$kit/"
  tar -C "$(dirname "$kit")" -czf "$kit.tar.gz" "$(basename "$kit")" && du -h "$kit.tar.gz"
}

# Folders of CUDA libraries: those of Python packages, and the toolkit's.
libraries() {
  python3 - <<'PYTHON' 2>/dev/null
import glob, site
for folder in [*site.getsitepackages(), site.getusersitepackages()]:
    print("\n".join(glob.glob(folder + "/nvidia/*/lib")))
PYTHON
  ls -d /usr/local/cuda/lib64 2>/dev/null
}

failed=0
line() { # TITLE, STATUS, SECONDS, TEXT
  printf '%-34s %-7s %4d s  %s\n' "$@" | tee -a "$out/table.txt"
}
# A line of the table: passes or fails as the command does, which may take so many seconds. Its output goes to a log, what
# `summary` makes of it into the table. Programs see CUDA's libraries.
check() { # TITLE, LIMIT, COMMAND ...
  local title=$1 limit=$2 log="$out/logs/${1//[^a-z0-9]/-}.log" started=$SECONDS status
  shift 2
  LD_LIBRARY_PATH=$cuda_libraries timeout -k 5 "$limit" "$@" >"$log" 2>&1
  status=$?
  if (( status == 0 )); then
    line "$title" ok $((SECONDS - started)) "$(summary "$log")"
  else
    failed=1
    line "$title" "FAILED" $((SECONDS - started)) "status $status: $(reason "$log")"
    grep -aE 'panicked|ERROR|FAILED|CUDA|error' -A2 "$log" | head -n 25
  fi
  return "$status"
}
# True if the programs can use a GPU.
has_gpu() { LD_LIBRARY_PATH=$cuda_libraries "$kit/bin/cuda-gpu-available" >/dev/null 2>&1; }
skipped() { line "$1" skipped 0 "$2"; }

# The fields of a benchmark that matter, else the last line.
summary() {
  python3 - "$1" <<'PYTHON'
import json, sys
lines = [line.strip() for line in open(sys.argv[1], errors="replace") if line.strip()]
text = "".join(lines)
try:
    fields = json.loads(text[text.index("{"):text.rindex("}") + 1])
    print(", ".join(f"{k} {v}" for k, v in fields.items() if isinstance(v, (int, float)))[:400])
except ValueError:
    print(lines[-1][:160] if lines else "")
PYTHON
}

# The reason of a failure, from a log: the message of the first panic, if there is one, and the last line without the names of
# programs and options.
reason() {
  python3 - "$1" <<'PYTHON'
import re, sys
lines = [line.strip() for line in open(sys.argv[1], errors="replace") if line.strip()]
panics = [after for line, after in zip(lines, lines[1:]) if "panicked at" in line]
last = re.sub(r"^ERROR \(\S* ?\S*\) |--use-gpu=\S+: no GPU can be used \(.*?\): ", "", lines[-1]) if lines else ""
print("; ".join(panics[:1] + [last])[:200])
PYTHON
}

probe() {
  nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader 2>/dev/null ||
    echo "nvidia-smi does not run: no driver, or no device"
  PATH=$PATH:/sbin ldconfig -p | grep -E 'libcuda\.so|libcublas(Lt)?\.so|libnvrtc\.so'
  echo "libraries: $cuda_libraries"
  command -v nvcc compute-sanitizer ncu python3
  local links="$out/only-cublas" folder way
  mkdir -p "$links"
  for folder in ${cuda_libraries//:/ }; do ln -sf "$folder"/libcublas*.so* "$links/" 2>/dev/null; done
  export XDG_CACHE_HOME=$out/cache
  rm -rf "$XDG_CACHE_HOME"
  for way in NVRTC cache; do check "load by $way" 60 "$kit/bin/cuda-gpu-available"; done
  rm -rf "$XDG_CACHE_HOME"
  cuda_libraries=$links check "load by PTX" 60 "$kit/bin/cuda-gpu-available"
  check "load for the rest" 60 "$kit/bin/cuda-gpu-available"
  rm -rf "$links"
}

suite() {
  NNET3_GPU_DEBUG=no-lt check "products without cuBLASLt" 60 "$kit/bin/suite" --test-threads=1 primitive::gemm \
    the_same_bytes_each_time
  check "suite" 150 "$kit/bin/suite" --test-threads=1 && return
  has_gpu || return
  # A context is of no use after a fault: one process for each test says which fail by themselves.
  local test
  "$kit/bin/suite" --list 2>/dev/null | sed -n 's/: test$//p' | while read -r test; do
    LD_LIBRARY_PATH=$cuda_libraries CUDA_LAUNCH_BLOCKING=1 timeout 20 "$kit/bin/suite" --exact "$test" \
      >"$out/logs/one.log" 2>&1 || { echo "  alone: $test fails"; grep -a -A2 panicked "$out/logs/one.log" | head -n 4; }
  done
  NNET3_GPU_DEBUG=no-graphs check "suite without graphs" 150 "$kit/bin/suite" --test-threads=1
}

cases() {
  local folder math
  for math in fp32 tf32 bf16; do
    for folder in "$kit"/cases/*; do
      check "cases ${folder##*/} $math" 150 "$kit/bin/conformance" --use-gpu=yes --gpu-math=$math "$folder"
    done
  done
}

train() {
  local network
  NNET3_TEST_DATA=$kit/training check "training as the reference" 100 "$kit/bin/training" --test-threads=1
  for network in ff lstm; do
    check "same bytes $network" 60 bash -c '
      for run in a b; do
        "$0/bin/nnet3-train" --use-gpu=yes --srand=1 --print-interval=2 "$0/training/$1.initial.raw" \
          "ark:$0/training/minibatches.egs" "$2/$1.$run.raw" || exit
      done
      cmp "$2/$1.a.raw" "$2/$1.b.raw" && rm "$2/$1.a.raw" "$2/$1.b.raw" && echo "two runs, the same bytes"' \
      "$kit" "$network" "$out"
  done
}

# What kernels and products reach by themselves.
rates() {
  check "rates" 90 "$kit/bin/gpu_rates" && cat "$out/logs/rates.log"
}

bench() {
  local case math
  for case in "$kit"/perf/*; do
    [[ -f $case/request.txt ]] || { skipped "benchmark" "NNET3_PERF_DIR was not set at build"; continue; }
    for math in fp32 tf32; do
      NNET3_GPU_DEBUG=no-lt check "bench ${case##*/} $math no-lt" 60 "$kit/bin/nnet3-benchmark" --use-gpu=yes \
        --gpu-math=$math "$case/network.config" "$case/request.txt"
    done
    for math in fp32 tf32 bf16; do
      check "bench ${case##*/} $math" 60 "$kit/bin/nnet3-benchmark" --use-gpu=yes --gpu-math=$math \
        "$case/network.config" "$case/request.txt"
    done
    check "bench ${case##*/} natural" 60 "$kit/bin/nnet3-benchmark" --use-gpu=yes --natural-gradient=true \
      "$case/network.config" "$case/request.txt"
  done
}

sanitize() {
  command -v compute-sanitizer >/dev/null || PATH=$PATH:/usr/local/cuda/bin
  command -v compute-sanitizer >/dev/null || { skipped "sanitize" "compute-sanitizer was not found"; return; }
  local kernels=(primitive::col_dots primitive::row_sums primitive::softmax primitive::lstm_cell_backward
    primitive::copy_transposed primitive::sum primitive::col_sums_and_dots primitive::low_rank_update primitive::hmm) tool
  for tool in memcheck racecheck synccheck; do
    NNET3_GPU_DEBUG=no-graphs check "$tool" "$sanitize_seconds" compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$kit/bin/suite" --test-threads=1 "${kernels[@]}"
  done
}

pytorch() {
  local python
  python=$(command -v python3) || { skipped "pytorch" "python3 was not found"; return; }
  cuda_libraries=${LD_LIBRARY_PATH:-} check "pytorch eager" 100 "$python" "$kit/pytorch_compare.py" --eager-only
  cat "$out/logs/pytorch-eager.log"
  cuda_libraries=${LD_LIBRARY_PATH:-} check "pytorch compiled" 420 "$python" -u "$kit/pytorch_compare.py" --compiled-only \
    --sequences 128 --math fp32 tf32
  cat "$out/logs/pytorch-compiled.log"
}

run() {
  [[ -d $kit/bin ]] || { mkdir -p "$(dirname "$kit")" && tar -C "$(dirname "$kit")" -xzf "$kit.tar.gz"; } || return 1
  out=${OUT:-$kit/out}
  claim_folder "$out" gpu-check.sh
  mkdir -p "$out/logs" && : >"$out/table.txt" || return 1
  cuda_libraries="$(libraries | paste -sd:)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export NNET3_REQUIRE_GPU=1 XDG_CACHE_HOME=$kit/cache
  local group
  for group in "$@"; do "$group"; done
  printf '\n'
  cat "$out/table.txt"
  tar -C "$out" -czf "$out/logs.tar.gz" logs && rm -rf "$out/logs" "$out/cache"
  return "$failed"
}

known() {
  local group
  for group in "$@"; do
    [[ " ${all_groups[*]} " == *" $group "* ]] ||
      { echo "gpu-check.sh: expected a group of (${all_groups[*]}), found '$group'" >&2; exit 2; }
  done
}

case ${1:-both} in
  build) [[ ${2:-run} == run ]] || { echo "gpu-check.sh: expected run after build, found '$2'" >&2; exit 2; }
    known "${@:3}"
    build || exit
    (( $# == 1 )) || { shift 2; run "${@:-${all_groups[@]}}"; } ;;
  run) shift; [[ ${1:-all} == all && $# == [01] ]] && set -- "${all_groups[@]}"; known "$@"; run "$@" ;;
  both) build && run "${all_groups[@]}" ;;
  *) echo "gpu-check.sh: expected build, run or nothing, found '$1'" >&2; exit 2 ;;
esac
