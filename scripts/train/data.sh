# Which utterances there are, where their features and targets lie, which of them are kept for validation. Files in
# DIR/data; an .scp file there is whole.

# Random numbers in [0, 1) that are the same everywhere (Park and Miller): prefixes lines with one.
with_random_numbers() { # <seed>
  seed=$1 awk 'BEGIN { x = (ENVIRON["seed"] * 7919 + 48271) % 2147483647; if (x == 0) x = 1; for (i = 0; i < 20; i++) next_number() }
    function next_number() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    { printf "%.9f\t%s\n", next_number(), $0 }'
}

shuffled() { with_random_numbers "$1" | sort -s -k1,1 | cut -f2-; } # <seed>

is_folder() { [[ $1 != *:* && -d $1 ]]; }

# Sets REPLY to the name of a script file for a table. Tables that are not script files are copied, so that utterances can
# be picked.
script_file_of() { # <table> <name> <program that copies and its options>
  if [[ $1 == scp:* && $1 != *'|' ]]; then REPLY=${1#scp:}; return; fi
  REPLY=$dir/data/$2.scp
  if [[ ! -e $REPLY ]]; then
    # shellcheck disable=SC2086 # the program and its options
    run "$dir/log/copy_$2.log" $3 "$1" "ark,scp:${REPLY%.scp}.ark,$private/$2.scp"
    mv "$private/$2.scp" "$REPLY"
  fi
}

features_of() { # <data folder or rspecifier> <name>
  if is_folder "$1"; then REPLY=$1/feats.scp
  else script_file_of "$1" "$2" "copy-feats --compress=$compress"
  fi
  [[ -s $REPLY ]] || fail "there are no features in $REPLY: the file is empty"
}

targets_of() { # <rspecifier> <name>
  case $objective/$target_type in
    chain/*) supervision ;;
    */ali) script_file_of "${1/#scp:/scp,cs:}" "$2" ali-to-post ;; # with an option it is not taken for posteriors
    */post) script_file_of "$1" "$2" copy-post ;;
    */dense) script_file_of "$1" "$2" copy-feats ;;
  esac
  [[ -s $REPLY ]] || fail "there are no targets in $REPLY: the file is empty"
}

# What nnet3-get-egs reads for a script file of features: normalised, if the data folder has the statistics.
features_rspecifier() { # <data folder or rspecifier> <script file>
  if is_folder "$1" && [[ -s $1/cmvn.scp ]]; then
    echo "ark:apply-cmvn $cmvn_opts --utt2spk=ark:$1/utt2spk scp:$1/cmvn.scp scp:$2 ark:- |"
  else
    echo "scp:$2"
  fi
}

select_lines() { # <file of keys> <script file>: the lines of the script file with these keys, in the order of the keys
  awk 'NR == FNR { line[$1] = $0; next } $1 in line { print line[$1] }' "$2" "$1"
}

count_lines() { wc -l <"$1" | tr -d ' '; }

# Utterances that are kept for validation, and with them all that utt2uniq says to be versions of the same: as many in all as asked for, or a few more.
choose_validation() { # <all utterances> <number>
  local uniq=/dev/null
  if is_folder "$feats" && [[ -s $feats/utt2uniq ]]; then uniq=$feats/utt2uniq; fi
  shuffled $((srand + 11)) <"$1" | n=$2 uniq=$uniq awk '
    BEGIN { n = ENVIRON["n"] + 0; uniq = ENVIRON["uniq"]; while ((getline line < uniq) > 0) { split(line, pair, " "); same[pair[1]] = pair[2] } }
    { id = $1 in same ? same[$1] : $1; order[NR] = $1; of[NR] = id; versions[id]++ }
    END {
      for (i = 1; i <= NR && count < n; i++) if (!(of[i] in kept)) { kept[of[i]]; count += versions[of[i]] }
      for (i = 1; i <= NR; i++) if (of[i] in kept) print order[i]
    }'
}

