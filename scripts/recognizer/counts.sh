# Counts of what goes into a step and comes out of it. No step loses utterances in silence.

max_lost=0.02

# Says how many utterances a step used. If it lost more than a fiftieth, that is an error, or with --skip-bad=true a warning. The file of
# losses has lines `reason<TAB>utterance`. With the lengths of utterances, as in utt2dur, it also says how much sound is lost.
count_step() { # <what> <utterances in> <utterances used> <file of losses> [<file of lengths>]
  local what=$1 all=$2 used=$3 losses=$4 lengths=${5-} lost reasons sound= # lint: whole: all used
  lost=$((all - used))
  say "$what: $used of $all utterances"
  (( lost > 0 )) || return 0
  reasons=$(cut -f1 "$losses" | sort | uniq -c | sort -k1,1nr | head -n 5 | awk '{ n = $1; $1 = ""; print n ":" $0 }' | paste -sd';' | sed 's/;/; /g')
  [[ ! -r $lengths ]] || sound=" ($(lost_sound "$losses" "$lengths"))"
  say "    $lost are left out$sound: $reasons; the first: $(head -n 5 "$losses" | cut -f2 | paste -sd' ')"
  lost=$lost all=$all most=$max_lost awk 'BEGIN { exit !(ENVIRON["lost"] > ENVIRON["most"] * ENVIRON["all"]) }' || return 0
  [[ $skip_bad == true ]] || fail "$what: more than 2 % of the utterances would be lost ($losses lists them); --skip-bad=true goes on without them"
  say "WARNING: $what: more than 2 % of the utterances are lost"
}

# Prints the length of all utterances of a file of losses: `12.3 s`, `4.5 min` or `6.78 h`, with the number of those without a length.
lost_sound() { # <file of losses> <file of lengths>
  awk 'NR == FNR { seconds[$1] = $2; next }
    { split($0, columns, "\t"); if (columns[2] in seconds) sum += seconds[columns[2]]; else unknown++ }
    END {
      if (sum < 120) printf "%.1f s", sum; else if (sum < 7200) printf "%.1f min", sum / 60; else printf "%.2f h", sum / 3600
      if (unknown) printf ", and %d of unknown length", unknown
    }' "$2" "$1"
}
