# After the last iteration: combination of the last models, priors or calibration, tidying up.

# The objective for combination is computed in minibatches of any size up to the one for training.
combination_minibatch_size() {
  if [[ $minibatch_size =~ ^[0-9]+$ ]]; then echo "1:$minibatch_size"; else echo "$minibatch_size"; fi
}

combine() { # <name of the result>
  local models=() number out options=()
  # As in Kaldi's driver, the cross-entropy has no part in this.
  [[ ! $kind ]] || options=("${chain_options[@]:0:2}")
  for number in "${to_combine[@]}"; do
    [[ -s $(model "$number") ]] || fail "$(model "$number") is missing, which should be combined with the last model"
    models+=("$(model "$number")")
  done
  out=$(model "$1")
  [[ $suffix == raw ]] || out="| nnet3-am-copy --set-raw-nnet=- $(model "$num_iters") $(model "$1")"
  run_training "$dir/log/combine.log" "nnet3-${kind}combine" --use-gpu="$use_gpu" --cpu-math="$cpu_math" \
    --max-objective-evaluations="$max_objective_evaluations" "${options[@]}" ${kind:+"$dir/den.fst"} "${models[@]}" \
    "ark,bg:nnet3-${kind}copy-egs ark:$egs/combine.$ext ark:- | nnet3-${kind}merge-egs \
--minibatch-size=$(combination_minibatch_size) ark:- ark:- |" \
    "$out"
  [[ -s $(model "$1") ]] || fail "combination left no $(model "$1")"
}

# The mean of the outputs over examples, for priors.
average_posteriors() { # <model> <name>
  local archive=JOB jobs=$num_jobs_compute_prior
  (( jobs <= num_archives )) || archive=1
  set_reader "$archive"
  run JOB=1:"$jobs" "$dir/log/get_post.$2.JOB.log" "${reader[@]}" \| \
    nnet3-subset-egs --srand=JOB --n="$prior_subset_size" ark:- ark:- \| \
    nnet3-merge-egs --minibatch-size=128 ark:- ark:- \| \
    nnet3-compute-from-egs --use-gpu="$use_gpu" --cpu-math="$cpu_math" --apply-exp=true "$1" ark:- ark:- \| \
    matrix-sum-rows ark:- ark:- \| vector-sum ark:- "$dir/post.$2.JOB.vec"
  local parts=() job
  for ((job = 1; job <= jobs; job++)); do parts+=("$dir/post.$2.$job.vec"); done
  run "$dir/log/vector_sum.$2.log" vector-sum "${parts[@]}" "$dir/post.$2.vec"
  rm -f "${parts[@]}"
}

make_final_model() {
  local name=final began=$SECONDS
  [[ $calibrate == false && ( $suffix == raw || $kind ) ]] || name=combined
  if [[ ! -s $(model final) ]]; then
    if [[ $do_final_combination == true ]]; then
      [[ $name == combined && -s $(model combined) ]] || combine "$name"
    elif [[ $name == final ]]; then
      cp "$(model "$num_iters")" "$private/final"
      mv "$private/final" "$(model final)"
    else name=$num_iters
    fi
    if [[ $suffix == mdl && ! $kind ]]; then
      average_posteriors "$(model "$name")" "$name"
      run "$dir/log/adjust_priors.final.log" nnet3-am-adjust-priors "$(model "$name")" "$dir/post.$name.vec" "$(model final)"
    fi
    if [[ $calibrate == true ]]; then
      calibrate "$(model "$name")" "$dir/den.fst" "$egs/valid_diagnostic.$ext" "${chain_options[*]}" "$dir/log/calibration" "$private/final"
      mv "$private/final" "$(model final)"
    fi
  fi
  diagnose final "$(model "$num_iters")"
  wait_for_background
  check_figures final
  if [[ $suffix == raw && $compute_average_posteriors == true ]]; then average_posteriors "$(model final)" final; fi
  say "final model $(model final) $(described_figures final)  $((SECONDS - began)) s"
  write_report
}

tidy_up() {
  local file number
  if [[ $cleanup == false ]]; then return; fi
  rm -f "$dir"/data/lengths
  for file in "$dir"/[0-9]*."$suffix"; do
    number=$(basename "$file" ".$suffix")
    if [[ ! $number =~ ^(0|[1-9][0-9]{0,8})$ ]]; then continue; fi
    number number whole "$file" "$number"
    if (( number != num_iters && number % preserve_model_interval )); then rm -f "$file"; fi
  done
  if [[ $remove_egs == true && ! $egs_dir ]]; then rm -rf "$egs"; fi
}
