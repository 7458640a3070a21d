# Training examples. DIR/egs is as Kaldi's drivers make and expect it (egs.N.ark, {train,valid}_diagnostic.egs, combine.egs,
# info/; of chain models cegs.N.ark and so on); it appears as a whole. With --on-the-fly there are no egs.N.ark: archive N is made of the utterances in
# DIR/data/feats.N.scp each time that it is read.

# Sets the contexts of examples: what the network needs, and what was asked for on top.
set_contexts() {
  left_context=$((model_left_context + chunk_left_context))
  right_context=$((model_right_context + chunk_right_context))
  left_context_initial=-1 right_context_final=-1
  (( chunk_left_context_initial < 0 )) || left_context_initial=$((model_left_context + chunk_left_context_initial))
  (( chunk_right_context_final < 0 )) || right_context_final=$((model_right_context + chunk_right_context_final))
}

# Sets get_egs: the words of a command, or a pipe, that makes examples, without its output.
set_get_egs() { # <data folder or rspecifier> <script file of features> <of targets>
  local ivector_options=() period
  if [[ $online_ivector_dir ]]; then
    number_in period whole "$online_ivector_dir/ivector_period" 1 1000000
    ivector_options=(--online-ivectors="scp:$online_ivector_dir/ivector_online.scp" --online-ivector-period="$period")
  fi
  if [[ $objective == chain ]]; then
    set_get_chain_egs "$@"
    return
  fi
  get_egs=(nnet3-get-egs --num-pdfs="$num_targets")
  [[ $target_type != dense ]] || get_egs=(nnet3-get-egs-dense-targets --num-targets="$num_targets")
  get_egs+=(--num-frames="$chunk_width" --left-context="$left_context" --right-context="$right_context"
    --compress="$compress" --keep-short="$keep_short")
  (( left_context_initial < 0 )) || get_egs+=(--left-context-initial="$left_context_initial")
  (( right_context_final < 0 )) || get_egs+=(--right-context-final="$right_context_final")
  (( frame_subsampling_factor == 1 )) || get_egs+=(--frame-subsampling-factor="$frame_subsampling_factor")
  get_egs+=("${ivector_options[@]}" "$(features_rspecifier "$1" "$2")" "scp:$3")
}

