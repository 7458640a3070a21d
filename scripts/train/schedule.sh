# What each iteration does: number of jobs, learning rate, dropout. Formulas of Kaldi's drivers.

# Writes one line an iteration to DIR/schedule.txt, which can be known before training: number, jobs, archives processed
# before it, epochs before it, learning rate, edits that set dropout (or nothing).
write_schedule() {
  epochs=$num_epochs per_epoch=$((num_archives * frames_per_archive)) first=$num_jobs_initial last=$num_jobs_final step=$num_jobs_step \
    initial=$initial_effective_lrate final=$final_effective_lrate dropout=$dropout_schedule awk '
    BEGIN {
      epochs = ENVIRON["epochs"]; per_epoch = ENVIRON["per_epoch"]; dropout = ENVIRON["dropout"]
      first = ENVIRON["first"]; last = ENVIRON["last"]; step = ENVIRON["step"]; initial = ENVIRON["initial"]; final = ENVIRON["final"]
    }
    # A number between 0 and 1 at a fraction of the data, along the points that a text as 0,0.3@0.2,0.5@0.5,0 gives.
    function proportion(text, at,    points, n, i, pair, x, y, x0, y0) {
      n = split(text, points, ",")
      for (i = 1; i <= n; i++) {
        split(points[i], pair, "@")
        y = pair[1]
        x = i == 1 ? 0 : i == n ? 1 : (points[i] ~ /@/ ? pair[2] : 0.5)
        if (at <= x) return x > x0 ? y0 + (y - y0) * (at - x0) / (x - x0) : y
        x0 = x; y0 = y
      }
      return y
    }
    function dropout_edits(at,    parts, n, i, equals, name, text, edits) {
      n = split(dropout, parts, " ")
      for (i = 1; i <= n; i++) {
        equals = index(parts[i], "=")
        name = equals ? substr(parts[i], 1, equals - 1) : "*"
        edits = edits (i > 1 ? ";" : "") sprintf("set-dropout-proportion name=%s proportion=%.10g", name,
          proportion(substr(parts[i], equals + 1), at))
      }
      return edits
    }
    BEGIN {
      to_process = int(epochs * per_epoch)
      num_iters = int(2 * to_process / (first + last))
      if (num_iters < 1) num_iters = 1
      for (i = 0; i < num_iters; i++) {
        ideal = first + (last - first) * i / num_iters
        jobs = ideal < step ? int(0.5 + ideal) : int(0.5 + ideal / step) * step
        lrate = i + 1 >= num_iters ? final : initial * exp(processed * log(final / initial) / to_process)
        printf "%d %d %d %.4f %.10g %s\n", i, jobs, processed, processed / per_epoch, jobs * lrate,
          dropout_edits(processed / to_process)
        processed += jobs
      }
    }' >"$private/schedule.txt"
  mv "$private/schedule.txt" "$dir/schedule.txt"
  num_iters=$(wc -l <"$dir/schedule.txt")
}

