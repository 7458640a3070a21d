# Counts of what goes into a step and comes out of it. No step loses utterances in silence.

max_lost=0.02

# Says how many utterances a step used. If it lost more than a fiftieth, that is an error, or with --skip-bad=true a warning. The file of
# losses has lines `reason<TAB>utterance`.
count_step() { # <what> <utterances in> <utterances used> <file of losses>
  local what=$1 all=$2 used=$3 losses=$4 lost reasons # lint: whole: all used
  lost=$((all - used))
  say "$what: $used of $all utterances"
  (( lost > 0 )) || return 0
  reasons=$(cut -f1 "$losses" | sort | uniq -c | sort -k1,1nr | head -n 5 | awk '{ n = $1; $1 = ""; print n ":" $0 }' | paste -sd';' | sed 's/;/; /g')
  say "    $lost are left out: $reasons; the first: $(head -n 5 "$losses" | cut -f2 | paste -sd' ')"
  lost=$lost all=$all most=$max_lost awk 'BEGIN { exit !(ENVIRON["lost"] > ENVIRON["most"] * ENVIRON["all"]) }' || return 0
  [[ $skip_bad == true ]] || fail "$what: more than 2 % of the utterances would be lost ($losses lists them); --skip-bad=true goes on without them"
  say "WARNING: $what: more than 2 % of the utterances are lost"
}
