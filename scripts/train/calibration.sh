# Calibration of a chain model: a factor for its output, at most 1, by which the objective of utterances that it was not trained on is best. A
# network of little speech is too sure of what it hears, so that the language model counts too little beside it. (It may also seem not to be sure
# enough. But the utterances are of speakers that it knows, and of others it has no reason to be surer.)

# NEW is the model with its output times the factor, as a part of the network, so that all programs read it.
calibrate() { # <model> <denominator FST> <examples of utterances kept for validation> <options of the objective> <beginning of names of logs> <new model>
  local mdl=$1 den=$2 examples=$3 options=$4 logs=$5 output tenths best objective factor figures=() # lint: whole: tenths
  output=$(nnet3-am-info --print-args=false "$mdl" 2>"$logs.log" | sed -n 's/^output-node name=output //p')
  [[ $output ]] || fail_with_log "found no output node 'output' in $mdl" "$logs.log"
  measure_objective 10
  best=$objective
  # (The objective has one maximum.)
  for ((tenths = 9; tenths >= 2; tenths--)); do
    measure_objective "$tenths"
    is_less "$best" "$objective" || break
    best=$objective
  done
  if (( ${#figures[@]} == 2 )); then
    cp "$mdl" "$6"
    say "calibration: the output stays as it is: objective of the utterances kept for validation ${figures[0]#* }"
    return
  fi
  read -r factor best < <(printf '%s\n' "${figures[@]}" | top_of_parabola)
  write_output_node "$factor"
  run "$logs.final.log" nnet3-am-copy --nnet-config="$private/output.config" "$mdl" "$6"
  say "calibration: output times $factor: objective of the utterances kept for validation ${figures[0]#* }, now about $best"
}

# Sets objective, and adds a line `factor objective` to figures.
# lint: whole: $1
measure_objective() { # <tenths>
  local words factor log
  factor=$(($1 / 10)).$(($1 % 10))
  log=$logs.$factor.log
  read -ra words <<<"$options"
  write_output_node "$factor"
  run "$log" nnet3-chain-compute-prob "${words[@]}" "nnet3-am-copy --nnet-config=$private/output.config $mdl - |" "$den" \
    "ark,bg:nnet3-chain-copy-egs ark:$examples ark:- | nnet3-chain-merge-egs --minibatch-size=1:64 ark:- ark:- |"
  objective=$(sed -n "s/.* Overall log-probability for 'output' is \(-[0-9.e-]*\) per .*/\1/p" "$log")
  [[ $objective ]] || fail_with_log "found no objective below 0 of the examples kept for validation" "$log"
  figures+=("$factor $objective")
}

# The line `output-node`, as nnet3-am-info has it, with a factor.
write_output_node() { # <factor>
  sed "s/input=\(.*\) dim=[0-9]* /input=Scale($1, \1) /; s/^/output-node name=output /" <<<"$output" >"$private/output.config"
}

# From lines `factor objective`, 0.1 apart: place and height of the maximum, by a parabola through the best one and its neighbours.
top_of_parabola() {
  sort -k1,1n | awk '{ x[NR] = $1; y[NR] = $2; if (!best || $2 > y[best]) best = NR }
    END {
      place = x[best]; height = y[best]
      if (best > 1 && best < NR && (bend = y[best - 1] - 2 * y[best] + y[best + 1]) < 0) {
        shift = (y[best - 1] - y[best + 1]) / (2 * bend)
        place += 0.1 * shift
        height -= bend * shift * shift / 2
      }
      printf "%.3f %.4f\n", place, height
    }'
}
