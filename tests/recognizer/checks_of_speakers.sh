# Checks of dev/test-recognizer.sh: Gaussian models that recognise, and adaptation to speakers.

of_gaussians() { # a network of them, which runs as any other
  scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" --garbage=false --use-gpu=no \
    --model=gaussian "$work/gaussians" || return 1
  grep -q '^held_out (Gaussians) .* 29 .* 0.00 %' "$work/gaussians/results.txt" && [[ ! -e $work/gaussians/chain ]] || return 1
  diff <(grep '^toy-003 ' "$toy/text") <(nnet3-transcribe --print-args=false "$work/gaussians/model" "$toy/wav/toy-003.wav" 2>/dev/null </dev/null) || return 1
  # Another language model and a new word, with the graph of these models.
  echo 'lo mi lomi' >"$work/new_text"
  scripts/adapt_model.sh --text="$work/new_text" --oov=g2p "$work/gaussians" "$work/gaussians_adapted" || return 1
  grep -q '^lomi ' "$work/gaussians_adapted/graph/words.txt" && diff "$work/gaussians/model/conf/model.conf" "$work/gaussians_adapted/conf/model.conf" &&
    diff <(grep '^toy-003 ' "$toy/text") <(nnet3-transcribe --print-args=false "$work/gaussians_adapted" "$toy/wav/toy-003.wav" 2>/dev/null </dev/null)
}

# Their trees ask for the phone that follows, so there is no graph of two halves; and the model folder alone is as good as the results around it.
adapts_gaussians() {
  local said phrases=$work/gaussians_phrases
  echo 'lo mi' >"$phrases"
  says "--look-ahead=true: the tree of $work/gaussians asks for the phone that follows" scripts/adapt_model.sh --phrases="$phrases" --look-ahead=true \
    "$work/gaussians" "$work/no" || return 1
  says "asks for the phones that follow" scripts/make_graph.sh --look-ahead=true "$work/gaussians/lm/lm.arpa" "$work/gaussians/gauss/lang" \
    "$work/gaussians/gaussian/model/tree" "$work/gaussians/gaussian/model/network.mdl" "$work/no_graph" || return 1
  said=$(scripts/adapt_model.sh --phrases="$phrases" --old-weight=0 "$work/gaussians/model" "$work/gaussians_of_phrases" 2>&1) || { echo "$said"; return 1; }
  [[ $said == *"$work/gaussians/model is the model in $work/gaussians, the folder of recognizer.sh"* ]] || { echo "$said"; return 1; }
  [[ $(nnet3-transcribe --print-args=false "$work/gaussians_of_phrases" "$toy/wav/toy-003.wav" 2>/dev/null </dev/null) =~ ^toy-003( lo| mi)*$ ]] || return 1
  says "is a model of Gaussians" nnet3-transcribe --phrases="$phrases" "$work/gaussians_of_phrases" "$toy/wav/toy-003.wav"
}

