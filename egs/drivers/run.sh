#!/usr/bin/env bash
# Kaldi's own training drivers, unchanged, with this repository's programs: see README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1

usage() {
  cat <<'END'
usage: run.sh [options] <s5>
  <s5>              egs/wsj/s5 of a Kaldi checkout: its steps/ and utils/ are used as they are
  --bin DIR         folder of the programs (../../target/release)
  --dir DIR         working folder (exp)
  --only NAMES      the drivers to run, separated by commas (raw_dnn,raw_rnn,dnn,rnn)
END
}

bin=../../target/release
dir=exp
only=raw_dnn,raw_rnn,dnn,rnn
while (( $# )); do
  case $1 in
    --bin | --dir | --only)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"; shift ;;
    --help | -h) usage; exit 0 ;;
    -*) echo "run.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
(( $# == 1 )) || { usage >&2; exit 2; }
s5=$(realpath "$1")
[[ -f $s5/steps/nnet3/train_raw_dnn.py ]] || { echo "run.sh: $s5 has no steps/nnet3/train_raw_dnn.py" >&2; exit 2; }
bin=$(realpath "$bin")
[[ -x $bin/nnet3-train ]] || { echo "run.sh: no nnet3-train in $bin; cargo build --release makes it" >&2; exit 2; }
digits=$(realpath ../digits)
[[ -f $digits/data/made_by ]] || { echo "run.sh: no speech in $digits/data; ../digits/run.sh makes it" >&2; exit 2; }
local=$(realpath local) conf=$(realpath conf)

# The drivers expect to stand in a folder with steps/, utils/ and path.sh.
mkdir -p "$dir" && cd "$dir"
ln -sfn "$s5/steps" steps
ln -sfn "$s5/utils" utils
echo "export PATH=$bin:\$PWD/utils:\$PATH LC_ALL=C" >path.sh
. ./path.sh
mkdir -p log
if [[ ! -f data/ali/num_jobs ]] && ! "$local/make_data.sh" "$digits" data >log/data.log 2>&1; then
  echo "run.sh: no data could be made; see $PWD/log/data.log" >&2
  exit 1
fi

config() { # <name> <network> <work folder>
  mkdir -p "$3/configs"
  sed "s|@CONFIGS@|$3/configs|" "$conf/$2.xconfig" >"$3/configs/network.xconfig"
  steps/nnet3/xconfig_to_configs.py --xconfig-file "$3/configs/network.xconfig" --config-dir "$3/configs"
  echo "num_targets=22" >>"$3/configs/vars"
}

common=(--stage=-10 --cmd=utils/run.pl --use-gpu=false --feat-dir=data/train --feat.cmvn-opts="--norm-means=true --norm-vars=false"
  --trainer.num-epochs=4 --trainer.optimization.num-jobs-initial=1 --trainer.optimization.num-jobs-final=2
  --trainer.optimization.initial-effective-lrate=0.003 --trainer.optimization.final-effective-lrate=0.0003
  --cleanup.preserve-model-interval=10)
frames=(--trainer.samples-per-iter=10000 --trainer.optimization.minibatch-size=256 --egs.frames-per-eg=8)
chunks=(--trainer.samples-per-iter=3000 --trainer.rnn.num-chunk-per-minibatch=64 --trainer.optimization.momentum=0.5
  --egs.chunk-width=20,15 --egs.chunk-left-context=40 --egs.chunk-left-context-initial=0
  --egs.chunk-right-context-final=0 --trainer.deriv-truncate-margin=10)
targets=(--targets-scp=data/train/ali.scp --use-dense-targets=false --nj=2)
of_targets="--num-utts-subset 100 --target-type sparse --num-targets 22"
of_alignments="--num-utts-subset 100 --nj 2"
dropout=(--trainer.dropout-schedule "0,0.1@0.3,0")

drive() { # <name>
  local work=$1
  case $1 in
    raw_dnn) config "$1" tdnn "$work"
      steps/nnet3/train_raw_dnn.py "${common[@]}" "${frames[@]}" "${targets[@]}" --egs.opts="$of_targets" --dir="$work" ;;
    raw_rnn) config "$1" lstm "$work"
      steps/nnet3/train_raw_rnn.py "${common[@]}" "${chunks[@]}" "${targets[@]}" --egs.opts="$of_targets" --dir="$work" ;;
    dnn) config "$1" tdnn "$work"
      steps/nnet3/train_dnn.py "${common[@]}" "${frames[@]}" "${dropout[@]}" --egs.opts="$of_alignments" \
        --ali-dir=data/ali --lang=data/ali --dir="$work" ;;
    rnn) config "$1" lstm "$work"
      steps/nnet3/train_rnn.py "${common[@]}" "${chunks[@]}" --egs.opts="$of_alignments" \
        --ali-dir=data/ali --lang=data/ali --dir="$work" ;;
    *) echo "run.sh: no driver called '$1'" >&2; return 2 ;;
  esac
  steps/nnet3/compute_output.sh --nj 2 --cmd utils/run.pl --apply-exp true data/dev "$work" "$work/output"
}

on_validation_set() { # <what> <name>
  local log=$2/log/compute_prob_valid.final.log # of an acoustic model: before its priors are adjusted
  [[ -f $log ]] || log=$2/log/compute_prob_valid.combined.log
  sed -n "s/.*Overall $1 for 'output' is \([^ ]*\) .*/\1/p" "$log"
}

# The least accuracy on held-out utterances that a training of this kind must reach.
least() { case $1 in *dnn) echo 0.975 ;; *) echo 0.965 ;; esac; }

failed=0
for name in ${only//,/ }; do
  since=$SECONDS
  if ! (drive "$name") >"log/$name.log" 2>&1; then
    echo "$name: failed; the driver's words are in $PWD/log/$name.log" >&2
    failed=1
    continue
  fi
  took=$((SECONDS - since))
  accuracy=$(on_validation_set accuracy "$name")
  objective=$(on_validation_set log-likelihood "$name")
  outputs=$(wc -l <"$name/output/output.scp")
  printf '%-8s %4d s   validation: %s per frame, accuracy %s;   outputs of %d utterances\n' \
    "$name" "$took" "$objective" "$accuracy" "$outputs"
  if ! awk -v a="$accuracy" -v least="$(least "$name")" 'BEGIN { exit !(a >= least) }'; then
    echo "$name: an accuracy of at least $(least "$name") was expected" >&2
    failed=1
  fi
done
exit $failed
