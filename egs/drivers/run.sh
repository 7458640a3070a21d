#!/usr/bin/env bash
# Kaldi's own training drivers, unchanged, with this repository's programs: see README.md.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options] <s5>
  <s5>              egs/wsj/s5 of a Kaldi checkout: its steps/ and utils/ are used as they are
  --bin DIR         folder of the programs (on the PATH, or target/release, or built)
  --dir DIR         working folder (exp)
  --only NAMES      the drivers to run, separated by commas (raw_dnn,raw_rnn,dnn,rnn,chain_tree,chain_e2e_tree,
                    chain,chain_e2e,chain2,chain2_multi,decode)
END
}

bin=
dir=exp
only=raw_dnn,raw_rnn,dnn,rnn,chain_tree,chain_e2e_tree,chain,chain_e2e,chain2,chain2_multi,decode
while (( $# )); do
  case $1 in
    --bin | --dir | --only)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"; shift ;; # lint: one of these options
    --help | -h) usage; exit 0 ;;
    -*) refuse_option "$1" 2 "$(usage)" ;;
    *) break ;;
  esac
  shift
done
(( $# == 1 )) || { usage >&2; exit 2; }
all_drivers=,raw_dnn,raw_rnn,dnn,rnn,chain_tree,chain_e2e_tree,chain,chain_e2e,chain2,chain2_multi,decode,
IFS=, read -ra names <<<"$only"
for name in "${names[@]}"; do
  [[ $name && $all_drivers == *",$name,"* ]] || { shown "$name"; refuse_value "--only: expected drivers of ${all_drivers:1:-1}, found '$REPLY'"; }
done
plain_name --dir "$dir"
[[ ! $bin ]] || plain_name --bin "$bin"
plain_name "<s5>" "$1"
plain_name "the recipe's folder" "$PWD"
s5=$1
if [[ $s5 != /* ]]; then s5=$caller/$s5; fi
s5=$(realpath "$s5")
[[ -f $s5/steps/nnet3/train_raw_dnn.py ]] || { echo "run.sh: $s5 has no steps/nnet3/train_raw_dnn.py" >&2; exit 2; }
if [[ -z $bin ]]; then
  bin=$(../digits/local/programs.sh)
fi
bin=$(realpath "$bin")
[[ -x $bin/nnet3-train ]] || { echo "run.sh: there is no nnet3-train in $bin" >&2; exit 2; }
digits=$(realpath ../digits)
[[ -f $digits/data/made_by ]] || PATH=$bin:$PATH "$digits/run.sh" --stage 2 --last-stage 2
if [[ ,$only, == *,decode,* && ! -f $digits/exp/tdnn/posteriors.vec ]]; then
  PATH=$bin:$PATH "$digits/run.sh" --stage 3 --last-stage 4
fi
local=$(realpath local) conf=$(realpath conf)

# The drivers expect to stand in a folder with steps/, utils/ and path.sh.
claim_folder "$dir" egs/drivers/run.sh
cd "$dir"
ln -sfn "$s5/steps" steps
ln -sfn "$s5/utils" utils
echo "export PATH=$bin:\$PWD/utils:\$PWD/bin:\$PATH LC_ALL=C" >path.sh
mkdir -p log bin
command -v python >/dev/null || ln -sfn "$(command -v python3)" bin/python # some of the scripts call it so
. ./path.sh
make_data() { # <script> <folder> <what is there when all is>
  if [[ ! -f $3 ]] && ! "$local/$1" "$digits" "$2" >log/data.log 2>&1; then
    echo "run.sh: no data could be made; see $PWD/log/data.log" >&2
    exit 1
  fi
}
[[ ,$only, =~ ,(raw_)?[dr]nn, ]] && make_data make_data.sh data data/ali/num_jobs
[[ $only == *chain* ]] && make_data make_chain_data.sh data/chain data/chain/graphs/phone_lm.fst

config() { # <name> <network> <work folder> [<pdfs>]
  mkdir -p "$3/configs"
  sed "s|@CONFIGS@|$3/configs|; s|@TARGETS@|${4-}|" "$conf/$2.xconfig" >"$3/configs/network.xconfig"
  steps/nnet3/xconfig_to_configs.py --xconfig-file "$3/configs/network.xconfig" --config-dir "$3/configs"
  echo "num_targets=${4-22}" >>"$3/configs/vars"
}

common=(--stage=-10 --cmd=utils/run.pl --use-gpu=false --feat-dir=data/train --feat.cmvn-opts="--norm-means=true --norm-vars=false"
  --trainer.num-epochs=4 --trainer.optimization.num-jobs-initial=1 --trainer.optimization.num-jobs-final=2
  --trainer.optimization.initial-effective-lrate=0.003 --trainer.optimization.final-effective-lrate=0.0003
  --cleanup.preserve-model-interval=10)
frames=(--trainer.samples-per-iter=10000 --trainer.optimization.minibatch-size=256 --egs.frames-per-eg=8)
# shellcheck disable=SC2054 # the drivers' lists have commas
chunks=(--trainer.samples-per-iter=3000 --trainer.rnn.num-chunk-per-minibatch=64 --trainer.optimization.momentum=0.5
  --egs.chunk-width=20,15 --egs.chunk-left-context=40 --egs.chunk-left-context-initial=0
  --egs.chunk-right-context-final=0 --trainer.deriv-truncate-margin=10)
targets=(--targets-scp=data/train/ali.scp --use-dense-targets=false --nj=2)
of_targets="--num-utts-subset 100 --target-type sparse --num-targets 22"
of_alignments="--num-utts-subset 100 --nj 2"
dropout=(--trainer.dropout-schedule "0,0.1@0.3,0")
objective=(--chain.xent-regularize=0.1 --chain.leaky-hmm-coefficient=0.1 --chain.l2-regularize=0.0 --chain.apply-deriv-weights=false
  --chain.lm-opts=--num-extra-lm-states=100)
# shellcheck disable=SC2054
chain=(--stage=-10 --cmd=utils/run.pl --use-gpu=no --feat-dir=data/chain/train --feat.cmvn-opts="--norm-means=false --norm-vars=false"
  "${objective[@]}" --trainer.dropout-schedule "0,0@0.20,0.3@0.50,0" --trainer.add-option=--optimization.memory-compression-level=2
  --trainer.srand=0 --trainer.max-param-change=2.0 --trainer.num-epochs=5 --trainer.frames-per-iter=45000
  --trainer.optimization.num-jobs-initial=1 --trainer.optimization.num-jobs-final=2
  --trainer.optimization.initial-effective-lrate=0.002 --trainer.optimization.final-effective-lrate=0.0002
  --trainer.num-chunk-per-minibatch=32,16 --trainer.optimization.momentum=0.0 --cleanup.remove-egs=false)

pdfs_of() { tree-info "$1/tree" 2>/dev/null | awk '/^num-pdfs/ { print $2 }'; }

phone_lists() { # what scripts that make trees read of <lang>, whose first phone is silence
  local lang=data/chain/lang
  awk '$2 { print $2 }' "$lang/phones.txt" >"$lang/phones/sets.int"
  sed 's/^/shared split /' "$lang/phones/sets.int" >"$lang/phones/roots.int"
  echo 1 | tee "$lang/phones/silence.csl" "$lang/phones/context_indep.csl" "$lang/oov.int" >"$lang/phones/extra_questions.int"
  : >"$lang/phones/disambig.int"
}

chain2_context() { sed -n 's/^model_left_context=//p' "$1/configs/vars"; }

begin_chain2() { # <work folder> <languages>: what local/chain2/run_tdnn.sh of Kaldi's recipes does
  local work=$1 context
  mkdir -p "$work/init" "$work/den_fsts"
  config "$work" "$work" "$work" "$(pdfs_of data/chain/tree)"
  context=$(chain2_context "$work")
  printf '%s\n' "frame_subsampling_factor 3" "langs $2" "model_left_context $context" "model_right_context $context" >"$work/init/info.txt"
}

language_of_chain2() { # <work folder> <language> <data> <lattices>: the graphs of the driver `chain` for these utterances, and their examples
  local work=$1 lang=$2 data=$3 lats=$4 context
  cp data/chain/tree/tree "$work/$lang.tree"
  copy-transition-model data/chain/tree/final.mdl "$work/init/${lang}_trans.mdl"
  gunzip -c data/chain/tree/ali.*.gz | ali-to-phones data/chain/tree/final.mdl ark:- ark,t:- |
    utils/filter_scp.pl "$data/utt2spk" | chain-est-phone-lm --num-extra-lm-states=100 ark:- "$work/den_fsts/$lang.phone_lm.fst"
  chain-make-den-fst "$work/$lang.tree" "$work/init/${lang}_trans.mdl" "$work/den_fsts/$lang.phone_lm.fst" \
    "$work/den_fsts/$lang.den.fst" "$work/den_fsts/$lang.normalization.fst"
  number context whole "$work/configs/vars" "$(chain2_context "$work")" 0
  context=$((context + 1))
  steps/nnet3/chain2/get_raw_egs.sh --cmd utils/run.pl --lang "$lang" --alignment-subsampling-factor 3 --frames-per-chunk 102 \
    --left-context $context --right-context $context "$data" "$work" "$lats" "$work/raw_egs.$lang"
  steps/nnet3/chain2/process_egs.sh --cmd utils/run.pl --nj 2 --num-utts-subset 30 "$work/raw_egs.$lang" "$work/processed_egs.$lang"
}

train_chain2() { # <work folder> <first model> <option>…
  local work=$1 first=$2 tries
  shift 2
  nnet3-init --srand=-2 "$work/configs/init.config" "$work/init/init.raw"
  steps/nnet3/chain2/compute_preconditioning_matrix.sh --cmd utils/run.pl --nj 2 "$work/init/init.raw" "$work/egs" "$work"
  nnet3-init --srand=-1 "$work/configs/final.config" "$work/init/$first.raw"
  steps/nnet3/chain2/train.sh --cmd utils/run.pl --use-gpu no --xent-regularize 0.1 --leaky-hmm-coefficient 0.1 \
    --max-param-change 2.0 --num-jobs-initial 1 --num-jobs-final 2 --initial-effective-lrate 0.002 --final-effective-lrate 0.0002 \
    --num-epochs 5 --minibatch-size 16,8 --dropout-schedule "0,0@0.20,0.3@0.50,0" "$@" "$work/egs" "$work"
  # It does not wait for its last diagnostics.
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(grep -ls '^# Ended' "$work"/log/diagnostic_{train,heldout}.final.log | wc -l) != 2 ]] || return 0
    sleep 1
  done
}

drive_chain2() { # <work folder>
  begin_chain2 "$1" default
  language_of_chain2 "$1" default data/chain/train data/chain/lats
  steps/nnet3/chain2/randomize_egs.sh --cmd utils/run.pl --frames-per-job 45000 --num-blocks 8 "$1/processed_egs.default" "$1/egs"
  train_chain2 "$1" default
}

drive_chain2_multi() { # <work folder>: American and British speakers as two languages
  local work=$1 lang data lats
  if ! awk '"?" ~ /?/ { exit }' /dev/null; then # so combine_egs.sh looks for a question mark
    command -v gawk || { echo "run.sh: combine_egs.sh needs gawk as awk" >&2; return 1; }
    ln -sfn "$(command -v gawk)" bin/awk
  fi
  begin_chain2 "$work" "us gb"
  mkdir -p "$work/egs/misc"
  for lang in us gb; do
    data=$work/data/$lang lats=$work/lats/$lang
    mkdir -p "$data" "$lats"
    lang=$lang awk 'BEGIN { lang = ENVIRON["lang"] } (lang == "us") == /^us-/ { print $1 }' data/chain/train/utt2spk >"$work/data/$lang.list"
    utils/subset_data_dir.sh --utt-list "$work/data/$lang.list" data/chain/train "$data"
    cp data/chain/lats/final.mdl data/chain/lats/phones.txt "$lats"
    gunzip -c data/chain/lats/lat.*.gz | lattice-copy --include="$work/data/$lang.list" ark:- ark:- | gzip -c >"$lats/lat.1.gz"
    echo 1 >"$lats/num_jobs"
    language_of_chain2 "$work" $lang "$data" "$lats"
    cp "$work/processed_egs.$lang/misc"/$lang.* "$work/egs/misc"
    cp "$work/processed_egs.$lang/info.txt" "$work/egs/info_$lang.txt"
  done
  # combine_egs.sh reads cmd.sh, and finds the languages' names in local.conf.
  : >cmd.sh
  echo "lang_list=(us gb)" >local.conf
  steps/nnet3/chain2/combine_egs.sh --cmd utils/run.pl --frames-per-job 45000 --lang2weight 1.0,1.0 2 \
    "$work/processed_egs.us" "$work/processed_egs.gb" "$work/egs"
  train_chain2 "$work" multi --multilingual-eg true
}

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
    chain) config "$1" chain "$work" "$(pdfs_of data/chain/tree)"
      steps/nnet3/chain/train.py "${chain[@]}" --egs.chunk-width=60 --egs.nj=2 \
        --egs.opts="--frames-overlap-per-eg 0 --num-utts-subset 30 --constrained true" \
        --tree-dir=data/chain/tree --lat-dir=data/chain/lats --dir="$work" ;;
    chain_e2e) config "$1" chain_e2e "$work" "$(pdfs_of data/chain/graphs)"
      steps/nnet3/chain/e2e/train_e2e.py "${chain[@]}" --trainer.num-chunk-per-minibatch=1:16 --egs.opts="--nj 2 --num-utts-subset 30" \
        --tree-dir=data/chain/graphs --dir="$work" ;;
    chain2) drive_chain2 "$work" ;;
    chain2_multi) drive_chain2_multi "$work" ;;
    chain_tree) phone_lists
      steps/nnet3/chain/build_tree.sh --cmd utils/run.pl --frame-subsampling-factor 3 \
        --context-opts "--context-width=2 --central-position=1" 100 data/chain/train data/chain/lang data/chain/tree "$work" ;;
    chain_e2e_tree) phone_lists
      rm -f "$work/final.mdl" # the script would not write over it
      steps/nnet3/chain/e2e/prepare_e2e.sh --cmd utils/run.pl --nj 2 --type biphone --ci-silence true \
        data/chain/train data/chain/lang "$work" ;;
    decode) "$local/decode.sh" "$digits" "$work" ;;
    *) echo "run.sh: no driver called '$1'" >&2; return 2 ;;
  esac
  [[ $1 == *chain* || $1 == decode ]] || steps/nnet3/compute_output.sh --nj 2 --cmd utils/run.pl --apply-exp true data/dev "$work" "$work/output"
}

on_validation_set() { # <what> <name> [<output>]
  local log=$2/log/compute_prob_valid.final.log # of an acoustic model: before its priors are adjusted
  [[ -f $log ]] || log=$2/log/compute_prob_valid.combined.log
  sed -n "s/.*Overall $1 for '${3-output}' is \([^ ]*\) .*/\1/p" "$log"
}

# The same of chain2's driver, whose diagnostics come from a program that trains.
on_heldout_set() { # <name> <output>
  sed -n "s/.*Overall average objective function for '$2' is \([^ ]*\) .*/\1/p" "$1/log/diagnostic_heldout.final.log"
}

at_least() { # <name> <what> <value> <least>
  if ! a="$3" least="$4" awk 'BEGIN { a = ENVIRON["a"]; least = ENVIRON["least"]; exit !(a != "" && a >= least) }'; then
    echo "$1: $2 of at least $4 was expected" >&2
    failed=1
  fi
}

# The least accuracy on held-out utterances that a training of this kind must reach; of a chain model, the least objectives.
least() {
  case $1 in
    *dnn) echo 0.975 ;;
    *rnn) echo 0.965 ;;
    chain) echo -0.105 -0.45 ;;
    chain_e2e) echo -0.095 -0.40 ;;
    chain2) echo -0.075 -0.40 ;;
    chain2_multi) echo -0.08 -0.60 ;;
  esac
}

