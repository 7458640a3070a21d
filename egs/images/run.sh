#!/usr/bin/env bash
# Images: handwritten digits of 8 x 8 pixels, read by a network with one hidden layer and by one with convolutions, each trained by
# several optimizers. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --dir DIR          experiment folder (exp)
  --csv FILE         digits.csv.gz of scikit-learn (taken from its package, which pip downloads)
  --num-epochs N     (10)
  --nnet3 FILE       the program (on the PATH, or in target/release, or built)
END
}

dir=exp
csv=
num_epochs=10
nnet3=
while (( $# )); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --dir | --csv | --num-epochs | --nnet3) (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --dir) dir=$2 ;;
    --csv) csv=$2 ;;
    --num-epochs) num_epochs=$2 ;;
    --nnet3) nnet3=$2 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift 2
done
number num_epochs whole --num-epochs "$num_epochs" 1 1000000
plain_name --dir "$dir"
[[ ! $csv ]] || plain_name --csv "$csv"
plain_name "the recipe's folder" "$PWD"
[[ ! $csv || -f $csv ]] || refuse_value "--csv: there is no file $csv"
if [[ -z $nnet3 ]]; then
  programs=$(../digits/local/programs.sh)
  nnet3=$programs/nnet3
  [[ -x $nnet3 ]] || nnet3=$(realpath "$programs/nnet3-train") # a folder of links may lack it
fi
plain_name --nnet3 "$nnet3"
nnet3=$(realpath -m "$nnet3")
[[ -f $nnet3 && -x $nnet3 ]] || refuse_value "--nnet3: there is no program $nnet3"
claim_folder "$dir" egs/images/run.sh

echo "Data: 1297 images for training, 500 by other writers for testing"
if [[ -z $csv ]]; then
  csv=$dir/package/sklearn/datasets/data/digits.csv.gz
  if [[ ! -e $csv ]]; then
    python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$dir/package" scikit-learn
    python3 -m zipfile -e "$dir"/package/scikit_learn*.whl "$dir/package"
  fi
fi
# In each line 64 pixels from 0 to 16, and the digit.
egs() { # set lines-to-skip lines kind options
  "$nnet3" csv-to-feats --skip="$2" --count="$3" --scale=0.0625 ${5:+"$5"} "gunzip -c $csv |" "ark:$dir/$1.$4.ark" "ark:$dir/$1.ali" 2>> "$dir/data.log"
  "$nnet3" nnet3-get-egs-simple "input=ark:$dir/$1.$4.ark" \
    "output=ark:$nnet3 ali-to-post ark:$dir/$1.ali ark:- | $nnet3 post-to-smat --dim=10 ark:- ark:- |" \
    "ark:$dir/$1.$4.egs" 2>> "$dir/data.log"
}
: > "$dir/data.log"
for kind in mlp conv; do
  options=
  [[ $kind == mlp ]] || options=--image=8x8
  egs train 0 1297 "$kind" "$options"
  egs test 1297 500 "$kind" "$options"
done

fit() { # network name optimizer schedule
  local out=$dir/$1.$2
  rm -rf "$out"
  mkdir -p "$out"
  "$nnet3" nnet3-fit --use-gpu=no --srand=1 --num-epochs="$num_epochs" --minibatch-size=32 --optimizer="$3" \
    ${4:+"--schedule=$4"} --rules=conf/rules.txt --valid="ark:$dir/test.$1.egs" --checkpoint-dir="$out" --histograms=true \
    "$dir/$1.0.raw" "ark:$dir/train.$1.egs" "$out/final.raw" 2> "$out/fit.log" || { tail -n 3 "$out/fit.log" >&2; exit 1; }
  name="$1, $3${4:+, $4}" awk 'BEGIN { name = ENVIRON["name"] } /Epoch/ { line = $0 }
    END { sub(/.*: loss /, "loss ", line); sub(/, rate of.*/, "", line); printf "%-60s %s\n", name, line }' "$out/fit.log"
}
for network in mlp conv; do
  "$nnet3" nnet3-xconfig-to-configs --xconfig-file="conf/$network.xconfig" --config-dir="$dir/$network.configs" 2> "$dir/$network.log"
  "$nnet3" nnet3-init "$dir/$network.configs/final.config" "$dir/$network.0.raw" 2>> "$dir/$network.log"
  fit "$network" sgd "sgd learning-rate=.1 momentum=.9" ""
  fit "$network" adam "adam learning-rate=.002" ""
  fit "$network" adamw "adamw learning-rate=.005 weight-decay=.01" "cosine warm-up=.05"
  fit "$network" lion "lion learning-rate=.001" "cosine"
  fit "$network" muon "muon learning-rate=.02 vector-learning-rate=.005" "cosine"
  fit "$network" kaldi "kaldi learning-rate=.006" "exponential final-factor=.1"
done

"$nnet3" nnet3-compute --use-gpu=no "$dir/mlp.adamw/final.raw" "ark:$dir/test.mlp.ark" "ark,t:$dir/test.out" 2> "$dir/compute.log"
# shellcheck disable=SC2129
"$nnet3" copy-feats "ark:$dir/test.mlp.ark" "ark,t:$dir/test.txt" 2>> "$dir/compute.log"
"$nnet3" copy-int-vector "ark:$dir/test.ali" "ark,t:$dir/test.ali.txt" 2>> "$dir/compute.log"
"$nnet3" nnet3-copy --binary=false "$dir/mlp.adamw/final.raw" "$dir/mlp.txt" 2>> "$dir/compute.log"
python3 local/pictures.py "$dir"
for out in "$dir"/*.*/fit.log; do
  "$nnet3" nnet3-report "$(dirname "$out")" "$(dirname "$out")/report.html" 2>> "$dir/report.log"
done
