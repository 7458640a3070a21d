# What trainings of chain models (LF-MMI) have on top: phone language model, denominator graph, supervision of utterances.

# Sets what depends on the objective: names of programs, ending of archives, options of the programs that compute it, defaults.
set_objective() {
  local default name
  kind='' ext=egs
  if [[ $objective != chain ]]; then return; fi
  kind=chain- ext=cegs
  for default in chunk-width=150 frame-subsampling-factor=3 samples-per-iter=5000 num-frames-diagnostic=60000; do
    name=${default%=*}
    [[ ${option_given[$name]-} ]] || printf -v "${name//-/_}" %s "${default#*=}" # lint: an option's name
  done
  chain_options=(--l2-regularize="$l2_regularize" --leaky-hmm-coefficient="$leaky_hmm_coefficient"
    --xent-regularize="$xent_regularize")
}

check_chain_options() {
  local file name
  [[ ! $targets && ! $ali_dir && ! $valid_feats ]] ||
    fail "--objective=chain: supervision comes from --lat-dir or --graph-dir, validation data from the training data"
  [[ $tree_dir || $graph_dir ]] || fail "--objective=chain needs a --tree-dir, or a --graph-dir for training without alignments"
  [[ ! ( $tree_dir && $graph_dir ) ]] || fail "give --tree-dir or --graph-dir, not both"
  [[ ! ( $lat_dir && $graph_dir ) ]] || fail "give --lat-dir or --graph-dir, not both"
  [[ $frame_level == false ]] || fail "--frame-level=true is not for chain models"
  [[ $compute_average_posteriors == false ]] || fail "--compute-average-posteriors=true is not for chain models"
  [[ $compute_per_dim_accuracy == false ]] || fail "--compute-per-dim-accuracy=true is not for chain models"
  for file in tree final.mdl; do need_file "${graph_dir:+graph}${tree_dir:+tree}-dir" "${graph_dir:-$tree_dir}/$file"; done
  if [[ $graph_dir ]]; then
    need_file graph-dir "$graph_dir/phone_lm.fst"
    need_file graph-dir "$graph_dir/fst.1.scp"
    [[ $chunk_width != -1 ]] || fail "--graph-dir: examples are whole utterances; give the lengths that they may have as --chunk-width"
    [[ $constrained == true ]] || fail "--constrained=false is for --lat-dir: supervision from a --graph-dir says nothing about times"
    [[ ! $deriv_weights_scp ]] || fail "--deriv-weights-scp is for --lat-dir"
    [[ $lattice_lm_scale =~ ^0*\.?0*$ ]] || fail "--lattice-lm-scale is for --lat-dir"
  else
    need_file tree-dir "$tree_dir/ali.1.gz"
    [[ $lat_dir || $egs_dir || ( $lattice_lm_scale =~ ^0*\.?0*$ && ! $lattice_prune_beam && ! ${option_given[alignment-subsampling-factor]-} ) ]] ||
      fail "--lattice-lm-scale, --lattice-prune-beam and --alignment-subsampling-factor are for --lat-dir"
    [[ ! $lat_dir ]] || for file in final.mdl lat.1.gz; do need_file lat-dir "$lat_dir/$file"; done
  fi
  [[ $chunk_width != -1 ]] || fail "--chunk-width=-1: expected numbers such as 150,110,90; chain examples are chunks of these sizes"
  need_file deriv-weights-scp "$deriv_weights_scp"
  { is_less 0 "$leaky_hmm_coefficient" && is_less "$leaky_hmm_coefficient" 1; } ||
    fail "--leaky-hmm-coefficient=$leaky_hmm_coefficient: expected a number between 0 and 1"
  is_less "$lattice_lm_scale" 0 && fail "--lattice-lm-scale=$lattice_lm_scale: expected at least 0, below 1"
  is_less "$lattice_lm_scale" 1 || fail "--lattice-lm-scale=$lattice_lm_scale: expected at least 0, below 1"
  is_less "$xent_regularize" 0 && fail "--xent-regularize=$xent_regularize: expected a number that is not negative"
  return 0
}

# tree, 0.trans_mdl, phone_lm.fst, den.fst, normalization.fst in DIR.
make_denominator() {
  local from=${graph_dir:-$tree_dir} words
  [[ $xent_regularize =~ ^0*\.?0*$ ]] || grep -q '^output-node name=output-xent ' "$dir/network.info" ||
    fail "--xent-regularize=$xent_regularize needs an output node 'output-xent'; give 0 for a network without it"
  cp "$from/tree" "$dir/tree"
  [[ -s $dir/0.trans_mdl ]] || run "$dir/log/transitions.log" copy-transition-model "$from/final.mdl" "$dir/0.trans_mdl"
  if [[ ! -s $dir/phone_lm.fst ]]; then
    if [[ $graph_dir ]]; then cp "$graph_dir/phone_lm.fst" "$private/phone_lm.fst"
    else
      read -ra words <<<"$lm_opts"
      run "$dir/log/make_phone_lm.log" gunzip -c "$tree_dir/ali.*.gz" \| ali-to-phones "$tree_dir/final.mdl" ark:- ark:- \| \
        chain-est-phone-lm "${words[@]}" ark:- "$private/phone_lm.fst"
    fi
    mv "$private/phone_lm.fst" "$dir/phone_lm.fst"
  fi
  if [[ ! -s $dir/den.fst || ! -s $dir/normalization.fst ]]; then
    run "$dir/log/make_den_fst.log" chain-make-den-fst "$dir/tree" "$dir/0.trans_mdl" "$dir/phone_lm.fst" "$dir/den.fst" \
      "$dir/normalization.fst"
  fi
}

