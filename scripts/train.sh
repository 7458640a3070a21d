#!/usr/bin/env bash
# Trains a network: features, targets and a description of the network in, a trained model out. See docs/training.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

driver=train.sh
source "$here/train/messages.sh"
source "$here/common/values.sh"
source "$here/common/folders.sh"

usage() {
  cat <<'HELP'
usage: train.sh [options] DIR
Trains a network and leaves it in DIR/final.raw (or DIR/final.mdl, an acoustic model, with --ali-dir and for chain models). One
line an iteration appears on standard error; DIR/report.html shows how it goes, DIR/log has the logs. Started again with the same
options, an interrupted training goes on from its last whole iteration. e.g.:
  train.sh --feats=scp:feats.scp --targets=ark:phones.ark --xconfig=network.xconfig exp/tdnn
  train.sh --feats=data/train --ali-dir=exp/tri3_ali --xconfig=network.xconfig --num-jobs-final=8 --cmd="slurm.sh --mem 4G" \
    --train-cmd-opts="--gpu 1" exp/tdnn
  train.sh --objective=chain --feats=data/train --tree-dir=exp/tree --lat-dir=exp/tri3_lats --xconfig=network.xconfig exp/chain
HELP
  explain_options
}

source "$here/train/options.sh"
source "$here/train/option_list.sh"
source "$here/train/schedule.sh"
source "$here/train/losses.sh"
source "$here/train/data.sh"
source "$here/train/network.sh"
source "$here/train/alignments.sh"
source "$here/train/examples.sh"
source "$here/train/chain.sh"
source "$here/train/iteration.sh"
source "$here/train/calibration.sh"
source "$here/train/final.sh"

parse_options "$@"
need_arguments "the folder of the training (DIR)"
dir=${arguments[0]}
if [[ $dir == */ && $dir != / ]]; then dir=${dir%/}; fi
chain_options=()
set_objective
check_options
# Who asks for a GPU here gets one or an error; programs by themselves may run on the CPU where there is no driver.
[[ $use_gpu != yes ]] || export NNET3_REQUIRE_GPU=1
# ---- running jobs ---------------------------------------------------------------------------------------------------
source "$here/train/jobs.sh"
read -ra train_cmd_words <<<"$train_cmd_opts"

run_training() { run "${train_cmd_words[@]}" "$@"; } # as run, for what may use a GPU

# A GPU that training will want, and not get, is missed before examples are made. (Status 1: there are none on this machine.)
check_gpu() {
  if [[ $use_gpu == yes && ! -s $(model final) ]]; then
    run_training "$dir/log/use_gpu.log" cuda-gpu-available '||' test '$?' = 1
  fi
}

# Options of the program that trains are tried now, and not when examples are there: without arguments it fails in any case.
check_train_opts() {
  local more said
  [[ $train_opts ]] || return 0
  read -ra more <<<"$train_opts"
  said=$("nnet3-${kind}train" --print-args=false "${more[@]}" 2>&1 | sed -n 's/^ERROR ([^ ]*) //p' | head -n 1) || true
  [[ ! $said || $said == "Called with "* ]] || fail "--train-opts: $said"
}
check_train_opts

# ---- one training in a folder, and always the same one --------------------------------------------------------------
if [[ -f $dir/setup && $(head -n 1 "$dir/setup") == --feats=* ]] && ! grep -qsxF train.sh "$dir/.made-by"; then
  echo train.sh >>"$dir/.made-by" # a training that was begun before folders were marked
fi
claim_folder "$dir" train.sh .lock log
mkdir -p "$dir/log"
exec {lock}>"$dir/.lock"
if ! flock -n "$lock"; then
  say "another training is going on in $dir, or its last jobs are ending: waiting"
  flock "$lock"
fi

find "$dir" -mindepth 1 -maxdepth 1 -name '.tmp.*' -exec rm -rf {} + # of a driver that was killed
make_private "$dir"

setup() {
  options_except Running
  local file
  for file in "$xconfig" "$nnet_config" "$input_model" "${tree_dir:-$graph_dir}/tree" "$feats/feats.scp" "${feats#*:}" "${targets#*:}"; do
    if [[ -f $file ]] && (( $(wc -c <"$file") < 100000000 )); then echo "# $(cksum "$file")"; fi
  done
}

forget() {
  find "$dir" -mindepth 1 -maxdepth 1 ! -name .lock ! -name .made-by ! -path "$private" -exec rm -rf {} +
  mkdir -p "$dir/log"
}

if [[ $restart == true ]]; then forget; fi
old_setup=/dev/null
[[ ! -e $dir/setup ]] || old_setup=$dir/setup
# (A folder in which nothing was made yet, since the data did not fit the network, is taken again.)
if [[ -e $dir/setup && ! -e $dir/egs && -z $(find "$dir" -maxdepth 1 \( -name '[1-9]*.raw' -o -name '[1-9]*.mdl' -o -name 'final.*' \)) ]] &&
  ! setup | cmp -s - "$old_setup"; then
  say "$dir has no examples and no iteration yet: it begins anew with the present options and data"
  forget
  old_setup=/dev/null
fi
if ! setup | cmp -s - "$old_setup" && [[ -e $dir/setup || -n $(find "$dir" -maxdepth 1 -name '*.raw' -o -name '*.mdl') ]]; then
  say "$dir holds a training with other options or data (< then, > now):"
  setup | diff "$old_setup" - | grep '^[<>]' | head -n 20 >&2 || true
  [[ $restart == changed ]] || fail "take another folder, or --restart=true to begin anew there"
  forget
fi
setup >"$private/setup"
mv "$private/setup" "$dir/setup"

# ---- from here on, what exists is done ------------------------------------------------------------------------------
suffix=raw alignments=
if [[ $ali_dir ]]; then
  suffix=mdl
  alignments="ark:gunzip -c $ali_dir/ali.*.gz |"
  targets="ark:gunzip -c $ali_dir/ali.*.gz | ali-to-pdf $ali_dir/final.mdl ark:- ark:- |"
fi
began=$SECONDS
check_gpu
check_kind_of_targets targets "$targets"
check_kind_of_targets valid-targets "$valid_targets"
describe_network
check_pdfs
check_lengths
if [[ $objective == chain ]]; then
  suffix=mdl
  make_denominator
fi
set_contexts
prepare_examples
describe_to_kaldi
write_schedule
read -ra to_combine < <(models_to_combine)
make_first_model

first=0
for ((i = num_iters; i > 0; i--)); do
  if [[ -s $(model "$i") ]]; then
    first=$i
    break
  fi
done
if [[ -s $(model final) ]]; then first=$num_iters; fi
(( first == 0 )) || say "$dir has $first of $num_iters iterations already"
# lint: whole: i
while read -r -u 3 i jobs processed epoch lrate edits; do
  if (( i >= first )); then iteration "$i" "$jobs" "$processed" "$epoch" "$lrate" "$edits"; fi
done 3<"$dir/schedule.txt"
conclude
make_final_model
tidy_up
wait_for_report
shown=
[[ $report == false ]] || shown="; report: $dir/report.html"
say "done in $((SECONDS - began)) s: $(model final)$shown"
