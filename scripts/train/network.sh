# From an xconfig, configs or a model to the first model, 0.raw or 0.mdl. Programs write files whole or not at all, so a file
# that is there is done.

# The first whole number after a label in what nnet3-info says.
info_number() { sed -n "s/^$1: \([0-9]*\)$/\1/p" "$dir/network.info"; }

# Sets model_left_context, model_right_context, num_targets, feat_dim and ivector_dim of the network to be trained.
describe_network() {
  local described=$dir/ref.raw
  configs=$dir/configs
  if [[ $input_model ]]; then described=$input_model
  else
    if [[ $xconfig ]]; then
      run "$dir/log/xconfig.log" nnet3-xconfig-to-configs --xconfig-file="$xconfig" --config-dir="$configs"
    elif [[ $config_dir ]]; then configs=$config_dir
    else
      mkdir -p "$configs"
      cp "$nnet_config" "$configs/final.config"
    fi
    local config=$configs/ref.config
    [[ -e $config ]] || config=$configs/final.config
    [[ -e $config ]] || fail "$configs has no final.config"
    run "$dir/log/init_ref.log" nnet3-init --srand=-3 "$config" "$described"
  fi
  nnet3-info --print-args=false "$described" >"$dir/network.info" 2>"$dir/log/info.log" ||
    fail_with_log "nnet3-info failed" "$dir/log/info.log"
  model_left_context=$(info_number left-context)
  [[ $model_left_context ]] || fail "the network needs an input node 'input' and an output node 'output'"
  number model_left_context whole "the network's left context" "$model_left_context" 0 1000000000
  number model_right_context whole "the network's right context" "$(info_number right-context)" 0 1000000000
  num_targets=$(sed -n 's/^output-node name=output .* dim=\([0-9]*\).*/\1/p' "$dir/network.info")
  feat_dim=$(sed -n 's/^input-node name=input dim=\([0-9]*\).*/\1/p' "$dir/network.info")
  ivector_dim=$(sed -n 's/^input-node name=ivector dim=\([0-9]*\).*/\1/p' "$dir/network.info")
  number num_targets whole "columns of the network's output" "$num_targets" 1 1000000000
  number feat_dim whole "columns of the network's input" "$feat_dim" 1 1000000000
  number ivector_dim whole "columns of the network's i-vectors" "${ivector_dim:-0}" 0 1000000000
}

# Network configs that read a matrix …lda.mat get one that is estimated from examples, wherever they say that it lies.
needs_lda() { [[ ! $input_model && -e $configs/init.config ]] && grep -q ' matrix=[^ ]*lda\.mat' "$configs/final.config"; }

estimate_lda() {
  local jobs=$((num_archives < max_lda_jobs ? num_archives : max_lda_jobs)) stats=() job
  if [[ -s $dir/lda.mat ]]; then return; fi
  [[ ! $graph_dir ]] || fail "a layer reads …lda.mat, which is estimated from alignments: with --graph-dir there are none"
  say "estimating the transform of the input"
  run "$dir/log/init.log" nnet3-init --srand=-2 "$configs/init.config" "$dir/init.raw"
  run JOB=1:$jobs "$dir/log/lda_acc.JOB.log" "nnet3-${kind}acc-lda-stats" --rand-prune="$rand_prune" "$dir/init.raw" \
    "ark:$(read_examples JOB)|" "$dir/lda.JOB.acc"
  for ((job = 1; job <= jobs; job++)); do stats+=("$dir/lda.$job.acc"); done
  run "$dir/log/lda_sum.log" sum-lda-accs "$dir/lda.acc" "${stats[@]}"
  run "$dir/log/lda.log" nnet-get-feature-transform "$dir/lda.mat" "$dir/lda.acc"
  rm -f "$dir/lda.acc" "${stats[@]}" "$dir/init.raw"
}

make_first_model() {
  if [[ -s $(model 0) ]]; then return; fi
  local config=$configs/final.config raw=$dir/0.raw
  if needs_lda; then
    estimate_lda
    config=$dir/final.config
    sed "s|\( matrix=\)[^ ]*lda\.mat|\1$dir/lda.mat|" "$configs/final.config" >"$config"
  fi
  [[ $suffix == raw ]] || raw=$dir/init.raw
  if [[ $input_model ]]; then run "$dir/log/init.log" nnet3-copy "$input_model" "$raw"
  else run "$dir/log/init.log" nnet3-init --srand="$srand" "$config" "$raw"
  fi
  if [[ $ali_dir ]]; then
    run "$dir/log/am_init.log" nnet3-am-init "$ali_dir/final.mdl" "$raw" - \| \
      nnet3-am-train-transitions - "$alignments" "$dir/0.mdl"
    rm -f "$raw"
  elif [[ $objective == chain ]]; then
    run "$dir/log/am_init.log" nnet3-am-init "$dir/0.trans_mdl" "$raw" "$dir/0.mdl"
    rm -f "$raw"
  fi
}
