# Checks of dev/test-train.sh: chain models.

train_chain() { # <name> <options> …
  scripts/train.sh --objective=chain --feats="scp:$data/feats.scp" --archives=2 --num-epochs=2 --num-jobs-initial=1 \
    --num-jobs-final=2 --initial-effective-lrate=0.002 --final-effective-lrate=0.0005 --use-gpu=no \
    --xconfig="$work/chain_data/tdnn.xconfig" "${@:2}" "$work/$1"
}

chain_objectives() { # <name>: of the final model on validation data, of output and output-xent
  sed -n "s/.* Overall log-probability for '\(output[-a-z]*\)' is \([^ ]*\) .*/\1 \2/p" \
    "$work/$1/log/compute_prob_valid.final.log" | sort | cut -d' ' -f2 | paste -sd' '
}

chain_reaches() { # <objective> <cross-entropy> <name> <options> …
  train_chain "${@:3}" || return 1
  echo "objectives $(chain_objectives "$3"), expected $1 $2"
  nnet3-am-info "$work/$3/final.mdl" >/dev/null && chain_objectives "$3" |
    a="$1" b="$2" awk 'BEGIN { a = ENVIRON["a"]; b = ENVIRON["b"] } { ok = NF == 2 && $1 >= a && $2 >= b } END { exit !ok }'
}

what_kaldi_reads() { # and no phones.txt, as there is none where the tree lies
  cmp "$work/chain_data/tree/tree" "$work/chain/tree" && diff "$work/chain/frame_subsampling_factor" - <<<3 && is_not_normalised chain &&
    [[ ! -e $work/chain/phones.txt ]]
}

chain_report_is_whole() {
  grep -q '100.0%' "$work/chain/report.html" && grep -q '<th>validation cross-entropy' "$work/chain/report.html" &&
    [[ $(grep -o '<svg' "$work/chain/report.html" | wc -l) == 6 ]]
}

# A model that is not too sure stays as it is. If it is made too sure, its output gets about the factor that makes up for it, and the objective of
# what was kept for validation is higher.
is_calibrated() {
  local said factor
  train_chain chain-calibrated "${from_lattices[@]}" --calibrate=true 2>"$own/said" || { cat "$own/said"; return 1; }
  grep -q 'calibration: the output stays as it is' "$own/said" && cmp "$work/chain/final.mdl" "$work/chain-calibrated/final.mdl" || return 1
  echo 'output-node name=output input=Scale(2.5, output.affine) objective=linear' >"$work/sure.config"
  nnet3-am-copy --nnet-config="$work/sure.config" "$work/chain/final.mdl" "$work/sure.mdl" || return 1
  said=$(
    private=$work/calibration
    mkdir "$private"
    source scripts/common/values.sh
    source scripts/train/calibration.sh
    run() { "${@:2}" >"$1" 2>&1; }
    say() { echo "$*"; }
    calibrate "$work/sure.mdl" "$work/chain/den.fst" "$work/chain/egs/valid_diagnostic.cegs" --leaky-hmm-coefficient=0.1 "$work/calibration/log" "$work/calibrated.mdl"
  )
  echo "$said"
  factor=$(nnet3-am-info --print-args=false "$work/calibrated.mdl" | sed -n 's/^output-node name=output input=Scale(\([0-9.]*\), output.affine) .*/\1/p')
  echo "factor $factor in all"
  factor=$factor awk 'BEGIN { f = ENVIRON["factor"]; exit !(f > 1.2 && f < 1.4) }' &&
    awk '{ sub(/,$/, "", $(NF - 3)); exit !($NF + 0 > $(NF - 3) + 0 && $NF > -0.18) }' <<<"$said"
}

refuses_chain() { # <pattern> <options> …
  if ! train_chain refused "${@:2}" 2>"$own/said" && grep -q -- "$1" "$own/said"; then return; fi
  cat "$own/said"
  return 1
}

subsampled_lattices() {
  mkdir -p "$work/third/lats"
  cp "$work/chain_data/lats/final.mdl" "$work/third/lats"
  every_third <"$work/chain_data/ali.txt" | awk '{ ids = $2; for (i = 3; i <= NF; i++) ids = ids "_" $i; print $1 "\n0 1 1 0,0," ids "\n1 0,0,\n" }' |
    lattice-copy ark:- ark:- | gzip -c >"$work/third/lats/lat.1.gz"
  refuses_early "expected --alignment-subsampling-factor=1, found 3" train_chain early5 "${from_lattices[@]}" --lat-dir="$work/third/lats" &&
    refuses_early "expected --alignment-subsampling-factor=3, found 1" train_chain early6 "${from_lattices[@]}" --alignment-subsampling-factor=1
}

