# Copies of the training features with other voices, microphones, levels and noise (augment-feats), and their alignments.

# Sets train_set and train_ali, the folders in feats and in DIR that the network is trained on, and versions, how often each utterance is there.
do_copies() {
  [[ $model != gaussian ]] || return 0
  local number=$copies set=train left_out=0 # lint: whole: number left_out
  if (( number < 0 )); then
    number=$(choose_by_hours "" 2 2 0)
    [[ $adapt_speakers == false ]] || number=5
    # The running mean would have to be that of the copies.
    [[ $cmvn == false ]] || number=0
  fi
  [[ $start != gaussian ]] || left_out=$(texts_left_out | wc -l)
  if (( left_out > 0 )); then
    step "features without $(counted "$left_out" "text that is" "texts that are") left out" feats/right features_of_right_texts "=feats/train" "@$dir/doubtful_texts.tsv"
    set=right
  fi
  train_set=$set train_ali=tree versions=$((number + 1))
  (( number > 0 )) || return 0
  step "$number copies of each utterance with other voices, microphones and noise" feats/copies make_copies "=feats/$set" "$number" \
    "@$dir/conf/$feature_type.conf" "$srand"
  step "alignments of the copies" copies copy_alignments "=tree" "=feats/copies"
  train_set=copies train_ali=copies
}

# (Texts that are left out have no alignments, so the training would count them as losses again, each with its copies.)
features_of_right_texts() {
  local name
  texts_left_out >"$out/left_out"
  for name in feats.scp text utt2num_frames utt2spk utt2uniq; do
    awk 'FILENAME == ARGV[1] { wrong[$1]; next } !($1 in wrong)' "$out/left_out" "$dir/feats/train/$name" >"$out/$name"
  done
  speakers_of "$out/utt2spk" >"$out/spk2utt"
}

names_of_copies() { # <last field too> <file>: lines with a key, for the utterances and their copies
  last="$1" number="$number" awk '{ print } { rest = $0; for (i = 1; i <= ENVIRON["number"] + 0; i++) {
    line = "aug" i "-" rest; if (ENVIRON["last"] == "true") sub(/ /, " aug" i "-", line); print line } }' "$2"
}

make_copies() {
  local feats=$dir/feats/$set jobs name
  jobs=$(jobs_for "$feats/feats.scp")
  split_lines "$feats/feats.scp" "$jobs" "$out/part." .scp
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" augment-feats "--$feature_type-config=$dir/conf/$feature_type.conf" --num-copies="$number" \
    --srand="$srand" "scp:$out/part.JOB.scp" ark:- \| copy-feats --compress=true ark:- "ark,scp:$out/feats.JOB.ark,$out/feats.JOB.scp"
  cat "$out"/feats.*.scp | sort | sed "s| $out/| $to/|" >"$out/feats.scp"
  rm -f "$out"/part.* "$out"/feats.*.scp
  for name in text utt2num_frames utt2uniq; do names_of_copies false "$feats/$name" | sort >"$out/$name"; done
  names_of_copies true "$feats/utt2spk" | sort >"$out/utt2spk"
  speakers_of "$out/utt2spk" >"$out/spk2utt"
  count_step "copies" "$(( versions * $(wc -l <"$feats/feats.scp") ))" "$(wc -l <"$out/feats.scp")" /dev/null "$out/utt2num_frames"
}

# A copy's phones are where the original has them.
copy_alignments() {
  cp "$dir/tree/tree" "$dir/tree/final.mdl" "$out"
  run "$log.log" gunzip -c "$dir/tree/ali.*.gz" \| copy-int-vector ark:- "ark,t:$out/ali"
  names_of_copies false "$out/ali" | gzip -c >"$out/ali.1.gz"
  rm "$out/ali"
}

# ---- silence ----------------------------------------------------------------------------------------------------------
# Recordings of single words are often cut where the words begin and end: a network of these alone takes a pause for sounds. So a part of all
# versions gets quiet noise around it, and a part of these and of the others digital silence, which lies outside; the alignments get the phone of
# silence there. (After the transforms of speakers, whose means are those of speech.) Sets train_set and train_ali; and edge_frames, the digital
# silence that the network hears before and after each recording that it recognises, in frames of 10 ms: cut words are recognised far better so.
edge_frames=0
do_padding() {
  [[ $model != gaussian ]] || return 0
  local part=$pad_silence
  if is_less "$part" 0; then
    part=0
    (( versions == 1 )) || part=0.5
  fi
  is_less 0 "$part" || return 0
  step "noise around $part of them, and digital silence around $part" feats/padded pad_features "=feats/$train_set" "@$dir/conf/$feature_type.conf" "$part" "$srand"
  step "alignments with silence" padded pad_alignments "=$train_ali" "=feats/padded" "@$dir/lang/phones/optional_silence.int"
  train_set=padded train_ali=padded
  # (It would be a part of i-vectors and of running means.)
  [[ $ivectors == true || $cmvn == true ]] || edge_frames=15
}

# What begins a pipe: features of a script file with silence around them, as the network hears recordings; the next program reads ark:-.
heard() { # <script file>
  echo "pad-feats --$feature_type-config=$dir/conf/$feature_type.conf --part=1 --digital=1 --min-frames=$edge_frames --max-frames=$edge_frames scp:$1 ark:- |"
}

pad_features() {
  local feats=$dir/feats/$train_set jobs name pad
  jobs=$(jobs_for "$feats/feats.scp")
  split_lines "$feats/feats.scp" "$jobs" "$out/part." .scp
  pad=(pad-feats "--$feature_type-config=$dir/conf/$feature_type.conf" --part="$part" --max-frames=30 --multiple=3)
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" "${pad[@]}" --digital=0 --srand="$srand" --write-silence="ark,t:$out/inner.JOB" "scp:$out/part.JOB.scp" \
    ark:- \| "${pad[@]}" --digital=1 --srand=$((srand + 1)) --write-silence="ark,t:$out/outer.JOB" ark:- ark:- \| \
    copy-feats --compress=true ark:- "ark,scp:$out/feats.JOB.ark,$out/feats.JOB.scp"
  cat "$out"/inner.* >"$out/inner"
  # (Frames before the words, of the words, and after them.)
  cat "$out"/outer.* | awk 'NR == FNR { before[$1] = $2; words[$1] = $3; after[$1] = $4; next }
    { print $1, before[$1] + $2, words[$1], after[$1] + $4 }' "$out/inner" - >"$out/silence"
  cat "$out"/feats.*.scp | sort >"$out/feats.scp"
  run "${log}_frames.log" feat-to-len "scp:$out/feats.scp" "ark,t:$out/utt2num_frames"
  sed -i "s| $out/| $to/|" "$out/feats.scp"
  rm -f "$out"/part.* "$out"/feats.*.scp "$out"/{inner,outer}*
  for name in text utt2spk spk2utt utt2uniq; do cp "$feats/$name" "$out"; done
  count_step "with silence around a part of them" "$(wc -l <"$feats/feats.scp")" "$(wc -l <"$out/feats.scp")" /dev/null "$out/utt2num_frames"
}

pad_alignments() {
  local from=$dir/$train_ali
  cp "$from/tree" "$from/final.mdl" "$out"
  run "$log.log" pad-ali --frame-subsampling-factor=3 "$out/final.mdl" "$out/tree" "$(<"$dir/lang/phones/optional_silence.int")" \
    "ark:gunzip -c $from/ali.*.gz |" "ark:$dir/feats/padded/silence" "ark:| gzip -c >$out/ali.1.gz"
}