# Of a tree: how many pdfs it has, and what they are worth or what was made with them.
report_tree() { # <name> <seconds>
  local pdfs gain made
  pdfs=$(pdfs_of "$1")
  if [[ $1 == chain_tree ]]; then
    gain=$(sed -n 's/.*After decision tree split.*like-impr = \([^ ]*\) .*/\1/p' "$1/log/build_tree.log")
    made=$(gunzip -c "$1"/ali.*.gz | ali-to-pdf "$1/final.mdl" ark:- ark,t:- 2>/dev/null | wc -l)
    printf '%-14s %3d s   %s pdfs, %s better per frame than the roots;   alignments of %d utterances\n' "$1" "$2" "$pdfs" "$gain" "$made"
    at_least "$1" "an improvement" "$gain" 14
  else
    made=$(cat "$1"/fst.*.scp | wc -l)
    printf '%-14s %3d s   %s pdfs;   graphs of %d utterances\n' "$1" "$2" "$pdfs" "$made"
  fi
  at_least "$1" "a number of pdfs" "$pdfs" 40
  at_least "$1" "a number of utterances" "$made" 400
}

report_chain() { # <name> <seconds> <objective> <cross-entropy> [<of what>]
  local least
  read -ra least <<<"$(least "$1")"
  printf '%-12s %4d s   validation%s: %s per frame, cross-entropy %s\n' "$1" "$2" "${5-}" "$3" "$4"
  at_least "$1" "an objective" "$3" "${least[0]}"
  at_least "$1" "a cross-entropy objective" "$4" "${least[1]}"
}

