#!/usr/bin/env bash
# Characters: an LSTM learns to predict the next character of Shakespeare's plays, and then makes up a text. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --dir DIR          experiment folder (exp)
  --optimizer TEXT   as for nnet3-fit ("adamw learning-rate=.005 weight-decay=.01")
  --schedule TEXT    as for nnet3-fit ("cosine warm-up=.05")
  --clip TEXT        limits on gradients (--clip-norm=1)
  --num-epochs N     (4)
  --length N         characters to make up (400)
  --nnet3 FILE       the program (on the PATH, or in target/release, or built)
END
}

dir=exp
optimizer="adamw learning-rate=.005 weight-decay=.01"
schedule="cosine warm-up=.05"
clip=--clip-norm=1
num_epochs=4
length=400
nnet3=
while (( $# )); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --dir | --optimizer | --schedule | --clip | --num-epochs | --length | --nnet3)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --dir) dir=$2 ;;
    --optimizer) optimizer=$2 ;;
    --schedule) schedule=$2 ;;
    --clip) clip=$2 ;;
    --num-epochs) num_epochs=$2 ;;
    --length) length=$2 ;;
    --nnet3) nnet3=$2 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift 2
done
number num_epochs whole --num-epochs "$num_epochs" 1 1000000
number length whole --length "$length" 1 1000000000
[[ ! $clip || $clip == --clip-* ]] || refuse_value "--clip: expected an option such as --clip-norm=1, found '$clip'"
plain_name --dir "$dir"
plain_name "the recipe's folder" "$PWD"
if [[ -z $nnet3 ]]; then
  programs=$(../digits/local/programs.sh)
  nnet3=$programs/nnet3
  [[ -x $nnet3 ]] || nnet3=$(realpath "$programs/nnet3-train") # a folder of links may lack it
fi
plain_name --nnet3 "$nnet3"
nnet3=$(realpath -m "$nnet3")
[[ -f $nnet3 && -x $nnet3 ]] || refuse_value "--nnet3: there is no program $nnet3"
claim_folder "$dir" egs/chars/run.sh

echo "Data: windows of 20 + 50 characters"
"$nnet3" text-to-ali --vocab-out="$dir/vocab" text/train.txt "ark:$dir/train.in" "ark:$dir/train.post" 2> "$dir/data.log"
"$nnet3" text-to-ali --vocab="$dir/vocab" text/test.txt "ark:$dir/test.in" "ark:$dir/test.post" 2>> "$dir/data.log"
dim=$(wc -l < "$dir/vocab")
for set in train test; do
  "$nnet3" nnet3-get-egs-simple \
    "input=ark:$nnet3 ali-to-post ark:$dir/$set.in ark:- | $nnet3 post-to-smat --dim=$dim ark:- ark:- |" \
    "output=ark:$nnet3 post-to-smat --dim=$dim ark:$dir/$set.post ark:- |" "ark:$dir/$set.egs" 2>> "$dir/data.log"
done

echo "Training: $optimizer"
rm -rf "$dir/fit"
sed "s/DIM/$dim/" conf/lstm.xconfig > "$dir/lstm.xconfig"
"$nnet3" nnet3-xconfig-to-configs --xconfig-file="$dir/lstm.xconfig" --config-dir="$dir/configs" 2> "$dir/init.log"
"$nnet3" nnet3-init "$dir/configs/final.config" "$dir/0.raw" 2>> "$dir/init.log"
"$nnet3" nnet3-fit --use-gpu=no --srand=1 --num-epochs="$num_epochs" --minibatch-size=16 --rules=conf/rules.txt \
  --optimizer="$optimizer" ${schedule:+"--schedule=$schedule"} ${clip:+"$clip"} --valid="ark:$dir/test.egs" \
  --checkpoint-dir="$dir/fit" --best="$dir/best.raw" "$dir/0.raw" "ark:$dir/train.egs" "$dir/final.raw" 2>&1 |
  tee "$dir/fit.log"
"$nnet3" nnet3-report "$dir/fit" "$dir/report.html" 2> "$dir/report.log" && echo "Curves: $dir/report.html"

awk 'match($0, /valid loss [0-9.e-]+/) { loss = substr($0, RSTART + 11, RLENGTH - 11) }
     END { printf "Test: %.3f bits a character\n", loss / log(2) }' "$dir/fit.log"
echo "A text of its own:"
"$nnet3" nnet3-sample-text --length="$length" --srand=1 --temperature=0.7 --start="KING RICHARD" "$dir/best.raw" "$dir/vocab" 2> "$dir/sample.log"
