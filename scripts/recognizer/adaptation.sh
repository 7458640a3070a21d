# Adaptation to speakers: the network learns from features of speaker-adaptive Gaussian models (LDA+MLLT, and a transform of each speaker), and
# also from features without transforms, so that it recognises unknown speakers as they come, and better once a transform is known.

# Decides whether adapt_speakers=auto is true, as far as that is known before the Gaussian models are there. Fails where true cannot be.
check_adaptation() {
  local speakers known reason= # lint: whole: speakers known
  wants_adaptation=$adapt_speakers
  [[ $adapt_speakers != false ]] || return 0
  read -r speakers known < <(awk '{ n[$2]++ } END { for (who in n) { all++; known += n[who] > 1 } print all + 0, known + 0 }' "$dir/data/train/utt2spk")
  if [[ $start != gaussian ]]; then reason="--start=flat trains no Gaussian models"
  elif [[ $model == gaussian ]]; then reason="--model=gaussian trains no network"
  elif [[ $feature_type != mfcc || $cmvn == true ]]; then reason="expected --feature-type=mfcc and --cmvn=false"
  elif [[ $ivectors == true ]]; then reason="i-vectors tell the network of speakers already"
  elif [[ $network && ! $(network_shape "$network") ]]; then reason="the network in $network reads cepstra"
  elif (( speakers < 2 )); then reason="only one speaker is known; see --speakers and --utt2spk"
  elif (( copies == 0 )); then reason="there are no copies, from which the network learns speech without transforms"
  fi
  if [[ $adapt_speakers == true ]]; then
    [[ ! $reason ]] || fail "--adapt-speakers=true: $reason"
  elif [[ $reason ]] || ! is_less "$hours" 1; then adapt_speakers=false
  # (Recordings whose speakers are not known have a speaker each.)
  elif (( known < 2 )); then
    say "no adaptation to speakers: $(counted "$known" "speaker has" "speakers have") several utterances; see --speakers and --utt2spk"
    adapt_speakers=false
  else adapt_speakers=true
  fi
}

# The same when there are features: transforms need speakers with enough speech. Sets gaussian_stage, the last stage of the Gaussian models: SAT
# where transforms are wanted. (Without it the models decide by their data, and begin SAT at two minutes.)
check_speech() {
  local all able of_able enough reason=
  gaussian_stage=
  [[ $adapt_speakers == true ]] || return 0
  read -r all able of_able enough < <(speech_of_people "$dir/feats/train")
  if is_less "$all" "$sound_for_transforms"; then reason="there are $all s of sound of people, and transforms need $sound_for_transforms s in all"
  elif [[ $enough == no ]]; then
    reason="$able speakers have $sound_of_speaker s of sound or more, $of_able of $all s together, and transforms need two such speakers and three quarters of the sound"
  fi
  if [[ ! $reason ]]; then gaussian_stage=sat
  elif [[ $wants_adaptation == true ]]; then fail "--adapt-speakers=true: $reason"
  else
    say "no adaptation to speakers: $reason"
    adapt_speakers=false
  fi
}

# Seconds. (With 42 s of five speakers, 24 of 100 words of another one were wrong; without transforms many more.)
sound_for_transforms=30 sound_of_speaker=5

# Seconds of sound of people; how many of them have enough for a transform; their seconds; and whether this is enough (yes or no).
speech_of_people() { # <folder of features>
  people_of "$1" | least="$sound_of_speaker" awk 'FILENAME == "-" { person[$1]; next } FILENAME == ARGV[2] { if ($2 in person) speaker[$1] = $2; next }
    $1 in speaker { frames[speaker[$1]] += $2; all += $2 }
    END { for (who in frames) if (frames[who] >= 100 * ENVIRON["least"]) { able++; of_able += frames[who] }
      printf "%.0f %d %.0f %s\n", all / 100, able, of_able / 100, (able >= 2 && of_able >= 0.75 * all ? "yes" : "no") }' - "$1/utt2spk" "$1/utt2num_frames"
}

# Sets train_set and train_ali: all that the network learns from.
do_adaptation() {
  transforms_of_training
  do_padding
  [[ $adapt_speakers == true ]] || return 0
  local set=$train_set # lint: whole: versions
  step "features for the network, with and without transforms" feats/adapted features_for_training "=speakers/train" "=feats/$set" "$versions"
  train_set=adapted
}

# Without two transforms there is no adaptation: sound may be long and speech in it short.
transforms_of_training() {
  [[ $adapt_speakers == true ]] || return 0
  local set=$train_set able reason
  step "transforms of speakers and of their copies" "speakers/train" transforms_of_speakers "=gauss/model" "=feats/$set" "@$dir/feats/$set/text"
  able=$(people_with_transforms "$dir/feats/$set" "$dir/speakers/train" | wc -l) # lint: whole: able
  if (( able < 2 )); then
    reason="$(counted "$able" "speaker has" "speakers have") enough speech for a transform, and two are needed"
    [[ $wants_adaptation != true ]] || fail "--adapt-speakers=true: $reason"
    say "no adaptation to speakers: $reason"
    adapt_speakers=false
  fi
}

