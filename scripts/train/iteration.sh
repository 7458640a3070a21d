# One iteration: several jobs train the same model on different archives, and their average is the next model.

model() { echo "$dir/$1.$suffix"; } # <iteration or name>

# ---- diagnostics ----------------------------------------------------------------------------------------------------
# Objective and accuracy of a model on parts of the training and the validation set, and how it differs from the one before
# it; beside the training.
diagnose() { # <iteration or name> [<model before it>]
  local set per_dim=()
  [[ $compute_per_dim_accuracy == false ]] || per_dim=(--compute-per-dim-accuracy=true)
  for set in train valid; do
    in_background $((num_processors + 1)) "$dir/log/compute_prob_$set.$1.log" "nnet3-${kind}compute-prob" "${per_dim[@]}" "${chain_options[@]}" \
      "$(model "$1")" ${kind:+"$dir/den.fst"} "ark,bg:nnet3-${kind}copy-egs ark:$egs/${set}_diagnostic.$ext ark:- | \
nnet3-${kind}merge-egs --minibatch-size=1:64 ark:- ark:- |"
  done
  if [[ ${2-} ]]; then
    in_background $((num_processors + 1)) "$dir/log/progress.$1.log" nnet3-info "$(model "$1")" '&&' \
      nnet3-show-progress --use-gpu=no "$2" "$(model "$1")"
  fi
}

# Lines `set objective accuracy` of a model; without an accuracy (dense targets) only the objective; of a chain model
# `set objective xent`. Of a set without figures only its name.
figures_of() { # <model> <train|valid> …
  local model=$1 set log logs=(/dev/null)
  shift
  for set; do
    log=$dir/log/compute_prob_$set.$model.log
    [[ ! -r $log ]] || logs+=("$log")
  done
  chain=$kind sets=$* awk '
    BEGIN { chain = ENVIRON["chain"]; sets = ENVIRON["sets"] }
    FNR == 1 { set = FILENAME ~ /compute_prob_valid[^\/]*$/ ? "valid" : "train" }
    / Overall [a-z-]+ for .output(-xent)?. is / {
      match($0, / for .output(-xent)?. is /)
      xent = index(substr($0, RSTART, RLENGTH), "-xent")
      if (xent && !chain) next
      split(substr($0, RSTART + RLENGTH), value, " ")
      found[set, xent || / Overall accuracy / ? 2 : 1] = value[1]
    }
    END {
      n = split(sets, name, " ")
      for (i = 1; i <= n; i++) print name[i], found[name[i], 1], found[name[i], 2]
    }' "${logs[@]}"
}

# A model that gives no numbers is none. An LF-MMI objective is the logarithm of a probability, and rounding is all that may be above 0.
check_figures() { # <model>
  local set figure
  for set in train valid; do
    [[ $(figures_of "$1" $set) != *nan* ]] ||
      fail "the objective of $(model "$1") is not a number: see $dir/log/compute_prob_$set.$1.log"
    read -r _ figure _ < <(figures_of "$1" $set) || true
    if [[ $kind && $figure ]] && is_less 0.001 "$figure"; then
      fail "the objective of $(model "$1") on the $set examples is $figure, but an LF-MMI objective cannot be above 0. The supervision has paths that" \
        "the denominator graph lacks: alignments or lattices of another tree, or so few examples that their phone language model misses" \
        "theirs. See $dir/log/compute_prob_$set.$1.log and the counts of examples above"
    fi
  done
}

described_figures() { # <model>
  figures_of "$1" train valid | chain=$kind awk '{
    chain = ENVIRON["chain"]
    printf "  %s %.4f", $1, $2
    if (NF > 2 && chain) printf " (xent %.4f)", $3
    else if (NF > 2) printf " (%.2f %%)", 100 * $3
  }'
}

# ---- training -------------------------------------------------------------------------------------------------------
share_of=() # what one of so many jobs has of a whole