# (With the minibatches of much data, the networks learn so little in a pass that rounding decides what they insert in silence.)
adapts_to_a_speaker() { # who is not in the training
  tests/recognizer/toy_speech.py --num 200 "$work/more"
  scripts/recognizer.sh --wav="$work/more/wav" --text="$work/more/text" --utt2spk="$work/more/utt2spk" --lexicon="$work/more/lexicon.txt" --garbage=false \
    --use-gpu=no --test-speakers=speaker3 --adapt-speakers=true --copies=2 --network=tiny --networks=2 --num-epochs=1 --initial-lrate=0.004 --num-jobs-final=1 \
    --train-opts="--report=false --minibatch-size=1:16" "$work/adapting" 2>"$work/adapting.log" || { cat "$work/adapting.log"; return 1; }
  # (Copies with other voices are no speakers.)
  if ! grep -q '; 3 of 3 speakers have one' "$work/adapting.log" || ! grep -q '; 1 of 1 speakers have one' "$work/adapting.log"; then
    cat "$work/adapting.log"
    return 1
  fi
  [[ -s $work/adapting/speakers/held_out/trans.1 ]] && cut -c1-26 "$work/adapting/results.txt" | sed 's/ *$//' | diff - <(printf '%s\n' set held_out 'held_out (adapted)') &&
    awk 'NR > 1 { $0 = substr($0, 27); if ($3 > 5) exit 1 }' "$work/adapting/results.txt"
}
adapts_to_recordings() { # a model folder for the speaker who is not in the training, by recordings without texts
  local keys waves
  mapfile -t keys < <(cut -d' ' -f1 "$work/adapting/data/held_out/text")
  waves=("${keys[@]/#/$work/more/wav/}")
  nnet3-adapt-speaker "$work/adapting/model" "$work/speaker3" "${waves[@]/%/.wav}" 2>"$work/adapt.log" || { cat "$work/adapt.log"; return 1; }
  cat "$work/adapt.log"
  diff <(cd "$work/adapting/model" && find . | sort) <(cd "$work/speaker3" && find . | sort) || return 1
  grep -q 'mean confidence of words 0\.[0-9]* without a transform\|mean confidence of words 1\.000 without a transform' "$work/adapt.log" || return 1
  # (The network stays where a transform leaves no less doubt.)
  if cmp -s "$work/adapting/model/am/final.mdl" "$work/speaker3/am/final.mdl"; then grep -q 'has the network of' "$work/adapt.log" || return 1
  else grep -q 'compare both models on recordings of the speaker whose words you know' "$work/adapt.log" && ! grep -q 'has the network of' "$work/adapt.log" || return 1
  fi
  nnet3-transcribe --print-args=false "$work/speaker3" "${waves[@]/%/.wav}" 2>/dev/null </dev/null >"$work/speaker3.text"
  compute-wer --print-args=false --text --mode=all "ark:$work/adapting/data/held_out/text" "ark:$work/speaker3.text" | awk '$1 == "%WER" { print; exit !($2 < 5) }'
}
mean_of_two() { # the model is the mean of two different networks of the same examples
  local exp=$work/adapting
  nnet3-am-info --print-args=false "$exp/chain/adapted/final.mdl" | grep -q '^output-node name=output input=Sum(Scale(\(0\.[0-9]*\), m1.output.affine), Scale(\1, m2.output.affine)) ' || return 1
  [[ ! -e $exp/chain/networks/1/egs && ! -e $exp/chain/networks/2/egs ]] && ! cmp -s "$exp"/chain/networks/{1,2}/final.mdl &&
    grep -q 'training of network 2 of 2: ' "$work/adapting.log" && (( $(grep -c ' making examples of ' "$work/adapting.log") == 1 ))
}
keeps_versions_apart() { # of utterances kept for validation no copy is trained on
  local data=$work/adapting/chain/networks/1/data
  awk 'FILENAME == ARGV[1] { of[$1] = $2; next } FILENAME == ARGV[2] { kept[of[$1]]++; next } of[$1] in kept { print $1 " is trained on"; bad = 1 }
    END { for (utt in kept) { n++; if (kept[utt] != 3) { print utt ": " kept[utt] " of 3 versions are kept"; bad = 1 } } exit bad || !n }' \
    "$work/adapting/feats/adapted/utt2uniq" "$data/valid" "$data/train"
}
hears_silence() { # around recordings, which is not in their times
  local wave=$work/more/wav/toy-003.wav
  [[ $(<"$work/adapting/model/conf/edges.conf") == --edge-silence=0.15 ]] || return 1
  grep -q 'pad-feats .*--min-frames=15' "$work/adapting/log/decode_held_out.1.log" || return 1
  nnet3-transcribe --print-args=false --format=ctm "$work/adapting/model" "$wave" 2>/dev/null </dev/null |
    seconds="$(wav-to-duration --print-args=false "scp:echo a $wave |" ark,t:- 2>/dev/null | cut -d' ' -f2)" awk '
      $3 < last || $3 + $4 > ENVIRON["seconds"] + 0.005 { bad = 1 } { last = $3 } END { exit bad || !NR }' || return 1
  cp -r "$work/adapting/model" "$work/edgeless"
  echo --edge-silence=7 >"$work/edgeless/conf/edges.conf"
  says "conf/edges.conf: --edge-silence=7: expected seconds from 0 to 5" nnet3-transcribe "$work/edgeless" "$wave"
}
adapted_already() { # a network with a transform, whoever has put it there
  cp -r "$work/adapting/model" "$work/transformed"
  copy-matrix "ark:$work/adapting/speakers/held_out/trans.1" "ark,scp:$work/transform.ark,$work/transform.scp"
  nnet3-am-add-features --input-dim=40 --transform="$(cut -d' ' -f2 "$work/transform.scp")" "$work/adapting/gauss/model" "$work/adapting/chain/adapted/final.mdl" \
    "$work/transformed/am/final.mdl" || return 1
  says "is adapted to a speaker already" nnet3-adapt-speaker "$work/transformed" "$work/no" "$toy/wav/toy-003.wav"
}
# Phones have their names, also in a copy of the model folder without graph/phones.txt, and features are those of the training.
aligns() {
  local model
  mkdir -p "$work/to_align"
  cp "$work/more/wav/toy-003.wav" "$work/to_align"
  grep '^toy-003 ' "$work/more/text" | cut -d' ' -f2- >"$work/to_align/toy-003.txt"
  cp -r "$work/adapting/model" "$work/moved"
  diff "$work/adapting/lang/phones.txt" "$work/moved/graph/phones.txt" || return 1
  rm "$work/moved/graph/phones.txt"
  for model in "$work/moved" "$work/moved/adaptation" "$work/adapting/gauss/model" "$work/gaussians/gaussian/model" "$work/gaussians/gauss/model"; do
    rm -rf "$work/times"
    echo "$model"
    nnet3-align --print-args=false --speakers=one --model="$model" "$work/to_align" "$work/more/lexicon.txt" "$work/times" 2>"$work/align.log" || {
      cat "$work/align.log"
      return 1
    }
    cat "$work/align.log" "$work/times/alignment.csv"
    ! grep -q 'not known' "$work/align.log" || return 1
    awk -F, '$4 == "phone" { n++; if ($5 !~ /^[P-U]$/) bad = 1 } END { exit bad || !n }' "$work/times/alignment.csv" || return 1
  done
}
leaves_no_folder() { # killed while it waits for sound, or out of files
  local waves=("$work"/more/wav/toy-00[37].wav) waited
  mkdir "$work/places"
  mkfifo "$work/places/pipe.wav"
  nnet3-adapt-speaker "$work/adapting/model" "$work/places/new" "$work/places/pipe.wav" &
  for ((waited = 0; waited < 100; waited++)); do
    if compgen -G "$work/places/.[!.]*" >/dev/null; then break; fi
    sleep 0.1
  done
  kill -TERM $!
  if wait $! || (( waited >= 100 )); then return 1; fi
  for most in 12 9 8 7 6; do (ulimit -n "$most"; nnet3-adapt-speaker "$work/adapting/model" "$work/places/new$most" "${waves[@]}" 2>/dev/null); done
  find "$work/places"
  ! find "$work/places" -name '.*' | grep -q .
}
names_files() { # that make no sense
  local name
  for name in conf/mfcc.conf graph/words.txt adaptation/lang/words.txt adaptation/lang/phones.txt adaptation/lang/topo adaptation/final.mat; do
    rm -rf "$work/damaged"
    cp -r "$work/adapting/model" "$work/damaged"
    : >"$work/damaged/$name"
    says "$name" nnet3-adapt-speaker "$work/damaged" "$work/no" "$toy/wav/toy-003.wav" || return 1
  done
}

