#!/usr/bin/env bash
# Usage: stock_driver.sh DIR S5
# Runs a training driver of Kaldi as it is, steps/nnet3/train_raw_dnn.py of the folder S5 (egs/wsj/s5), with installed programs on a task
# of seconds, and looks at what the network has learnt. Writes to DIR. Needs Python 3, Perl, gzip, bash, awk, sed, grep and coreutils.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$here/scripts/common/usage.sh"
plain_usage 2 2 "$@"
export LC_ALL=C OPENBLAS_NUM_THREADS=1
s5=$(realpath "$2")
[[ -f $s5/steps/nnet3/train_raw_dnn.py ]] || { echo "stock_driver.sh: $s5 has no steps/nnet3/train_raw_dnn.py" >&2; exit 2; }
mkdir -p "$1"
cd "$1"

# The driver expects to stand in a folder with steps/, utils/ and path.sh; some of the scripts call Python by its short name.
ln -sfn "$s5/steps" steps
ln -sfn "$s5/utils" utils
mkdir -p bin data/train tdnn/configs log
ln -sfn "$(command -v python3)" bin/python
# (In single quotes: the folders are those of whoever reads it.)
echo 'export PATH=$PWD/utils:$PWD/bin:$PATH LC_ALL=C' >path.sh
. ./path.sh

"$here/tests/train/toy_data.sh" toy 40
sort toy/feats.scp >data/train/feats.scp
copy-int-vector ark:toy/ali.ark ark,scp:data/train/ali.ark,data/train/ali.scp 2>log/data.log
awk '{ print $1, $1 }' data/train/feats.scp | tee data/train/utt2spk >data/train/spk2utt
compute-cmvn-stats scp:data/train/feats.scp ark,scp:data/train/cmvn.ark,data/train/cmvn.scp 2>>log/data.log

cp toy/tdnn.xconfig tdnn/configs/network.xconfig
steps/nnet3/xconfig_to_configs.py --xconfig-file tdnn/configs/network.xconfig --config-dir tdnn/configs >log/configs.log 2>&1
echo "num_targets=3" >>tdnn/configs/vars
if ! steps/nnet3/train_raw_dnn.py --stage=-10 --cmd=utils/run.pl --use-gpu=false --feat-dir=data/train \
  --feat.cmvn-opts="--norm-means=false --norm-vars=false" --targets-scp=data/train/ali.scp --use-dense-targets=false --nj=2 \
  --egs.frames-per-eg=8 --egs.opts="--num-utts-subset 4 --target-type sparse --num-targets 3" --trainer.samples-per-iter=500 \
  --trainer.optimization.minibatch-size=64 --trainer.num-epochs=3 --trainer.optimization.num-jobs-initial=1 \
  --trainer.optimization.num-jobs-final=2 --trainer.optimization.initial-effective-lrate=0.003 \
  --trainer.optimization.final-effective-lrate=0.0003 --dir=tdnn >log/driver.log 2>&1; then
  echo "the driver's last words (all are in $PWD/log/driver.log):"
  tail -n 8 log/driver.log
  exit 1
fi
grep 'Overall accuracy' tdnn/log/compute_prob_valid.final.log
awk '/Overall accuracy/ { found = $0 ~ /accuracy for .output. is (0\.9|1)/ } END { exit !found }' tdnn/log/compute_prob_valid.final.log
