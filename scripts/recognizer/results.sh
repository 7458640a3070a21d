# The table of results: marks of the best row of each set and of rows that adaptation has made worse, and advice that follows from them.

# A row is a name, utterances, words, an error rate, substitutions, deletions, insertions, and the rate of wrong utterances.
# This part of both programs below sets name, set, how ("", adapted, flat start, Gaussians), wrong and rate of a row.
row_of_results='
  function read_row(line,   fields) {
    match(line, / +[0-9]+ +[0-9]+ +[0-9.]+ % /)
    name = substr(line, 1, RSTART - 1); sub(/ +$/, "", name)
    split(substr(line, RSTART), fields, " ")
    rate = fields[3]; wrong = fields[5] + fields[6] + fields[7]; words = fields[2]
    set = name; how = ""
    if (match(name, / \((adapted|flat start|Gaussians)\)$/)) { set = substr(name, 1, RSTART - 1); how = substr(name, RSTART + 2, RLENGTH - 3) }
  }'

# Of a set with several rows the one with the fewest wrong words, the first of several, is the best.
mark_results() { # rows on standard input
  awk "$row_of_results"'
    { line[NR] = $0; read_row($0); of[NR] = set; kind[NR] = how; errors[NR] = wrong; rows[set]++
      if (!(set in best) || wrong < errors[best[set]]) best[set] = NR
      if (how != "adapted" && how != "flat start") plain[set] = NR }
    END {
      for (i = 1; i <= NR; i++) {
        mark = ""
        if (rows[of[i]] > 1 && best[of[i]] == i) mark = "  best"
        if (kind[i] == "adapted" && (of[i] in plain) && errors[i] > errors[plain[of[i]]]) mark = "  worse than without adaptation"
        print line[i] mark
      }
    }'
}

# Sentences for people: of small sets, the bounds of the word error rate (Wilson's interval for 95 %).
uncertainty_of_results() { # <table of results>
  awk "$row_of_results"'
    NR > 1 { read_row($0); if (how == "adapted" || how == "flat start" || words < 1 || words >= 300) next
      z = 1.96; p = wrong / words; if (p > 1) p = 1
      middle = p + z * z / (2 * words); wide = z * sqrt(p * (1 - p) / words + z * z / (4 * words * words)); all = 1 + z * z / words
      low = (middle - wide) / all
      printf "%s: %d words are few: other recordings like these may have %.1f to %.1f %% wrong\n", set, words, 100 * (low < 0 ? 0 : low), 100 * (middle + wide) / all }' "$1"
}

# Sentences for people: of sets that were recognised a second time, which of both is better, and what to do.
advice_of_results() { # <table of results>
  folder="$dir" awk "$row_of_results"'
    NR > 1 { read_row($0); if (how == "") { plain[set] = wrong; rates[set] = rate; all[set] = words } else if (how == "adapted") { order[++n] = set; adapted[set] = wrong; of_adapted[set] = rate } }
    END {
      for (i = 1; i <= n; i++) {
        set = order[i]
        if (!(set in plain)) continue
        d = plain[set] - adapted[set]
        # (Differences of fewer words than about two standard deviations come by chance.)
        chance = (d < 0 ? -d : d) < 2 * sqrt(plain[set] + adapted[set]) ? ", which may be chance" : ""
        figures = sprintf("%s: %s %% of the words are wrong as it is, %s %% adapted to the speakers", set, rates[set], of_adapted[set])
        if (d > 0) print figures ": adaptation is better, by " d " of " all[set] " words" chance
        else if (d < 0) print figures ": adaptation is WORSE, by " (-d) " of " all[set] " words" chance
        else print figures ": adaptation changes nothing"
        gain += d
      }
      if (!n) exit
      if (gain > 0) print "recommended: a model for each speaker: nnet3-adapt-speaker " ENVIRON["folder"] "/model NEW-FOLDER RECORDINGS"
      else print "recommended: the model as it is, " ENVIRON["folder"] "/model, for all speakers"
    }' "$1"
}