check_dropout_schedule() {
  local part text point x last_x schedules points
  read -ra schedules <<<"$dropout_schedule"
  for part in "${schedules[@]}"; do
    text=${part##*=} last_x=0
    [[ $part == "$text" || ${part%=*} =~ ^[A-Za-z0-9_.*?-]+$ ]] ||
      fail "--dropout-schedule: '$part': expected a component's name, in which * and ? stand for others, before ="
    [[ $text == *,* ]] || fail "--dropout-schedule: '$part': expected at least two proportions separated by commas"
    IFS=, read -ra points <<<"$text"
    for point in "${points[@]}"; do
      [[ $point =~ ^[0-9]*\.?[0-9]+(@[0-9]*\.?[0-9]+)?$ ]] || fail "--dropout-schedule: '$point' in '$part': expected PROPORTION[@FRACTION]"
      x=$last_x
      [[ $point != *@* ]] || x=${point#*@}
      p="${point%@*}" x="$x" last="$last_x" awk 'BEGIN { p = ENVIRON["p"]; x = ENVIRON["x"]; last = ENVIRON["last"]; exit !(p <= 1 && x <= 1 && x >= last) }' ||
        fail "--dropout-schedule: '$point' in '$part': proportions are at most 1, fractions at most 1 and rising"
      last_x=$x
    done
  done
}

# The minibatch-size rule with all numbers of examples halved: 64=128,1:32/20=1 becomes 64=64,1:16/20=1.
halved_minibatch_size() {
  rule="$minibatch_size" awk '
    BEGIN { rule = ENVIRON["rule"] }
    function half(n) { n = int(n / 2); return n > 1 ? n : 1 }
    BEGIN {
      n = split(rule, rules, "/")
      for (i = 1; i <= n; i++) {
        equals = index(rules[i], "=")
        out = out (i > 1 ? "/" : "") substr(rules[i], 1, equals)
        m = split(substr(rules[i], equals + 1), items, ",")
        for (j = 1; j <= m; j++) {
          k = split(items[j], ends, ":")
          out = out (j > 1 ? "," : "") half(ends[1]) (k > 1 ? ":" half(ends[2]) : "")
        }
      }
      print out
    }'
}

# Mean saturation of the nonlinearities of a model, 0 where they do not saturate, 1 where their derivatives are all 0.
saturation() { # <model>
  nnet3-info --print-args=false "$1" 2>/dev/null | awk '
    function add(x) { sum += x; n++ }
    function mean_after(text, key,    at) { # the mean of the derivatives that follow a key, or -1
      at = index(text, key)
      if (!at) return -1
      text = substr(text, at)
      if (!match(text, /deriv-avg=[^m]+mean=[^,]+,/)) return -1
      text = substr(text, RSTART, RLENGTH)
      sub(/.*mean=/, "", text)
      return text + 0
    }
    /^component name=/ {
      match($0, / type=[^,]+,/)
      type = substr($0, RSTART + 6, RLENGTH - 7)
      if (type == "LstmNonlinearityComponent") {
        n_gates = split("i_t_sigmoid f_t_sigmoid o_t_sigmoid c_t_tanh m_t_tanh", gates, " ")
        for (g = 1; g <= n_gates; g++) {
          mean = mean_after($0, gates[g] "={")
          if (mean >= 0) add(gates[g] ~ /sigmoid/ ? 1 - mean / 0.25 : 1 - mean)
        }
        next
      }
      mean = mean_after($0, "deriv-avg=")
      if (mean < 0) next
      if (type == "SigmoidComponent") add(1 - mean / 0.25)
      if (type == "TanhComponent" || type ~ /GruNonlinearityComponent$/) add(1 - mean)
    }
    END { printf "%.6g\n", n ? sum / n : 0 }'
}

# Whether all parameters stay as they are before each iteration.
shrinks_nothing() { [[ $proportional_shrink =~ ^0*\.?0*$ && $shrink_value =~ ^1\.?0*$ ]]; }

# The scale on all parameters before an iteration.
# lint: whole: $1
shrinkage() { # <iteration> <learning rate>
  local shrink
  shrink=$(p="$proportional_shrink" lr="$2" awk 'BEGIN { p = ENVIRON["p"]; lr = ENVIRON["lr"]; printf "%.10g", 1 - p * lr }')
  is_less "0.5" "$shrink" || fail "--proportional-shrink=$proportional_shrink scales parameters by $shrink: expected above 0.5"
  if is_less "$shrink_value" "$shrink" &&
    { (( $1 == 0 )) || is_less "$shrink_saturation_threshold" "$(saturation "$(model "$1")")"; }; then
    shrink=$shrink_value
  fi
  echo "$shrink"
}

# The iterations whose models are combined at the end, the newest first.
models_to_combine() {
  iters=$num_iters per_epoch=$((num_archives * frames_per_archive)) jobs=$num_jobs_final max=$max_models_combine awk 'BEGIN {
      iters = ENVIRON["iters"]; per_epoch = ENVIRON["per_epoch"]; jobs = ENVIRON["jobs"]; max = ENVIRON["max"]
      n = int(per_epoch / jobs / 2) + 1
      if (n > int(iters / 2)) n = int(iters / 2)
      if (n > max) {
        step = int(n / max)
        for (i = iters - n + 1; i <= iters; i += step) wanted[i] = 1
      } else {
        n = int(iters / 2) < max ? int(iters / 2) : max
        for (i = iters - n + 1; i <= iters; i++) wanted[i] = 1
      }
      wanted[iters] = 1
      for (i = iters; i > 0; i--) if (i in wanted) printf "%s%d", i < iters ? " " : "", i
      print ""
    }'
}