# Sets `process`, which is to be waited for.
start_training() { # <iteration> <jobs> <archives processed> <learning rate> <edits of dropout>
  local i=$1 jobs=$2 processed=$3 lrate=$4 edits=$5 rule=$minibatch_size change=$max_param_change # lint: whole: i jobs
  local options=() more input examples scale=1
  [[ ${share_of[$jobs]-} ]] || share_of[jobs]=$(jobs=$jobs awk 'BEGIN { printf "%.10g", 1 / ENVIRON["jobs"] }')
  shrinks_nothing || scale=$(shrinkage "$i" "$lrate")
  if (( i == 0 )); then # random parameters change fast: careful steps
    rule=$(halved_minibatch_size)
    change=$(c=$max_param_change awk 'BEGIN { printf "%.8g", ENVIRON["c"] / sqrt(2) }')
  fi
  if [[ $deriv_truncate_margin ]]; then
    options+=(--optimization.min-deriv-time=$((-deriv_truncate_margin - model_left_context))
      --optimization.max-deriv-time-relative=$((deriv_truncate_margin + model_right_context)))
  fi
  (( i == 0 || i % 20 )) || options+=(--verbose=1)
  read -ra more <<<"$train_opts"
  input="nnet3-copy --learning-rate=$lrate --scale=$scale $dir/$i.$suffix - |"
  [[ ! $edits ]] || input+=" nnet3-copy --edits='$edits' - - |"
  # Job j reads archive (processed + j - 1) mod archives + 1; of examples with several frames, another one each time round. Chain
  # examples are shifted by another number of frames, so that all input frames have their turn at the outputs.
  local number="$processed+JOB-1" which=()
  local archive="\$[($number)%$num_archives+1]"
  [[ $frame_level == false ]] || which=("--frame=\$[(($number)/$num_archives+($number)%$num_archives+1)%$chunk]")
  # Around that frame no more is read than the network does. (Pieces of less than eight rows would be compressed anew.)
  if [[ $frame_level == true ]] && (( left_context + right_context + 1 >= 8 )); then
    which+=("--left-context=$left_context" "--right-context=$right_context")
  fi
  if [[ $objective == chain ]]; then
    which=("--frame-shift=\$[(($number)/$num_archives+($number)%$num_archives+1)%$frame_subsampling_factor]")
    options+=(--apply-deriv-weights="$apply_deriv_weights")
  fi
  examples="ark,bg:$(read_examples "$archive" "${which[@]}")"
  examples+="| nnet3-${kind}shuffle-egs --buffer-size=$shuffle_buffer_size --srand=$((i + srand)) ark:- ark:-"
  examples+=" | nnet3-${kind}merge-egs --minibatch-size=$rule ark:- ark:- |"
  begin 1 "${train_cmd_words[@]}" JOB=1:"$jobs" "$dir/log/train.$i.JOB.log" "nnet3-${kind}train" --use-gpu="$use_gpu" \
    --cpu-math="$cpu_math" --print-interval=10 --momentum="$momentum" --max-param-change="$change" \
    --backstitch-training-scale="$backstitch_training_scale" --backstitch-training-interval="$backstitch_training_interval" \
    --l2-regularize-factor="${share_of[$jobs]}" --srand="$((i + srand))" \
    "${chain_options[@]}" "${options[@]}" "${more[@]}" "$input" ${kind:+"$dir/den.fst"} "$examples" "$dir/$((i + 1)).JOB.raw"
}

# lint: whole: $2
# Lines `job objective`, of the jobs whose objective is not far from the best, best first.
accepted_jobs() { # <iteration> <jobs>
  local job log logs=(/dev/null)
  for ((job = 1; job <= $2; job++)); do
    log=$dir/log/train.$1.$job.log
    [[ ! -r $log ]] || logs+=("$log")
  done
  jobs=$2 awk '
    BEGIN { jobs = ENVIRON["jobs"] }
    FNR == 1 { job = FILENAME; sub(/\.log$/, "", job); sub(/.*\./, "", job) }
    /^LOG .* Overall average objective function for .output. is [-0-9e.+= ]* over [-0-9e.+]* frames/ {
      text = $0
      sub(/.* Overall average objective function for .output. is /, "", text)
      sub(/ over [-0-9e.+]* frames.*/, "", text)
      n = split(text, words, " ")
      found[job] = words[n]
    }
    function value(job) { return job in found ? found[job] + 0 : -100000 }
    END {
      while (n_taken++ < jobs) {
        next_best = 0
        for (job = 1; job <= jobs; job++) if (!(job in taken) && (!next_best || value(job) > value(next_best))) next_best = job
        if (value(first = first ? first : next_best) - value(next_best) > 1) break
        taken[next_best] = 1
        print next_best, value(next_best)
      }
    }' "${logs[@]}"
}