chain_survives() {
  local pid attempt struck=0
  for ((attempt = 0; attempt < 4; attempt++)); do
    setsid scripts/train.sh --objective=chain --feats="scp:$data/feats.scp" --archives=2 --num-epochs=2 --num-jobs-initial=1 \
      --num-jobs-final=2 --initial-effective-lrate=0.002 --final-effective-lrate=0.0005 --use-gpu=no \
      --xconfig="$work/chain_data/tdnn.xconfig" "${from_lattices[@]}" "$work/chain-killed" 2>>"$work/killed.log" &
    pid=$!
    sleep "$(r=$RANDOM awk 'BEGIN { r = ENVIRON["r"]; printf "%.3f", 0.1 + 0.8 * r / 32768 }')"
    pkill -KILL --session $pid && struck=$((struck + 1))
    wait $pid 2>/dev/null
    [[ ! -e $work/chain-killed/final.mdl ]] || rm -rf "${work:?}/chain-killed"
  done
  train_chain chain-killed "${from_lattices[@]}" || return 1
  echo "struck $struck times"
  (( struck > 0 )) && cmp "$work/chain-killed/final.mdl" "$work/chain.final"
}

# Most look at one training.
chain_models() {
  tests/train/toy_chain.sh "$data" "$work/chain_data"
  from_lattices=(--tree-dir="$work/chain_data/tree" --lat-dir="$work/chain_data/lats" --chunk-width=60 --minibatch-size=16)
  from_graphs=(--graph-dir="$work/chain_data/graphs" --chunk-width=201 --minibatch-size=1:8)
  words='' check "train.sh: a chain model" chain_reaches -0.19 -0.60 chain "${from_lattices[@]}"
  cp "$work/chain/final.mdl" "$work/chain.final"
  check "train.sh: a chain model has what Kaldi's scripts read" what_kaldi_reads
  check "train.sh: a report with both objectives" chain_report_is_whole
  check "train.sh: a chain model again: nothing to do" \
    eval 'train_chain chain "${from_lattices[@]}" && cmp "$work/chain/final.mdl" "$work/chain.final"' # lint: words of this script
  check "train.sh: a chain model, examples on the fly, no combination" \
    chain_reaches -0.20 -0.65 chain-fly "${from_lattices[@]}" --on-the-fly=true --do-final-combination=false
  check "train.sh: a chain model whose output is calibrated" is_calibrated
  check "train.sh: calibration without LF-MMI is refused" \
    eval 'refuses calibrated-frames "${tdnn[@]}" --calibrate=true | grep -q -e "--calibrate=true is for --objective=chain"' # lint: words of this script
  check "train.sh: a chain model, times left open within chunks" \
    chain_reaches -0.20 -0.65 chain-free "${from_lattices[@]}" --constrained=false
  check "train.sh: a chain model without alignments" chain_reaches -0.20 -0.75 chain-e2e "${from_graphs[@]}" --num-epochs=3
  check "train.sh: a chain model without alignments, examples on the fly" \
    chain_reaches -0.20 -0.75 chain-e2e-fly "${from_graphs[@]}" --num-epochs=3 --on-the-fly=true
  sed 's/dim=6/dim=5/' "$work/chain_data/tdnn.xconfig" >"$work/five_pdfs.xconfig"
  grep -v xent "$work/chain_data/tdnn.xconfig" >"$work/no_xent.xconfig"
  check "train.sh: a network that does not fit the tree is refused" \
    refuses_chain 'output has 5 columns, but .*/tree has 6 pdfs' "${from_lattices[@]}" --xconfig="$work/five_pdfs.xconfig"
  check "train.sh: a network without output-xent is refused" refuses_chain "needs an output node 'output-xent'" \
    "${from_lattices[@]}" --xconfig="$work/no_xent.xconfig" --restart=true
  check "train.sh: lattices of every third frame name --alignment-subsampling-factor" subsampled_lattices
  check "train.sh: alignments of a tree with a frame for each of the features are refused at the start" refuses_early \
    "has a frame for each frame of the features, but the network has an output for every 3 frames: expected alignments of the outputs" \
    train_chain early7 --tree-dir="$work/chain_data/tree" --chunk-width=60 --minibatch-size=16
  check "train.sh: lattices and graphs are refused" refuses_chain 'not both' "${from_lattices[@]}" "${from_graphs[@]}"
  check "train.sh: targets for a chain model are refused" \
    refuses_chain 'supervision comes from' "${from_lattices[@]}" --targets="ark:$data/ali.ark"
  check "train.sh: a chain model, killed at random moments" chain_survives
}
