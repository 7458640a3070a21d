# Counts of utterances that went into examples, and of those that did not. A step must not lose utterances in silence.

# Prints `used all hours_used hours reasons…` of the programs that made examples, from their logs (src/egs/losses.rs), at 100 frames a second.
# Reasons are lines `count<TAB>reason<TAB>first utterances`.
sum_losses() { # <log> …
  awk '
    / Examples come from [0-9]+ of [0-9]+ utterances with [0-9]+ of [0-9]+ frames$/ {
      used += $(NF - 8); all += $(NF - 6); used_frames += $(NF - 3); frames += $(NF - 1)
    }
    / No example of [0-9]+ utterances, reason: / {
      match($0, / No example of [0-9]+ utterances, reason: /)
      split(substr($0, RSTART, RLENGTH), words, " ")
      rest = substr($0, RSTART + RLENGTH)
      reason = substr(rest, 1, index(rest, ": ") - 1)
      count[reason] += words[4]
      if (!(reason in first)) first[reason] = substr(rest, index(rest, ": ") + 2)
    }
    END {
      printf "%d %d %.2f %.2f\n", used, all, used_frames / 360000, frames / 360000
      for (reason in count) printf "%d\t%s\t%s\n", count[reason], reason, first[reason]
    }' "$@"
}

# Says how many utterances examples come from, and ends the driver if more than `max_lost` of them are lost. `without` are lost before.
check_losses() { # <what> <utterances without targets> <log> …
  local what=$1 without=$2 used all hours_used hours lost count reason first line # lint: whole: without
  local reasons=()
  shift 2
  { read -r used all hours_used hours; mapfile -t reasons; } < <(sum_losses "$@") # lint: whole: used all
  [[ $all ]] && (( all > 0 )) || return 0
  lost=$((all - used + without))
  say "$what: from $used of $((all + without)) utterances, $hours_used of $hours hours of those with targets"
  (( lost > 0 )) || return 0
  (( without == 0 )) || say "    $without have no targets"
  for line in "${reasons[@]}"; do
    IFS=$'\t' read -r count reason first <<<"$line"
    say "    $count without an example: $reason (${first})"
  done
  if is_less "$(lost=$lost all=$((all + without)) awk 'BEGIN { print ENVIRON["lost"] / ENVIRON["all"] }')" "$max_lost"; then return; fi
  fail "$lost of $((all + without)) utterances would not be trained on, which is more than --max-lost=$max_lost allows; the logs are $1" \
    "and its like. --max-lost=1 goes on without them"
}
