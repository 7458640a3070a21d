# The tree of phones in context, and the chain model.

context=(--context-width=2 --central-position=1)

default_leaves() { h="$hours" awk 'BEGIN { h = ENVIRON["h"]; n = int(300 * sqrt(h)); print (n < 60 ? 60 : n > 6000 ? 6000 : n) }'; }

do_tree() {
  [[ $model != gaussian ]] || return 0
  local leaves=$num_leaves # lint: whole: leaves
  (( leaves > 0 )) || leaves=$(default_leaves)
  step "the tree of phones in context" tree make_tree "=ali" "=feats/train" "@$dir/lang/phones/roots.int" \
    "@$dir/lang/phones/extra_questions.int" "$leaves"
  say "the tree has $(num_pdfs "$dir/tree/tree") leaves"
}

# tree, final.mdl, and the alignments in its terms.
make_tree() {
  local ali=$dir/ali phones=$dir/lang/phones jobs feats options=("${context[@]}") stats=() job
  jobs=$(find "$ali" -name 'ali.*.gz' | wc -l) # lint: whole: jobs
  for ((job = 1; job <= jobs; job++)); do
    awk 'NR == FNR { wanted[$1]; next } $1 in wanted' "$ali/text.$job" "$dir/feats/train/feats.scp" >"$out/feats.$job.scp"
    stats+=("$out/$job.treeacc")
  done
  # What tells sounds apart: the first cepstra and how they change, every third frame.
  feats="add-deltas scp:$out/feats.JOB.scp ark:- |"
  [[ $feature_type == fbank ]] || feats="select-feats 0-12 scp:$out/feats.JOB.scp ark:- | add-deltas ark:- ark:- |"
  feats="ark:$feats subsample-feats --n=3 ark:- ark:- |"
  run --max-jobs-run "$nj" JOB=1:"$jobs" "${log}_acc.JOB.log" acc-tree-stats "${options[@]}" --ci-phones="$(<"$phones/silence.csl")" "$ali/final.mdl" \
    "$feats" "ark:gunzip -c $ali/ali.JOB.gz |" "$out/JOB.treeacc"
  run "${log}_sum.log" sum-tree-stats "$out/treeacc" "${stats[@]}"
  run "${log}_questions.log" cluster-phones "${options[@]}" "$out/treeacc" "$phones/sets.int" "$out/questions.int"
  cat "$phones/extra_questions.int" >>"$out/questions.int"
  run "${log}_questions2.log" compile-questions "${options[@]}" "$dir/lang/topo" "$out/questions.int" "$out/questions.qst"
  run "${log}_build.log" build-tree "${options[@]}" --verbose=1 --max-leaves="$leaves" --cluster-thresh=-1 "$out/treeacc" "$phones/roots.int" \
    "$out/questions.qst" "$dir/lang/topo" "$out/tree"
  run "${log}_init.log" gmm-init-model "$out/tree" "$out/treeacc" "$dir/lang/topo" "$out/final.mdl"
  run --max-jobs-run "$nj" JOB=1:"$jobs" "${log}_convert.JOB.log" convert-ali "$ali/final.mdl" "$out/final.mdl" "$out/tree" \
    "ark:gunzip -c $ali/ali.JOB.gz |" "ark:| gzip -c >$out/ali.JOB.gz"
  cp "$dir/lang/phones.txt" "$out"
  rm -f "$out"/*treeacc "$out"/questions.* "$out"/feats.*
}

do_chain() {
  [[ $model != gaussian ]] || return 0
  local size pdfs epochs minibatch folder=chain/model input_dim=40 speakers=()
  number pdfs whole "number of pdfs in $dir/tree/tree" "$(num_pdfs "$dir/tree/tree")" 1
  size=$(choose_by_hours "$network" 0.5 tiny 10 small 200 medium large)
  mkdir -p "$dir/chain"
  [[ $ivectors == false ]] || speakers=("=ivectors/$train_set")
  if [[ $adapt_speakers == true ]]; then
    folder=chain/adapted
    number input_dim whole "rows of $dir/gauss/model/final.mat" "$(copy-matrix --print-args=false --binary=false "$dir/gauss/model/final.mat" - 2>/dev/null | grep -c '[0-9]')" 1
  fi
  write_network "$size" "$pdfs" lda "$dir/chain/network.xconfig"
  # Little data make few steps: more passes, and smaller minibatches.
  epochs=$num_epochs minibatch=1:64
  if ! is_less 0 "$num_epochs"; then
    # Copies are harder to learn: twice as many steps, and three times as many where half of them have transforms.
    epochs=$(h="$hours" versions="$versions" adapted="$adapt_speakers" awk 'BEGIN { h = ENVIRON["h"] + 0; n = ENVIRON["versions"] + 0
      print sprintf("%.3g", (h >= 0.3 ? 6 : h < 0.09 ? 20 : 6 * 0.3 / h) * (n > 1 ? (ENVIRON["adapted"] == "true" ? 3 : 2) / n : 1)) }')
    if is_less "$hours" 0.15; then minibatch=1:16; fi
  fi
  local what=("=$train_ali" "=feats/$train_set" "@$dir/chain/network.xconfig" "$chunk_width" "$tolerance" "$epochs" "$minibatch" "$initial_lrate"
    "$final_lrate" "$num_jobs_initial" "$num_jobs_final" "$train_opts" "$calibrate" "${speakers[@]}")
  if (( networks == 1 )); then training_step "training of the model" $folder train_chain "${what[@]}" "$srand"
  else train_ensemble
  fi
  [[ $adapt_speakers == false ]] || step "the network for speakers without transforms" chain/model network_of_cepstra "=chain/adapted" "=gauss/model"
}

# Several networks, which differ by their seeds, and $folder with the mean of their outputs. They learn from the same examples.
train_ensemble() {
  local number srand=$srand members=() # lint: whole: number
  for ((number = 1; number <= networks; number++)); do
    training_step "training of network $number of $networks" "chain/networks/$number" train_member "${what[@]}" "$srand"
    members+=("=chain/networks/$number")
    srand=$((srand + 1))
  done
  step "the mean of $networks networks" "$folder" mean_of_networks "$calibrate" "${members[@]}"
  rm -rf "$dir/chain/networks/1/egs"
}

train_member() {
  local examples=$dir/chain/networks/1/egs calibrate=false # (Their mean is calibrated.)
  if (( number == 1 )); then
    train_chain --remove-egs=false
    cp "$examples/valid_diagnostic.cegs" "$to/valid.cegs"
  elif [[ -e $examples ]]; then train_chain --feats= --egs-dir="$examples"
  else train_chain
  fi
}

# A folder as that of a training.
mean_of_networks() {
  local models=("${members[@]/#=/$dir/}") first=$dir/chain/networks/1 mean=$out/final.mdl
  [[ $calibrate == false ]] || mean=$private/mean.mdl
  run "$log.log" nnet3-am-ensemble "${models[@]/%//final.mdl}" "$mean"
  [[ $calibrate == false ]] ||
    calibrate "$mean" "$first/den.fst" "$first/valid.cegs" "--leaky-hmm-coefficient=0.1" "${log}_calibration" "$out/final.mdl"
  describe_as "$first"
  # (The choice between network and Gaussian models compares them on these utterances.)
  mkdir "$out/data"
  cp "$first/data/valid" "$out/data"
}

# What is beside the model in the folder of a training.
describe_as() { # <folder of a training>
  local name
  for name in tree frame_subsampling_factor cmvn_opts den.fst normalization.fst phone_lm.fst; do
    [[ ! -e $1/$name ]] || cp "$1/$name" "$out"
  done
}

train_chain() { # [<option of train.sh> …]
  local more=()
  # (Lattices are those of the originals. Copies have the best paths.)
  [[ $start != flat || $train_ali != tree ]] || more=(--lat-dir="$dir/ali" --alignment-subsampling-factor=1)
  [[ $ivectors == false ]] || more+=(--online-ivector-dir="$dir/ivectors/$train_set")
  train_sh --calibrate="$calibrate" --feats="$dir/feats/$train_set" --tree-dir="$dir/$train_ali" "${more[@]}" --xconfig="$dir/chain/network.xconfig" \
    --left-tolerance="$tolerance" --right-tolerance="$tolerance" --chunk-width="$chunk_width" --minibatch-size="$minibatch" --num-epochs="$epochs" \
    --initial-effective-lrate="$initial_lrate" --final-effective-lrate="$final_lrate" "$@" "$to"
}