# What is said of an iteration when its model is there, while the next one trains already: its line without figures, its number, how
# many seconds it took.
concluded=()
conclude() {
  if (( ${#concluded[@]} )); then
    say "${concluded[0]}$(described_figures "${concluded[1]}")  ${concluded[2]} s"
    write_report
    remove_old_model $((concluded[1] - 2))
  fi
  concluded=()
}

# lint: whole: $1
iteration() { # <number> <jobs> <archives processed> <epochs> <learning rate> <edits of dropout>
  local i=$1 jobs=$2 next=$(($1 + 1)) began=$SECONDS accepted job models=() out training line # lint: whole: i jobs
  remove_parts "$next" # which an interrupted run may have left
  start_training "$i" "$jobs" "$3" "$5" "$6"
  training=$process
  if (( i == 0 )); then diagnose 0; else diagnose "$i" "$dir/$((i - 1)).$suffix"; fi
  conclude
  finish "$training"
  if (( jobs == 1 )); then accepted=(1); else mapfile -t accepted < <(accepted_jobs "$i" "$jobs"); fi
  if (( ${#accepted[@]} < jobs )); then
    say "only ${#accepted[@]} of $jobs jobs are near the best; the others are left out: see $dir/log/train.$i.*.log"
  fi
  (( i > 0 )) || accepted=("${accepted[0]}") # models fresh from random numbers do not average well: the best one
  for job in "${accepted[@]}"; do models+=("$dir/$next.${job% *}.raw"); done
  out=("$dir/$next.$suffix")
  [[ $suffix == raw ]] || out=(- \| nnet3-am-copy --set-raw-nnet=- "$(model "$i")" "$(model "$next")")
  wait_for_background
  # With the model, which appears as a whole, the iteration counts as done. The average of one is that one, byte for byte.
  if (( ${#models[@]} == 1 )) && [[ $suffix == raw ]]; then mv "${models[0]}" "$dir/$next.$suffix"
  elif [[ $suffix == raw ]]; then
    begin 1 "$dir/log/average.$i.log" nnet3-average "${models[@]}" "${out[@]}"
    finish "$process"
  else run "$dir/log/average.$i.log" nnet3-average "${models[@]}" "${out[@]}"
  fi
  [[ -s $dir/$next.$suffix ]] || fail "iteration $i left no $dir/$next.$suffix"
  remove_parts "$next"
  printf -v line 'iteration %3d of %d  epoch %5.2f of %s  jobs %d  lr %.6f' "$i" "$num_iters" "$4" "$num_epochs" "$jobs" "$5"
  concluded=("$line" "$i" $((SECONDS - began)))
}

# Beside what follows, one report at a time.
reporting=
write_report() {
  if [[ $report == true ]]; then
    wait_for_report
    { nnet3-report --print-args=false "$dir" "$dir/report.html" 2>"$dir/log/report.log" ||
        say "WARNING: no report was written; see $dir/log/report.log"; } &
    reporting=$!
  fi
}

wait_for_report() {
  if [[ $reporting ]]; then wait "$reporting" || true; fi
  reporting=
}

# The models of single jobs.
remove_parts() { # <iteration>
  local parts=("$dir/$1".*.raw)
  [[ ! -e ${parts[0]} ]] || rm -f "${parts[@]}"
}

# Models are kept for combination, and one now and then.
# lint: whole: $1
remove_old_model() { # <iteration>
  if [[ $cleanup == false ]] || (( $1 < 0 || $1 >= num_iters || $1 % preserve_model_interval == 0 )); then return; fi
  if [[ $do_final_combination == true && " ${to_combine[*]} " == *" $1 "* ]]; then return; fi
  rm -f "$(model "$1")"
}
