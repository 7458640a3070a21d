# Counts of what goes into a step and comes out of it. No step loses utterances in silence.

max_lost=0.02

# Says how many utterances a step used, and with the lengths of all, as in utt2dur or utt2num_frames, how much sound. If it lost more than a
# fiftieth, that is an error, or with --skip-bad=true a warning. The file of losses has lines `reason<TAB>utterance`.
count_step() { # <what> <utterances in> <utterances used> <file of losses> [<file of lengths>]
  local what=$1 all=$2 used=$3 losses=$4 lengths=${5-/dev/null} lost reasons into out gone # lint: whole: all used
  lost=$((all - used))
  IFS=$'\t' read -r into out gone < <(lengths_of_step "$losses" "$lengths") || true
  if [[ ! $into ]]; then say "$what: $used of $all utterances"
  elif [[ $out == "$into" ]]; then say "$what: $used of $all utterances ($into)"
  else say "$what: $used of $all utterances ($out of $into)"
  fi
  (( lost > 0 )) || return 0
  reasons=$(cut -f1 "$losses" | sort | uniq -c | sort -k1,1nr | head -n 5 | awk '{ n = $1; $1 = ""; print n ":" $0 }' | paste -sd';' | sed 's/;/; /g')
  say "    $lost are left out${gone:+ ($gone)}: $reasons; the first: $(head -n 5 "$losses" | cut -f2 | paste -sd' ')"
  lost=$lost all=$all most=$max_lost awk 'BEGIN { exit !(ENVIRON["lost"] > ENVIRON["most"] * ENVIRON["all"]) }' || return 0
  [[ $skip_bad == true ]] || fail "$what: more than 2 % of the utterances would be lost ($losses lists them); --skip-bad=true goes on without them"
  say "WARNING: $what: more than 2 % of the utterances are lost"
}

# Prints the length of all utterances of a file of lengths, of those that are left, and of a file of losses: `12.3 s`, `4.5 min` or `6.78 h`, the last one
# with the number of those without a length, with tabs between. Nothing without lengths.
lengths_of_step() { # <file of losses> <file of lengths>
  [[ -r $2 && -s $2 ]] || return 0
  awk '
    function shown(s) { return s < 120 ? sprintf("%.1f s", s) : s < 7200 ? sprintf("%.1f min", s / 60) : sprintf("%.2f h", s / 3600) }
    FILENAME == ARGV[1] { seconds[$1] = FILENAME ~ /num_frames$/ ? $2 / 100 : $2; all += seconds[$1]; next }
    { split($0, columns, "\t"); if (columns[2] in seconds) sum += seconds[columns[2]]; else unknown++ }
    END { printf "%s\t%s\t%s%s\n", shown(all), shown(all - sum), shown(sum), (unknown ? ", and " unknown " of unknown length" : "") }' "$2" "$1"
}

# The same form of a length.
length_of() { # <seconds>
  s=$1 awk 'BEGIN { s = ENVIRON["s"] + 0; if (s < 120) printf "%.1f s", s; else if (s < 7200) printf "%.1f min", s / 60; else printf "%.2f h", s / 3600 }'
}
