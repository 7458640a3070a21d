#!/usr/bin/env bash
# Usage: benchmark.sh [--check] [--repeats=N] [DIR]
#        benchmark.sh --waiting[=MODEL] [--check] [--repeats=N] [--only=REGEX] [--allow=FACTOR]
# Measures the cases of DIR (default: $NNET3_PERF_DIR), folders with `config` and `request.txt`, with one thread, and prints
# a table: times, and shares of the rate of a 2048 x 2048 matrix product measured in between. Beside them stand the shares to
# reach ("aim"), those of the reference on a machine of its own, and those measured when this table was written ("was",
# with AVX-512, where they are lowest). With --check the status is 1, and a sentence says why, if a share is below three quarters
# of that.
# With --waiting it measures what people wait for (start-up, one utterance, batches and their memory, chunks of streams, training)
# by benches/waiting.py, which says more, on networks of its own or on an acoustic model; with --check the status is 1, and a
# sentence says why, if something takes half as much again, in time or memory, as it did. That takes two to six minutes.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"

top=$(cd "$(dirname "$0")/.." && pwd)
check=false repeats= folder=${NNET3_PERF_DIR:-} waiting=false options=()
for argument; do
  case $argument in
    --check) check=true ;;
    --repeats=*) number repeats whole --repeats "${argument#*=}" 1 1000000 ;;
    --waiting) waiting=true ;;
    --waiting=*) waiting=true options+=("${argument#*=}") ;;
    --only=* | --allow=*) options+=("$argument") ;;
    --help | -h) show_usage; exit 0 ;;
    -*) refuse_option "$argument" 1 "$(show_usage)" ;;
    *) folder=$argument ;;
  esac
done
if $waiting; then
  cargo build --quiet --release --manifest-path "$top/Cargo.toml" --bin nnet3
  options+=(--programs="${CARGO_TARGET_DIR:-$top/target}/release")
  if [[ -n $repeats ]]; then options+=(--repeats="$repeats"); fi
  if $check; then options+=(--check); fi
  exec python3 "$top/benches/waiting.py" "${options[@]}"
fi
(( ${#options[@]} == 0 )) || refuse_usage "${options[0]} goes with --waiting"
if [[ ! -d $folder ]]; then
  echo "benchmark.sh: no folder with cases: give it as argument or in NNET3_PERF_DIR" >&2
  exit 2
fi

# case, then shares of sgemm in percent, forward and backward: aim, reference, was. 0: none.
figures='
tdnn_train      88 88  66 71  89 93
tdnnf_train     80 80  41 46  70 68
lstmp_train     65 70  30 37  62 62
blstm_train     65 75  30 52  66 67
gru_train       65 75  29 64  65 67
xvector_train   80 80  21 36  72 74
cnntdnnf_train  95 101 48 51  74 75
tdnnf_infer     75 0   41 0   62 0
lstmp_infer     30 0   8  0   28 0
'

binary=${NNET3_BENCHMARK:-}
if [[ -z $binary ]]; then
  cargo build --quiet --release --manifest-path "$top/Cargo.toml" --bin nnet3
  binary=${CARGO_TARGET_DIR:-$top/target}/release/nnet3-benchmark
fi

field() { sed -nE "s/.*\"$1\": ([0-9.]+).*/\1/p" <<<"$json"; }

status=0
complaints=()
format='%-15s %7s %7s %15s %15s %9s %9s %9s %9s %8s %8s %8s\n'
# shellcheck disable=SC2059
printf "$format" case sgemm GFLOP seconds 'of sgemm, %' aim reference was commands 'peak MB' 'compile' ''
# shellcheck disable=SC2059
printf "$format" '' GFLOP/s fwd 'fwd / bwd' 'fwd / bwd' fwd/bwd fwd/bwd fwd/bwd '' '' ms ''
while read -r name aim_f aim_b ref_f ref_b was_f was_b; do
  [[ -n $name && -d $folder/$name ]] || continue
  json=$("$binary" --repeats="${repeats:-5}" "$folder/$name/config" "$folder/$name/request.txt" 2>/dev/null)
  forward=$(field percent_of_sgemm_forward) backward=$(field percent_of_sgemm_backward)
  verdict=$(f="$forward" b="$backward" wf="$was_f" wb="$was_b" backward_counts="$aim_b" awk 'BEGIN {
    f = ENVIRON["f"]; b = ENVIRON["b"]; wf = ENVIRON["wf"]; wb = ENVIRON["wb"]; backward_counts = ENVIRON["backward_counts"]
    print (f < 0.75 * wf || (backward_counts && b < 0.75 * wb)) ? "SLOW" : "" }')
  if [[ -n $verdict ]]; then
    status=1
    complaints+=("$name reaches $forward / $backward % of sgemm, where three quarters of $was_f / $was_b % are expected")
  fi
  # shellcheck disable=SC2059
  printf "$format" "$name" "$(field sgemm_gflops | cut -d. -f1)" "$(printf %.2f "$(field gemm_gflop_forward)")" \
    "$(printf '%.4f / %.4f' "$(field forward_s)" "$(field backward_s)")" \
    "$(printf '%.1f / %.1f' "$forward" "$backward")" "$aim_f/$aim_b" "$ref_f/$ref_b" "$was_f/$was_b" \
    "$(field commands)" "$(b="$(field peak_bytes)" awk 'BEGIN { b = ENVIRON["b"]; printf "%.1f", b / 1e6 }')" \
    "$(printf %.2f "$(field compile_ms)")" "$verdict"
done <<<"$figures"
if $check; then
  for complaint in "${complaints[@]}"; do echo "benchmark.sh: $complaint" >&2; done
  exit $status
fi