prepare_data() {
  mkdir -p "$dir/data"
  features_of "$feats" feats
  feats_scp=$REPLY
  targets_of "$targets" targets
  targets_scp=$REPLY
  valid_feats_scp=$feats_scp valid_targets_scp=$targets_scp valid_source=$feats
  if [[ $valid_feats ]]; then
    features_of "$valid_feats" valid_feats
    valid_feats_scp=$REPLY
    targets_of "$valid_targets" valid_targets
    valid_targets_scp=$REPLY
    valid_source=$valid_feats
  fi
  [[ -e $dir/data/done ]] || choose_utterances
  number_in num_frames whole "$dir/data/num_frames" 1
}

choose_utterances() {
  local data=$dir/data all num_valid=$num_utts_subset
  awk 'NR == FNR { has[$1] = 1; next } $1 in has { print $1 }' "$targets_scp" "$feats_scp" >"$data/all"
  all=$(count_lines "$data/all")
  echo $(($(count_lines "$feats_scp") - all)) >"$data/num_without_targets"
  (( all > 0 )) || fail "no utterance of $feats_scp has targets in $targets_scp"
  (( all == $(count_lines "$feats_scp") )) || say "$all of $(count_lines "$feats_scp") utterances have targets"
  if [[ $valid_feats ]]; then
    awk 'NR == FNR { has[$1] = 1; next } $1 in has { print $1 }' "$valid_targets_scp" "$valid_feats_scp" >"$data/valid"
    cp "$data/all" "$data/train"
  else
    (( num_valid * 10 <= all )) || num_valid=$(((all + 9) / 10))
    choose_validation "$data/all" "$num_valid" >"$data/valid"
    awk 'NR == FNR { valid[$1] = 1; next } !($1 in valid)' "$data/valid" "$data/all" >"$data/train"
  fi
  [[ -s $data/valid && -s $data/train ]] || fail "too few utterances: $(count_lines "$data/train") to train on," \
    "$(count_lines "$data/valid") for validation; give --valid-feats, or more data"
  say "utterances: $(count_lines "$data/train") to train on, $(count_lines "$data/valid") for validation"
  shuffled $((srand + 12)) <"$data/train" >"$data/train.shuffled"
  head -n "$num_utts_subset" "$data/train.shuffled" >"$data/train_subset"
  select_lines "$data/valid" "$valid_feats_scp" >"$data/feats.valid.scp"
  select_lines "$data/train_subset" "$feats_scp" >"$data/feats.train_subset.scp"
  select_lines "$data/train.shuffled" "$feats_scp" >"$data/feats.train.scp"
  list_graphs "$data"/feats.{valid,train_subset}.scp
  check_feature_dim "$data/feats.train_subset.scp"
  count_frames "$data/feats.train.scp"
  touch "$data/done"
}

check_feature_dim() { # <script file>
  local found
  found=$(feat-to-dim --print-args=false "scp:$1" - 2>"$dir/log/feat_dim.log") ||
    fail_with_log "the features cannot be read" "$dir/log/feat_dim.log"
  number found whole "number of columns of the features" "$found"
  (( found == feat_dim )) || fail "the features have $found columns, but the network's input has $feat_dim"
}

count_frames() { # <script file>
  local lengths=$dir/data/lengths
  if is_folder "$feats" && [[ -s $feats/utt2num_frames ]]; then select_lines "$1" "$feats/utt2num_frames" >"$lengths"
  else run "$dir/log/num_frames.log" feat-to-len "scp:$1" "ark,t:$lengths"
  fi
  awk '{ sum += $2 } END { printf "%d\n", sum }' "$lengths" >"$dir/data/num_frames"
}

# Deals the training utterances out to N lists, DIR/data/feats.1.scp …
deal_out() { # <number of lists>
  n=$1 awk '{ print (NR - 1) % ENVIRON["n"] + 1 "\t" $0 }' "$dir/data/feats.train.scp" | sort -s -n -k1,1 |
    to=$dir/data/feats. awk '{
      list = ENVIRON["to"] $1 ".scp"
      if (list != last) close(last)
      last = list
      sub(/^[0-9]+\t/, "")
      print > list
    }'
  list_graphs "$dir"/data/feats.[0-9]*.scp
}