# A data folder for train-gaussians and align-gaussians. Their 13 cepstra are the first of those that the network reads.
data_of_cepstra() { # <folder of features> <texts> <new folder>
  mkdir -p "$3"
  awk 'NF > 1' "$2" >"$3/text"
  cp "$1/utt2spk" "$3"
  run "${log}_cepstra.log" copy-feats --compress=true "ark:select-feats 0-12 scp:$1/feats.scp ark:- |" "ark,scp:$3/feats.ark,$3/feats.scp"
}

# Options of compute-mfcc-feats that make these cepstra of sound, beside a model of them, for nnet3-align.
write_options_of_cepstra() { # <file>
  sed 's/^--num-ceps=.*/--num-ceps=13/' "$dir/conf/mfcc.conf" >"$1"
}

# A transform needs no more speech of a speaker: a minute, from utterances all over the data.
frames_for_transform=6000

# Of the speakers of a test, who may have said a little of what was recognised: virtual frames that draw a transform towards the identity, and
# the least confidence of words that count. (Measured: docs/recognizer-methods.md#adaptation-to-speakers. nnet3-adapt-speaker has the same.)
prior_frames=1000 least_confidence=0.7

# trans.1 (if there are transforms), speakers (who have them), cmvn.ark (means of speakers) and global.stats, of the utterances of `set` and the text in
# $texts or of the set. With $lattices, which the text is the best path of, words count by their confidence.
transforms_of_speakers() {
  local data=$out/data from=$dir/feats/$set texts=${texts-$dir/feats/$set/text} options=()
  most=$frames_for_transform awk 'FILENAME == ARGV[1] { speaker[$1] = $2; next } FILENAME == ARGV[2] { all[speaker[$1]] += $2; next }
    NF > 1 { who = speaker[$1]; share = all[who] > ENVIRON["most"] ? ENVIRON["most"] / all[who] : 1
      before = int(seen[who]); seen[who] += share; if (int(seen[who]) > before || share == 1) print }' \
    "$from/utt2spk" "$from/utt2num_frames" "$texts" >"$out/texts"
  data_of_cepstra "$from" "$out/texts" "$data"
  run "${log}_cmvn.log" compute-cmvn-stats "--spk2utt=ark:$from/spk2utt" "scp:$data/feats.scp" "ark:$out/cmvn.ark"
  run "${log}_mean.log" matrix-sum "ark:$out/cmvn.ark" "$out/global.stats"
  if [[ ${lattices-} ]]; then
    weights_of_words "$lattices" >"$out/weights"
    options=(--prior-frames="$prior_frames" --word-weights="$out/weights")
  fi
  run "$log.log" align-gaussians --num-threads="$nj" "${options[@]}" "$data" "$dir/gauss/lang" "$dir/gauss/model" "$out/aligned"
  : >"$out/speakers"
  if [[ -e $out/aligned/trans.1 ]]; then
    # (Speakers with too little speech have the identity there.)
    run "${log}_speakers.log" copy-matrix "ark:$out/aligned/trans.1" "ark,t:$out/transforms"
    awk 'FILENAME == ARGV[1] { none[$1]; next } /\[/ && !($1 in none) { print $1 }' "$out/aligned/speakers_without_transform" "$out/transforms" >"$out/speakers"
    mv "$out/aligned/trans.1" "$out"
    rm "$out/transforms"
  fi
  say "    $(wc -l <"$data/text") of $(wc -l <"$from/text") utterances are taken for transforms (a minute of a speaker is enough), $(num_aligned "$out/aligned") of them fit their texts; $(
    people_with_transforms "$from" "$out" | wc -l) of $(people_of "$from" | wc -l) speakers have one"
  rm -rf "$data" "$out/aligned" "$out/texts" "$out/weights"
}

# A line for each utterance: its key, and the weight of each word of the best path of its lattice.
weights_of_words() { # <lattices>
  run "${log}_confidences.log" lattice-to-ctm-conf --acoustic-scale=1.0 --decode-mbr=false --confidence-digits=4 "ark:gunzip -c $1 |" "$out/confidences"
  garbage="$garbage" garbage_word="$garbage_word" least="$least_confidence" awk 'FILENAME == ARGV[1] { word[$2] = $1; next }
    ENVIRON["garbage"] == "false" || word[$5] != ENVIRON["garbage_word"] { weights[$1] = weights[$1] " " ($6 < ENVIRON["least"] + 0 ? 0 : $6 > 1 ? 1 : $6) }
    END { for (utt in weights) print utt weights[utt] }' "$dir/lang/words.txt" "$out/confidences"
  rm "$out/confidences"
}

