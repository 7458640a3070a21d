#!/usr/bin/env bash
# Usage: chain-figures.sh [DIR]
# Trains, evaluates and combines chain models as the reference did for the figures in DIR (default: NNET3_CHAIN_DIR; the README
# there says what is in it), and prints for each figure: expected, ours, their ratio or difference, and what is allowed. Ends
# with the line `N figures agree, N do not`. Takes the programs from the PATH, or builds them.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
plain_usage 0 1 "$@"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C OPENBLAS_NUM_THREADS=1

from=${1:-${NNET3_CHAIN_DIR-}}
[[ -d $from/training && -d $from/lang ]] ||
  { echo "chain-figures.sh: give the folder with the reference's figures" >&2; exit 1; }
from=$(cd "$from" && pwd)
source "$top/dev/figures.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/chain-figures.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -r "$from"/{lang,supervision,training} "$work"
chmod -R u+w "$work"
mkdir -p "$work/training/ours"
cd "$work/training" || exit 1

# What a run may differ by, relatively: the objective of its first minibatch, all other objectives, parameters.
tolerances() { # <run>
  case $1 in
    tdnnf-short*) echo 1e-5 0.01 - ;; # a constraint is applied on minibatches drawn at random
    tdnnf-*) echo 0.02 0.02 - ;;
    *-short1) echo 1e-5 1e-5 1e-4 ;;
    *-short2) echo 1e-5 1e-5 5e-4 ;;
    *-short5) echo 1e-5 1e-4 5e-3 ;;
    multi-*) echo 1e-5 1e-4 5e-3 ;;
    *) echo 1e-3 1e-3 1e-2 ;;
  esac
}

# Names of outputs, and what was said of them: `NAME RANGE OBJECTIVE`, with the range `all` for the whole run.
objectives() { # <log>
  sed -n -e "s/.*Average objective function for '\([^ ']*\)' for minibatches \([0-9-]*\) is \([^ ]*\) .*/\1 \2 \3/p" \
    -e "s/.*Overall average objective function for '\([^ ']*\)' is \([^ ]*\) .*/\1 all \2/p" "$1"
}

# ---- training -------------------------------------------------------------------------------------------------------
for cmd in *-*.cmd; do
  name=${cmd%.cmd}
  grep -q '^nnet3-chain-train' "$cmd" || continue
  run_as "$cmd" "s| \([^ ]*\)\.raw\$| ours/$name.raw|" 2>"ours/$name.log" ||
    echo "chain-figures.sh: $name failed: $(tail -n 1 "ours/$name.log")" >&2
  read -r first others parameters < <(tolerances "$name")
  while read -r output range expected; do
    # Where outputs take turns the reference counts phases differently.
    [[ $name != multi-* || $range == all ]] || continue
    allowed=$others
    [[ $range != 0-0 ]] || allowed=$first
    found=$(objectives "ours/$name.log" | o="$output" r="$range" awk 'BEGIN { o = ENVIRON["o"]; r = ENVIRON["r"] } $1 == o && $2 == r { print $3 }')
    ratio "$name: $output, minibatches $range" "$expected" "$found" "$allowed"
  done < <(objectives "$name.log")
  if [[ $parameters != - && -f $name.raw ]]; then compare_models "$name:" "$name.raw" "ours/$name.raw" "$parameters"; fi
done
# (Which minibatches count in the statistics of activations is drawn at random.)
for network in tdnn lstm; do
  compare_models "$network, seeds 1 and 2:" "ours/$network-default.raw" "ours/$network-srand2.raw" 0
done

# ---- diagnostics ----------------------------------------------------------------------------------------------------
# `NAME OBJECTIVE WEIGHT` of each output, and `NAME+ TERM WEIGHT` where there is an auxiliary term.
probabilities() { # <log>
  sed -n "s/.*Overall log-probability for '\([^']*\)' is \(.*\) per frame, over \([0-9.e+]*\) frames.*/\1 \3 \2/p" "$1" |
    awk '{ print $1, $3, $2; if (NF > 3) print $1 "+", $5, $2 }'
}

for cmd in prob*.cmd; do
  name=${cmd%.cmd}
  run_as "$cmd" '' 2>"ours/$name.log"
  while read -r output expected weight; do
    read -r _ found our_weight < <(probabilities "ours/$name.log" | o="$output" awk 'BEGIN { o = ENVIRON["o"] } $1 == o')
    ratio "$name: $output" "$expected" "${found-}" 1e-4
    ratio "$name: $output, frames" "$weight" "${our_weight-}" 0
  done < <(probabilities "$name.log")
done

# ---- combination ----------------------------------------------------------------------------------------------------
for cmd in *combine*.cmd; do
  name=${cmd%.cmd}
  run_as "$cmd" "s| \([^ ]*\)\.raw\$| ours/$name.raw|" 2>"ours/$name.log"
  compare_numbers "$name: last model" 'using the last model is ' "$name.log" "ours/$name.log" 1e-3
  while read -r models; do
    text="Combining last $models models, objective function is "
    compare_numbers "$name: $models models" "$text" "$name.log" "ours/$name.log" 1e-3
  done < <(sed -n 's/.*Combining last \([0-9]*\) models.*/\1/p' "$name.log")
  compare_numbers "$name: number of models" 'Combining ' <(grep nnets, "$name.log") <(grep nnets, "ours/$name.log") 0
  changed_to='s/.*Combining .* nnets, objective function changed from .* to \([^ ]*\)$/\1/p'
  ratio "$name: objective of the result" "$(sed -n "$changed_to" "$name.log")" "$(sed -n "$changed_to" "ours/$name.log")" 1e-3
  while read -r output expected _; do
    read -r _ found _ < <(probabilities "ours/$name.log" | o="$output" awk 'BEGIN { o = ENVIRON["o"] } $1 == o')
    ratio "$name: $output while statistics are recomputed" "$expected" "${found-}" 1e-3
  done < <(probabilities "$name.log" | grep -v +)
  if [[ -f $name.raw ]]; then compare_models "$name:" "$name.raw" "ours/$name.raw" 1e-5; fi
done

# ---- forward passes and posteriors ----------------------------------------------------------------------------------
for cmd in compute.*.cmd post*.cmd; do
  name=${cmd%.cmd}
  run_as "$cmd" "s|ark:$name.ark|ark:ours/$name.ark|" 2>"ours/$name.log"
  compare_tables "$name" "$name.ark" "ours/$name.ark" 1e-4
  [[ $name != post* ]] ||
    compare_numbers "$name: log-probability" 'per (output) frame was ' "$name.log" "ours/$name.log" 1e-4
done

# ---- statistics -----------------------------------------------------------------------------------------------------
numbers_of() { sum-lda-accs --binary=false - "$1" 2>>ours/norm.log | tr ' ' '\n' | grep -E '^[-+]?[0-9]'; }

for cmd in lda-stats*.cmd; do
  name=${cmd%.cmd}
  run_as "$cmd" "s| $name.acc\$| ours/$name.acc|" 2>"ours/$name.log"
  compare_numbers "$name: count" 'soft frame count = ' "$name.log" "ours/$name.log" 1e-5
  difference=$(paste <(numbers_of "$name.acc") <(numbers_of "ours/$name.acc") |
    awk '{ d += ($1 - $2) ^ 2; s += $1 ^ 2 } END { printf "%.3g", s > 0 ? sqrt(d / s) : 1 }')
  verdict "$name: relative difference" 0 "$difference" "$difference" 1e-5 "$(d="$difference" awk 'BEGIN { d = ENVIRON["d"]; print d <= 1e-5 }')"
done

summary