# Sets REPLY to the script file of the utterances' supervision, or of their training graphs.
supervision() {
  local all=$dir/data/supervision.scp jobs job prune='' options=() scps=()
  REPLY=$all
  if [[ -e $all ]]; then return; fi
  if [[ $graph_dir ]]; then cat "$graph_dir"/fst.[0-9]*.scp >"$private/supervision.scp"
  elif [[ ! $lat_dir ]]; then
    # The phones of the tree's alignments, which have a frame for each output.
    options=(--left-tolerance="$left_tolerance" --right-tolerance="$right_tolerance")
    [[ $constrained == true ]] || options+=(--convert-to-pdfs=false)
    say "making supervision of the alignments in $tree_dir"
    run "$dir/log/supervision.log" gunzip -c "$tree_dir/ali.*.gz" \| ali-to-phones --write-lengths=true "$tree_dir/final.mdl" ark:- ark:- \| \
      chain-get-supervision "${options[@]}" "$dir/tree" "$dir/0.trans_mdl" ark:- "ark,scp:$dir/data/supervision.ark,$private/supervision.scp"
  else
    for ((jobs = 1; jobs < 100000; jobs++)); do [[ -e $lat_dir/lat.$((jobs + 1)).gz ]] || break; done
    if [[ $lattice_prune_beam ]]; then
      prune=" lattice-prune --acoustic-scale=$lattice_acwt --beam=$lattice_prune_beam ark:- ark:- |"
      is_less 0 "$lattice_prune_beam" || prune=" lattice-1best --acoustic-scale=$lattice_acwt ark:- ark:- |"
    fi
    options=(--lattice-input=true --frame-subsampling-factor="$alignment_subsampling_factor"
      --left-tolerance="$left_tolerance" --right-tolerance="$right_tolerance" --lm-scale="$lattice_lm_scale")
    [[ $constrained == true ]] || options+=(--convert-to-pdfs=false)
    say "making supervision of $jobs archives of lattices"
    run --max-jobs-run "$nj" JOB=1:$jobs "$dir/log/supervision.JOB.log" lattice-align-phones --replace-output-symbols=true \
      "$lat_dir/final.mdl" "ark:gunzip -c $lat_dir/lat.JOB.gz |$prune" ark:- \| chain-get-supervision "${options[@]}" \
      "$dir/tree" "$dir/0.trans_mdl" ark:- "ark,scp:$dir/data/supervision.JOB.ark,$dir/data/supervision.JOB.scp"
    for ((job = 1; job <= jobs; job++)); do scps+=("$dir/data/supervision.$job.scp"); done
    cat "${scps[@]}" >"$private/supervision.scp"
  fi
  [[ -s $private/supervision.scp ]] || fail "there are no utterances in ${graph_dir:-$lat_dir}"
  mv "$private/supervision.scp" "$all"
}

# Training graphs of the utterances of each list of features: the program that makes examples of them goes through the graphs.
list_graphs() { # <list of features> …
  local list
  [[ $graph_dir ]] || return 0
  for list; do select_lines "$list" "$targets_scp" >"${list%/*}/graphs.${list##*/feats.}"; done
}

# Sets get_egs as set_get_egs does, for chain examples.
set_get_chain_egs() { # <data folder or rspecifier> <script file of features> <of supervision>
  local before=$((left_context + frame_subsampling_factor / 2)) after=$((right_context + frame_subsampling_factor / 2)) scale
  local options=(--num-frames="$chunk_width" --left-context="$before" --right-context="$after" --compress="$compress"
    --frame-subsampling-factor="$frame_subsampling_factor" --srand="$srand")
  (( left_context_initial < 0 )) || options+=(--left-context-initial=$((left_context_initial + frame_subsampling_factor / 2)))
  (( right_context_final < 0 )) || options+=(--right-context-final=$((right_context_final + frame_subsampling_factor / 2)))
  if [[ $online_ivector_dir ]]; then options+=("${ivector_options[@]}"); fi
  if [[ $graph_dir ]]; then
    get_egs=(nnet3-chain-e2e-get-egs "${options[@]}" "$(features_rspecifier "$1" "$2")" "scp:${2%/*}/graphs.${2##*/feats.}" "$dir/0.trans_mdl" ark:-)
    scale=1
  else
    [[ $constrained == true ]] || options+=(--transition-model="$dir/0.trans_mdl")
    options+=(--keep-short="$keep_short")
    [[ ! $deriv_weights_scp ]] || options+=(--deriv-weights-rspecifier="scp:$deriv_weights_scp")
    get_egs=(nnet3-chain-get-egs "${options[@]}" "$(features_rspecifier "$1" "$2")" "scp:$3" ark:-)
    scale=$(s=$lattice_lm_scale awk 'BEGIN { printf "%.7g", 1 - ENVIRON["s"] }')
  fi
  get_egs+=(\| nnet3-chain-normalize-egs --normalization-fst-scale="$scale" "$dir/normalization.fst" ark:-)
}