report() { # <name> <seconds>
  local accuracy objective outputs output language languages
  if [[ $1 == *_tree ]]; then
    report_tree "$@"
    return
  fi
  if [[ $1 == decode ]]; then
    printf '%-9s %4d s   ' "$1" "$2"
    "$local/check_decoding.py" "$1" || failed=1
    return
  fi
  if [[ $1 == chain2* ]]; then
    languages="us gb"
    [[ $1 == chain2_multi ]] || languages=default
    for language in $languages; do # lint: words of this script
      output=output-$language
      report_chain "$1" "$2" "$(on_heldout_set "$1" "$output")" "$(on_heldout_set "$1" "$output-xent")" " of $language"
    done
  elif [[ $1 == *chain* ]]; then
    report_chain "$1" "$2" "$(on_validation_set log-probability "$1")" "$(on_validation_set log-probability "$1" output-xent)"
  else
    accuracy=$(on_validation_set accuracy "$1")
    objective=$(on_validation_set log-likelihood "$1")
    outputs=$(wc -l <"$1/output/output.scp")
    printf '%-9s %4d s   validation: %s per frame, accuracy %s;   outputs of %d utterances\n' \
      "$1" "$2" "$objective" "$accuracy" "$outputs"
    at_least "$1" "an accuracy" "$accuracy" "$(least "$1")"
  fi
}

failed=0
for name in "${names[@]}"; do
  since=$SECONDS
  drive "$name" >"log/$name.log" 2>&1 & # not in the condition, where a failure within would be passed over
  if ! wait $!; then
    echo "$name: failed; the driver's words are in $PWD/log/$name.log" >&2
    failed=1
    continue
  fi
  report "$name" $((SECONDS - since))
done
exit "$failed"
