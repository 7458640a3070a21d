#!/usr/bin/env bash
# Usage: training-figures.sh [DIR]
# Runs our programs as the reference's were run for the figures in DIR (default: NNET3_TRAINING_DIR; the README there says
# what is in it), and prints for each figure: expected, ours, their ratio or difference, and what is allowed. Ends with the
# line `N figures agree, N do not`. Takes the programs from the PATH, or builds them.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
plain_usage 0 1 "$@"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C OPENBLAS_NUM_THREADS=1

from=${1:-${NNET3_TRAINING_DIR-}}
[[ -d $from/expected ]] || { echo "training-figures.sh: give the folder with the reference's figures" >&2; exit 1; }
from=$(cd "$from" && pwd)
source "$top/dev/figures.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/training-figures.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -r "$from"/. "$work"
mkdir -p "$work/ours"
cd "$work" || exit 1

# ---- training -------------------------------------------------------------------------------------------------------
# The reference's random numbers cannot be had by --srand alone: its compiler draws some for self-checks before training
# begins. So a run here is one with another seed, and is compared like that: an expected figure has to be within the allowed
# part of one of our runs with ten seeds, or between two of them; parameters must be no farther from the expected ones than
# our runs are from each other. (crates/nnet3-train/tests/it/reference.rs starts from the same place in the sequence, and is as
# close as the reference is to itself with another BLAS.)
seeds=(1 2 3 4 5 6 7 8 9 10)

among() { # <name> <expected> <relative difference> <figure with seed 1> <with seed 2> …
  local shown good
  read -r shown good < <(a="$2" t="$3" all="${*:4}" awk 'BEGIN { a = ENVIRON["a"]; t = ENVIRON["t"]; all = ENVIRON["all"];
    n = split(all, f, " "); low = high = f[1]
    for (i = 2; i <= n; i++) { if (f[i] < low) low = f[i]; if (f[i] > high) high = f[i] }
    margin = t * (a < 0 ? -a : a)
    printf "%.6f %d\n", a ? f[1] / a : 0, n == 10 && low - margin <= a && a <= high + margin }')
  verdict "$1" "$2" "$4" "$shown" "$(t="$3" awk 'BEGIN { t = ENVIRON["t"]; printf "+-%g %%|seeds", 100 * t }')" "$good"
}

of_seeds() { # <program of sed> <name>: a figure of each of our logs
  local seed
  for seed in "${seeds[@]}"; do sed -n "$1" "ours/$2.$seed.log" | head -n 1; done
}

# shellcheck disable=SC2028 # for sed
phase_at() { echo "s/.*for minibatches $1 is \([^ ]*\) over.*/\1/p"; }
total="s/.*Overall average objective function for 'output' is \([^ ]*\) over.*/\1/p"
likelihood="s/.*Overall log-likelihood for 'output' is \([^ ]*\) per frame.*/\1/p"
minibatches='ark:nnet3-merge-egs --minibatch-size=64 ark:train.egs ark:- |'

