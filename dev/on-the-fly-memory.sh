#!/usr/bin/env bash
# Usage: on-the-fly-memory.sh [FRAMES ...]
# Trains on examples that are made while it trains, through a pipe and without a file: nnet3-get-egs | nnet3-shuffle-egs |
# nnet3-merge-egs | nnet3-train, which does the work of the two before it itself. Prints the largest memory of each process
# and the time, for each number of frames (default: 1000000 10000000), and fails if ten times the frames take more than 1.2
# times the memory of either.
# The features are 200,000 synthetic frames that go round through a pipe. Takes the programs from the PATH.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"
plain_usage 0 1000 "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C OPENBLAS_NUM_THREADS=1
(( $# )) || set -- 1000000 10000000
for frames; do number frames whole FRAMES "$frames" 200000 1000000000000; done
plain_name "the folder for temporary files" "${TMPDIR:-/tmp}"
command -v nnet3-train >/dev/null || { echo "on-the-fly-memory.sh: nnet3-train is not on the PATH" >&2; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/on-the-fly.XXXXXX")
trap 'rm -rf "$work"' EXIT
tests/train/toy_data.sh "$work" 200 1000
ali-to-post "ark:$work/ali.ark" "ark,scp:$work/post.ark,$work/post.scp" 2>/dev/null
nnet3-xconfig-to-configs --xconfig-file="$work/tdnn.xconfig" --config-dir="$work/configs" 2>/dev/null
nnet3-init "$work/configs/final.config" "$work/0.raw" 2>/dev/null

# The largest memory of each program in a session, in kB: lines `program memory`.
watch_memory() { # <process that leads it>
  declare -A peak
  local pid name memory
  while kill -0 "$1" 2>/dev/null; do
    for pid in $(pgrep --session "$1" nnet3- || true); do
      name=$(readlink "/proc/$pid/exe" 2>/dev/null) || continue
      name=$(basename "$name")
      memory=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null) || continue
      [[ $memory ]] || continue
      number memory whole "/proc/$pid/status" "$memory"
      if (( memory > ${peak[$name]:-0} )); then peak[$name]=$memory; fi
    done
    sleep 0.1
  done
  for name in "${!peak[@]}"; do echo "$name ${peak[$name]}"; done | sort
}

programs=(nnet3-get-egs nnet3-train)
printf '%12s %10s' frames seconds
printf ' %18s' "${programs[@]}"
printf '   (MB each)\n'
for frames; do
  number frames whole FRAMES "$frames" 200000 1000000000000
  rounds=$((frames / 200000))
  began=$SECONDS
  setsid nnet3-train --use-gpu=no --print-interval=1000 "$work/0.raw" \
    "ark,bg:nnet3-get-egs --num-pdfs=3 --num-frames=20 --left-context=4 --right-context=4 'ark:for i in \$(seq $rounds); do cat $work/feats.ark; done |' scp:$work/post.scp ark:- | nnet3-shuffle-egs --buffer-size=5000 ark:- ark:- | nnet3-merge-egs --minibatch-size=64 ark:- ark:- |" \
    "$work/1.raw" 2>"$work/train.log" &
  pid=$!
  watch_memory $pid >"$work/memory.$frames"
  wait $pid || { tail -n 3 "$work/train.log" >&2; exit 1; }
  grep -o 'Overall average objective function .*' "$work/train.log" >"$work/objective.$frames"
  printf '%12d %10d' "$frames" $((SECONDS - began))
  for program in "${programs[@]}"; do
    printf ' %18.1f' "$(p=$program awk 'BEGIN { p = ENVIRON["p"] } $1 == p { print $2 / 1024 }' "$work/memory.$frames")"
  done
  printf '   %s\n' "$(sed "s/.* is \(.*\)\./\1/" "$work/objective.$frames")"
done
cat "$work"/memory.* | sort -k1,1 -k2,2n | awk '
  $1 != last { low = $2; last = $1 }
  $2 > 1.2 * low { printf "%s takes more memory for more frames: %d kB, %d kB\n", $1, low, $2; bad = 1 }
  END { exit bad }'