# Sets reader: the words of a pipe that writes the examples of an archive to its standard output, with options of the
# program that copies them.
set_reader() { # <archive, or an expression of the shell that gives its number> [<option> …]
  if [[ $on_the_fly == true ]]; then
    set_get_egs "$feats" "$dir/data/feats.$1.scp" "$targets_scp"
    reader=("${get_egs[@]}" ark:-)
    (( $# == 1 )) || reader+=(\| "nnet3-${kind}copy-egs" "${@:2}" ark:- ark:-)
  else reader=("nnet3-${kind}copy-egs" "${@:2}" "ark:$egs/$ext.$1.ark" ark:-)
  fi
}

# The same for use within an rspecifier.
read_examples() { # <archive> [<option> …]
  local word
  set_reader "$@"
  for word in "${reader[@]}"; do
    if [[ $word == *' '* && $word != \| ]]; then printf "'%s' " "$word"; else printf '%s ' "$word"; fi
  done
}

# Archives are as large as asked for, and there is at least one for each job.
choose_num_archives() {
  local most=$((num_jobs_final > num_jobs_initial ? num_jobs_final : num_jobs_initial))
  num_archives=$archives
  if (( num_archives == 0 )); then
    num_archives=$((num_frames / (chunk * samples_per_iter) + 1))
    (( num_archives >= most )) || num_archives=$most
  fi
}

prepare_examples() {
  chunk=${chunk_width%%,*} # the principal size; whole utterances count as chunks of 300 frames
  number chunk whole --chunk-width "$chunk" -1
  (( chunk > 0 )) || chunk=300
  egs=${egs_dir:-$dir/egs}
  if [[ ! $egs_dir && ( $on_the_fly == true || ! -e $egs ) ]]; then prepare_data; fi
  if [[ ! -e $egs ]]; then
    [[ ! $egs_dir ]] || fail "--egs-dir=$egs_dir: there is no such folder"
    make_examples
  fi
  check_examples
}

make_examples() {
  local to=$private/egs began=$SECONDS name
  choose_num_archives
  mkdir -p "$to/info"
  say "making examples of $num_frames frames: $num_archives archives, context $left_context before, $right_context after"
  make_subsets "$to"
  if [[ $on_the_fly == true ]]; then
    # Later ones are made while training, so a part of the utterances stands for all.
    check_losses "examples of a part of the utterances" 0 "$dir/log/get_egs.train_subset.log"
    deal_out "$num_archives"
  else make_archives "$to"
  fi
  for name in num_archives left_context right_context left_context_initial right_context_final feat_dim ivector_dim \
    num_frames frame_subsampling_factor; do
    echo "${!name}" >"$to/info/$name"
  done
  echo "$chunk_width" >"$to/info/frames_per_eg"
  if grep -q ' Output frames are distributed among chunk-sizes ' "$dir"/log/get_egs.*.log; then echo true; else echo false; fi >"$to/info/several_sizes"
  echo $((num_frames / num_archives / chunk)) >"$to/info/egs_per_archive"
  normalisation_of_features >"$to/cmvn_opts"
  mv "$to" "$egs"
  say "examples: $(du -sh "$egs" | cut -f1) in $egs, made in $((SECONDS - began)) s"
}

# The options of apply-cmvn that give what the network is trained on: Kaldi's scripts normalise means if there are no others.
normalisation_of_features() {
  if is_folder "$feats" && [[ -s $feats/cmvn.scp ]]; then echo "$cmvn_opts"; else echo "--norm-means=false --norm-vars=false"; fi
}

# What else Kaldi's scripts read in a model folder, to decode and align with it and to make graphs.
describe_to_kaldi() {
  local from=${tree_dir:-${graph_dir:-$ali_dir}} name
  for name in tree phones.txt; do
    if [[ $from && -e $from/$name ]]; then cp "$from/$name" "$dir/"; fi
  done
  if [[ $online_ivector_dir && -e $online_ivector_dir/final.ie.id ]]; then cp "$online_ivector_dir/final.ie.id" "$dir/"; fi
  if [[ $objective == chain ]] || (( frame_subsampling_factor != 1 )); then
    echo "$frame_subsampling_factor" >"$dir/frame_subsampling_factor"
  fi
}

# Small sets for diagnostics and combination.
make_subsets() { # <folder>
  local to=$1 log=$dir/log set
  set_get_egs "$valid_source" "$dir/data/feats.valid.scp" "$valid_targets_scp"
  run "$log/get_egs.valid.log" "${get_egs[@]}" "ark:$to/valid.$ext"
  set_get_egs "$feats" "$dir/data/feats.train_subset.scp" "$targets_scp"
  run "$log/get_egs.train_subset.log" "${get_egs[@]}" "ark:$to/train.$ext"
  for set in valid train; do
    run "$log/subset.$set.log" "nnet3-${kind}subset-egs" --n=$((num_frames_diagnostic / chunk)) --srand="$srand" \
      "ark:$to/$set.$ext" "ark:$to/${set}_diagnostic.$ext"
  done
  run "$log/subset.combine.log" "nnet3-${kind}subset-egs" --n=$((num_frames_combine / chunk)) --srand="$srand" \
    "ark:$to/train.$ext" "ark:$to/combine.$ext"
  rm "$to/valid.$ext" "$to/train.$ext"
  for set in valid_diagnostic train_diagnostic combine; do
    [[ -s $to/$set.$ext ]] || fail "there are no examples in $to/$set.$ext; see $log/get_egs.*.log"
  done
}

# Each of `nj` jobs deals its examples out to all archives at random; then each archive is shuffled in memory. With more
# archives than files can be open, they are dealt out to a part of them first, and those are split after shuffling.
make_archives() { # <folder>
  local to=$1 jobs=$nj parts=1 files i part without outputs=() split=() logs=()
  (( jobs <= $(count_lines "$dir/data/feats.train.scp") )) || jobs=$(count_lines "$dir/data/feats.train.scp")
  while files=$(((num_archives + parts - 1) / parts)) && (( files > 250 )); do parts=$((parts + 1)); done
  num_archives=$((files * parts))
  deal_out "$jobs"
  for ((i = 1; i <= files; i++)); do outputs+=("ark:$to/orig.JOB.$i.ark"); done
  set_get_egs "$feats" "$dir/data/feats.JOB.scp" "$targets_scp"
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$dir/log/get_egs.JOB.log" "${get_egs[@]}" ark:- \| \
    "nnet3-${kind}copy-egs" --random=true --srand="\$[JOB+$srand]" ark:- "${outputs[@]}"
  for ((i = 1; i <= jobs; i++)); do logs+=("$dir/log/get_egs.$i.log"); done
  number_in without whole "$dir/data/num_without_targets" 0
  check_losses examples "$without" "${logs[@]}"
  if (( parts == 1 )); then outputs=("ark:$to/$ext.JOB.ark")
  else
    outputs=()
    for ((part = 1; part <= parts; part++)); do outputs+=("ark:$to/$ext.\$[(JOB-1)*$parts+$part].ark"); done
    split=(ark:- \| "nnet3-${kind}copy-egs" ark:-)
  fi
  run --max-jobs-run "$nj" JOB=1:"$files" "$dir/log/shuffle.JOB.log" "nnet3-${kind}shuffle-egs" --srand="\$[JOB+$srand]" \
    "ark:cat $to/orig.*.JOB.ark |" "${split[@]}" "${outputs[@]}"
  rm -f "$to"/orig.*.ark "$dir"/data/{feats,graphs}.[0-9]*.scp
}

# Examples may come from elsewhere: they have to fit the network.
check_examples() {
  local info=$egs/info name found
  [[ -s $info/num_archives ]] || fail "$egs has no info/num_archives"
  number_in num_archives whole "$info/num_archives" 1 1000000
  for name in left_context right_context; do
    number_in found whole "$info/$name" 0 1000000000
    (( found >= ${!name} )) || # lint: whole: numbers of this script
      fail "the examples in $egs have a ${name//_/ } of $found, but ${!name} is needed"
  done
  for name in left_context_initial right_context_final; do
    [[ -e $info/$name ]] || continue
    number_in found whole "$info/$name" -1 1000000000
    if [[ $found != "${!name}" ]]; then
      fail "the examples in $egs have ${name//_/ } $found, but ${!name} was asked for"
    fi
  done
  for name in feat_dim ivector_dim; do
    [[ -e $info/$name ]] || continue
    number_in found whole "$info/$name" 0 1000000000
    if [[ $found != "${!name}" ]]; then
      fail "the examples in $egs have ${name//_/ } $found, the network ${!name}"
    fi
  done
  [[ -r $info/frames_per_eg ]] || fail "$egs has no info/frames_per_eg"
  found=$(head -n 1 "$info/frames_per_eg" | tr -d '\0')
  [[ $found == -1 ]] || numbers found , "$info/frames_per_eg" "$found" 1 1000000
  [[ $found == "$chunk_width" ]] ||
    fail "the examples in $egs have chunks of $found frames, but --chunk-width=$chunk_width"
  (( num_jobs_final <= num_archives && num_jobs_initial <= num_archives )) ||
    fail "$num_jobs_final jobs need as many archives, but $egs has $num_archives; give --archives"
  # Programs merge examples of one size, and a rule with a single number discards what does not fill a minibatch: all of a rare size.
  if [[ $minibatch_size != *[!0-9]* && -r $info/several_sizes && $(head -n 1 "$info/several_sizes" | tr -d '\0') == true ]]; then
    minibatch_size=1:$minibatch_size
    say "examples have several sizes: --minibatch-size=$minibatch_size, so that rare ones are used, too"
  fi
  frames_per_archive=1
  if [[ $frame_level == true ]]; then frames_per_archive=$chunk; fi
  if [[ $objective == chain ]]; then frames_per_archive=$frame_subsampling_factor; fi
  for name in cmvn_opts final.mat global_cmvn.stats online_cmvn; do
    if [[ -e $egs/$name ]]; then cp "$egs/$name" "$dir/"; fi
  done
}