for cmd in expected/*.cmd; do
  name=$(basename "$cmd" .cmd)
  allowed=0.01
  [[ $name != tdnnf-* ]] || allowed=0.05 # a constraint is applied on minibatches drawn at random
  for seed in "${seeds[@]}"; do
    run_as "$cmd" "s| \([^ ]*\)\.raw\$| ours/\1.$seed.raw|; s|--srand=1 |--srand=$seed |" 2>"ours/$name.$seed.log" ||
      echo "training-figures.sh: $name failed: $(tail -n 1 "ours/$name.$seed.log")" >&2
    nnet3-compute-prob "ours/$name.$seed.raw" "$minibatches" 2>"ours/$name.prob.$seed.log"
  done
  while read -r range; do
    # shellcheck disable=SC2046 # a word for each seed
    among "$name: objective of minibatches $range" "$(sed -n "$(phase_at "$range")" "expected/$name.log")" $allowed \
      $(of_seeds "$(phase_at "$range")" "$name")
  done < <(sed -n "s/.*function for 'output' for minibatches \([0-9-]*\) is .*/\1/p" "expected/$name.log")
  # shellcheck disable=SC2046 # a word for each seed
  among "$name: objective" "$(sed -n "$total" "expected/$name.log")" $allowed $(of_seeds "$total" "$name")
  # shellcheck disable=SC2046 # a word for each seed
  among "$name: log-likelihood of the model" "$(sed -n "$likelihood" "expected/$name.prob")" $allowed \
    $(of_seeds "$likelihood" "$name.prob")
  nnet3-compute-prob "expected/$name.raw" "$minibatches" 2>"ours/$name.prob.log"
  ratio "$name: nnet3-compute-prob of the reference's model" "$(sed -n "$likelihood" "expected/$name.prob")" \
    "$(sed -n "$likelihood" "ours/$name.prob.log")" 1e-5
  for seed in "${seeds[@]:1}"; do
    nnet3-show-progress --use-gpu=no "ours/$name.1.raw" "ours/$name.$seed.raw" 2>>"ours/$name.seeds.log"
  done
  nnet3-show-progress --use-gpu=no "expected/$name.raw" "ours/$name.1.raw" 2>"ours/difference.log"
  while read -r item; do
    spread=$(list_of 'Relative parameter differences per layer are' "ours/$name.seeds.log" | sed -n "s/^${item%:*}://p" |
      sort -g | tail -n 1)
    verdict "$name, ${item%:*}: relative difference" 0 "${item##*:}" "${item##*:}" "2 %|$spread" \
      "$(d="${item##*:}" s="$spread" awk 'BEGIN { d = ENVIRON["d"]; s = ENVIRON["s"]; print d <= 0.02 || d <= 1.25 * s }')"
  done < <(list_of 'Relative parameter differences per layer are' ours/difference.log)
done

# ---- averaging, progress, combination -------------------------------------------------------------------------------
three=(expected/tdnn-default.raw expected/tdnn-momentum.raw expected/tdnn-maxchange.raw)
nnet3-average "${three[@]}" ours/average.raw 2>ours/average.log
compare_models "nnet3-average:" expected/average.raw ours/average.raw 1e-5
nnet3-average --weights=0.5:0.3:0.2 "${three[@]}" ours/average-weighted.raw 2>ours/average-weighted.log
compare_models "nnet3-average --weights:" expected/average-weighted.raw ours/average-weighted.raw 1e-5

nnet3-show-progress --use-gpu=no "${three[0]}" "${three[1]}" "$minibatches" 2>ours/show-progress.log
for text in "Overall log-likelihood for 'output' is " "Overall accuracy for 'output' is " "objf per frame is "; do
  compare_numbers "nnet3-show-progress: ${text% is }" "$text" expected/show-progress.log ours/show-progress.log 0.01
done
for text in 'Total objf change per component' 'Parameter differences per layer' 'Norms of parameter matrices' \
  'Relative parameter differences per layer'; do
  compare_lists "progress: $text," "$text" expected/show-progress.log ours/show-progress.log 0.01
done

nnet3-combine --use-gpu=no --max-objective-evaluations=30 "${three[@]}" "$minibatches" ours/combined.raw 2>ours/combine.log
changed_to() { sed -n 's/.*Combining .* nnets, objective function changed from .* to \([^ ]*\)$/\1/p' "$1"; }
ratio "nnet3-combine: objective" "$(changed_to expected/combine.log)" "$(changed_to ours/combine.log)" 0.01
compare_models "nnet3-combine:" expected/combined.raw ours/combined.raw 1e-3

# ---- forward passes -------------------------------------------------------------------------------------------------
for cmd in compute/*.cmd; do
  name=$(basename "$cmd" .cmd)
  (cd compute && run_as "$name.cmd" "s|ark:$name.ark|ark:../ours/$name.ark|") 2>"ours/compute-$name.log"
  compare_tables "nnet3-compute, $name" "compute/$name.ark" "ours/$name.ark" 1e-4
done

# ---- examples -------------------------------------------------------------------------------------------------------
for name in frames1 overlap; do
  (cd egs && run_as "$name.cmd" "s|ark,t:$name.txt|ark,t:../ours/$name.txt|") 2>"ours/egs-$name.log"
  same_bytes "nnet3-get-egs, $name" "egs/$name.txt" "ours/$name.txt"
done
(cd egs && run_as frames8.cmd "s|ark,t:frames8.txt|ark,t:../ours/frames8.txt|") 2>ours/egs-frames8.log
examples_in() { grep -c '<Nnet3Eg>' "$1"; }
rows_in() { grep -o '<NnetIo> output <I1V> [0-9]*' "$1" | awk '{ s += $NF } END { print s + 0 }'; }
weight_in() { # the sum of all weights of targets
  awk '/rows=/ { inside = 1 } { if (inside) for (i = 1; i <= NF; i++) if ($i == ",") s += $(i + 1) } /<\/NnetIo>/ { inside = 0 }
    END { printf "%.5g\n", s }' "$1"
}
ratio "nnet3-get-egs, frames8: examples" "$(examples_in egs/frames8.txt)" "$(examples_in ours/frames8.txt)" 0
ratio "nnet3-get-egs, frames8: rows of targets" "$(rows_in egs/frames8.txt)" "$(rows_in ours/frames8.txt)" 0
nnet3-merge-egs --minibatch-size=16,8 ark:egs/frames8.txt ark,t:ours/frames8.merged.txt 2>ours/egs-merged.log
same_bytes "nnet3-merge-egs --minibatch-size=16,8" egs/frames8.merged.txt ours/frames8.merged.txt

# ---- acoustic models ------------------------------------------------------------------------------------------------
# Variances of batch normalisation are stored as mean and variance, kept as sums: rewriting a model may change their last bits,
# in the reference as here. final.priors.mdl is final.mdl as the reference rewrote it, so a copy has that network's bytes.
nnet3-am-copy am/final.mdl ours/final.mdl 2>>ours/am.log
size=$(($(wc -c <am/final.mdl) - 40)) # without contexts and priors, which follow the network
head -c $size am/final.priors.mdl >ours/expected.network
head -c $size ours/final.mdl >ours/final.network
same_bytes "nnet3-am-copy: network as the reference rewrites it" ours/expected.network ours/final.network
nnet3-am-copy --set-raw-nnet=am/final.mdl am/final.priors.mdl ours/set.mdl 2>>ours/am.log
same_bytes "nnet3-am-copy --set-raw-nnet: priors stay" am/final.priors.mdl ours/set.mdl
nnet3-am-adjust-priors am/final.mdl am/priors.vec ours/adjusted.mdl 2>>ours/am.log
same_bytes "nnet3-am-adjust-priors" am/final.priors.mdl ours/adjusted.mdl
nnet3-am-info am/final.mdl >ours/am-info.txt 2>>ours/am.log
for key in input-dim num-pdfs prior-dimension left-context right-context num-parameters modulus; do
  ratio "nnet3-am-info: $key" "$(sed -n "s/^$key: //p" am/am-info.txt)" "$(sed -n "s/^$key: //p" ours/am-info.txt)" 0
done

summary