# A recogniser of Gaussian models, and one that adapts to speakers.
speakers() {
  work=$own
  check "--model=gaussian: a model folder without a trained network" of_gaussians
  check "--model=gaussian: adapt_model.sh takes the model folder, too, and refuses two halves" adapts_gaussians
  check "--adapt-speakers=true: a speaker is recognised as it comes, and with a transform" adapts_to_a_speaker
  check "nnet3-align with a model folder, with its Gaussian models, and with those of a training" aligns
  check "--networks=2: the model is the mean of both" mean_of_two
  check "utterances for validation: no copy of one is trained on" keeps_versions_apart
  check "a model of cut recordings hears silence around each recording" hears_silence
  check "nnet3-adapt-speaker: a model folder for a speaker" adapts_to_recordings
  check "nnet3-adapt-speaker: a signal or a limit of open files leaves no folder behind" leaves_no_folder
  check "wrong: nnet3-adapt-speaker names the file that is empty" names_files
  check "wrong: nnet3-adapt-speaker with a model that cannot adapt" says "has no folder adaptation" nnet3-adapt-speaker "$work/gaussians/model" "$work/no" "$toy/wav/toy-003.wav"
  check "wrong: nnet3-adapt-speaker into the model itself" says "lies in the folder of the model" nnet3-adapt-speaker "$work/adapting/model" "$work/adapting/model/new" "$toy/wav/toy-003.wav"
  check "wrong: nnet3-adapt-speaker with a model that is adapted already" adapted_already
  check "wrong: nnet3-adapt-speaker with too little speech" says "s of words that the model is sure of; more than 5.0 s are needed" nnet3-adapt-speaker "$work/adapting/model" "$work/no" "$toy/wav/toy-003.wav"
  awk '{ print $1, $1 }' "$toy/utt2spk" >"$work/everybody"
  check "wrong: --adapt-speakers=true for speakers of one recording" says "0 speakers have 5 s of sound or more" scripts/recognizer.sh \
    --wav="$toy/wav" --text="$toy/text" --utt2spk="$work/everybody" --lexicon="$toy/lexicon.txt" --garbage=false --use-gpu=no --adapt-speakers=true "$work/no_transforms"
  check "wrong: --adapt-speakers=true without alignments of Gaussian models" says "--adapt-speakers=true: --start=flat trains no Gaussian models" \
    recognizer no --adapt-speakers=true
  check "wrong: --model=gaussian with an option of networks" says "--num-epochs is for a network, not for --model=gaussian" scripts/recognizer.sh \
    --wav="$toy/wav" --text="$toy/text" --lexicon="$toy/lexicon.txt" --model=gaussian --num-epochs=3 "$work/no"
}