# The speakers of a folder of features who are people: neither copies with other voices nor sounds that are no words.
people_of() { # <folder of features>
  garbage_word="$garbage_word" awk 'FILENAME == ARGV[1] { if (!(NF == 2 && $2 == ENVIRON["garbage_word"])) speaks[$1]; next }
    $1 in speaks && $1 !~ /^aug[0-9]+-/ && !($2 in seen) { seen[$2]; print $2 }' "$1/text" "$1/utt2spk"
}

people_with_transforms() { people_of "$1" | sort | comm -12 - <(sort "$2/speakers"); } # <folder of features> <folder of transforms>

# Half of all versions, the originals among them, have the transforms of their speakers.
features_for_training() {
  local from=$dir/feats/$set
  with=$(((versions - 1) / 2)) awk '$1 !~ /^aug[0-9]+-/ || substr($1, 4) + 0 <= ENVIRON["with"] + 0 { print $1 }' "$from/utt2spk" >"$out/with" # lint: whole: versions
  edges=0 features_of_speakers "$dir/speakers/train"
  for name in text utt2spk spk2utt utt2uniq utt2num_frames; do cp "$from/$name" "$out"; done
  count_step "features for the network" "$(wc -l <"$from/feats.scp")" "$(wc -l <"$out/feats.scp")" /dev/null "$out/utt2num_frames"
}

# feats.scp of all utterances of `set`: those in OUT/with whose speakers have transforms with them, the others with the mean of all speakers
# taken away. With silence around them unless `edges` is 0.
features_of_speakers() { # <folder of transforms>
  local from=$dir/feats/$set gauss=$dir/gauss/model lda kind normalization transform cepstra
  lda="splice-feats $(<"$gauss/splice_opts") ark:- ark:- | transform-feats $gauss/final.mat ark:- ark:- |"
  to_folder="$out" with="$out/with" speakers="$1/speakers" awk '
    BEGIN { while ((getline line <ENVIRON["with"]) > 0) wanted[line]; while ((getline line <ENVIRON["speakers"]) > 0) has[line] }
    NR == FNR { speaker[$1] = $2; next }
    { print >(ENVIRON["to_folder"] (($1 in wanted) && (speaker[$1] in has) ? "/adapted.scp" : "/plain.scp")) }' "$from/utt2spk" "$from/feats.scp"
  for kind in adapted plain; do
    [[ -s $out/$kind.scp ]] || continue
    normalization="--utt2spk=ark:$from/utt2spk ark:$1/cmvn.ark" transform="transform-feats --utt2spk=ark:$from/utt2spk ark:$1/trans.1 ark:- ark:- |"
    # (The mean of the training data, as the model folder has it.)
    [[ $kind == adapted ]] || normalization=$dir/speakers/train/global.stats transform=
    cepstra="select-feats 0-12 scp:$out/$kind.scp ark:- |"
    (( edges == 0 )) || cepstra="$(heard "$out/$kind.scp") select-feats 0-12 ark:- ark:- |"
    run "${log}_$kind.log" copy-feats --compress=true \
      "ark:$cepstra apply-cmvn $normalization ark:- ark:- | $lda${transform:+ $transform}" "ark,scp:$out/$kind.ark,$out/$kind.feats"
  done
  cat "$out"/*.feats | sort | sed "s| $out/| $to/|" >"$out/feats.scp"
  rm -f "$out"/{with,adapted.scp,plain.scp,*.feats}
}

# The network of speakers' features as one that reads cepstra, for speakers without transforms. (In a folder as that of a training.)
network_of_cepstra() {
  run "$log.log" nnet3-am-add-features --input-dim=40 --cmvn-stats="$dir/speakers/train/global.stats" "$dir/gauss/model" "$dir/chain/adapted/final.mdl" \
    "$out/final.mdl"
  describe_as "$dir/chain/adapted"
}

# Transforms of a test set's speakers by what was recognised without, and recognition with them.
do_adapted_recognition() { # adds to table
  local set
  for set in "${tests[@]}"; do
    texts=$dir/decode/$set/text lattices="$dir/decode/$set/lat.*.gz" step "transforms of the speakers of $set" "speakers/$set" \
      transforms_of_speakers "=gauss/model" "=feats/$set" "=decode/$set" "@$dir/decode/$set/text" "$prior_frames" "$least_confidence"
    if [[ ! -s $dir/speakers/$set/speakers ]]; then
      say "no speaker of $set has enough speech ($sound_of_speaker s) for a transform"
      continue
    fi
    step "features of $set with transforms" "feats/adapted_$set" test_features_of_speakers "=speakers/$set" "=feats/$set" "$edge_frames"
    step "recognition of $set with transforms of speakers" "adapted/decode/$set" decode "=feats/adapted_$set" "=graph" "${settings[@]}"
    table+=("$dir/adapted/decode/$set")
  done
}

test_features_of_speakers() {
  cut -d' ' -f1 "$dir/feats/$set/utt2spk" >"$out/with"
  edges=$edge_frames features_of_speakers "$dir/speakers/$set"
}
