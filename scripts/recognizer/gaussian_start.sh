# Gaussian models, from monophones to speaker-adaptive ones, and what they say about where phones are.

do_gaussians() {
  [[ $start == gaussian ]] || return 0
  make_hmm_language() { # <folder>
    prepare-lang --print-args=false --topology=hmm --silence-phones="$silence_phones" --silence-probability="$silence_probability" \
      --word-positions="$word_positions" --oov-word="$oov_word" "$lexicon" "$1" 2>"$dir/log/hmm_language.log" ||
      fail_with_log "the language of the Gaussian models cannot be made" "$dir/log/hmm_language.log"
    rm "$1"/L.fst.txt "$1"/L_disambig.fst.txt
  }
  mkdir -p "$dir/gauss"
  refresh gauss/lang make_hmm_language
  check_speech
  step "Gaussian models" gauss/model train_gaussians "$adapt_speakers" "$gaussian_stage" texts "@$dir/data/train/wav.scp" "@$dir/data/train/waves" "@$dir/data/train/text" \
    "@$dir/data/train/utt2spk" "@$dir/gauss/lang/phones.txt" "@$dir/gauss/lang/L.fst" "@$dir/gauss/lang/topo"
  check_texts
  count_aligned "alignments of the Gaussian models" "$dir/data/train/text" "$dir/gauss/model"
}

# DIR/doubtful_texts.tsv: texts that are probably not what is said, the worst first: those that could not be aligned have no score. Wrong ones,
# in whose place another text of the data fits clearly better, are left out of the training of the network.
check_texts() {
  local doubtful wrong
  treatment="$wrong_texts" garbage_word="$garbage_word" awk -F'\t' '
    NR == 1 { print "score\tutterance\ttext\tused\tremark"; next }
    $2 != "fits" && $5 != ENVIRON["garbage_word"] {
      print $1 "\t" $3 "\t" $5 "\t" ($2 == "not aligned" || (ENVIRON["treatment"] == "leave-out" && $2 == "wrong") ? "no" : "yes") "\t" $6
    }' "$dir/gauss/model/texts.tsv" >"$private/doubtful"
  mv "$private/doubtful" "$dir/doubtful_texts.tsv"
  doubtful=$(($(wc -l <"$dir/doubtful_texts.tsv") - 1)) wrong=$(texts_left_out | wc -l) # lint: whole: wrong
  (( doubtful > 0 )) || return 0
  say "    $doubtful texts fit their sound far worse than most do, so they may not be what is said; $dir/doubtful_texts.tsv has them, the worst first."
  if [[ $model == gaussian ]]; then say "    The Gaussian models are trained on all of them that can be aligned"
  elif (( wrong > 0 )); then say "    The network is not trained on $wrong of them, which cannot be aligned, or fit worse than another text"
  else say "    The network is trained on all of them"
  fi
}

# The utterances of these texts.
texts_left_out() { awk -F'\t' 'NR > 1 && $4 == "no" { print $2 }' "$dir/doubtful_texts.tsv"; }

# The models, ali.1.gz in frames of 10 ms, and utterances.tsv.
train_gaussians() {
  local rate data=$dir/data/train config=()
  if [[ $adapt_speakers == true ]]; then
    # The cepstra of copies are those that the network reads.
    data=$out/data
    data_of_cepstra "$dir/feats/train" "$dir/data/train/text" "$data"
    write_options_of_cepstra "$out/mfcc.conf"
  else
    number_in rate whole "$dir/data/rate" 1 1000000000
    printf '%s\n' --use-energy=false --allow-downsample=true --sample-frequency="$rate" >"$out/mfcc.conf"
    config=(--mfcc-config="$out/mfcc.conf")
  fi
  run "$log.log" train-gaussians --num-threads="$nj" --last-stage="$gaussian_stage" --text-scores="$out/texts.tsv" "${config[@]}" "$data" "$dir/gauss/lang" "$out"
  rm -rf "$out/data"
}

num_aligned() { awk -F'\t' 'NR > 1 && $4 ~ /^aligned/' "$1/utterances.tsv" | wc -l; } # <folder of alignments>

# Counts the utterances of a folder of alignments, and lists the others in not_aligned: lines `reason<TAB>utterance`.
count_aligned() { # <what> <texts> <folder of alignments>
  awk -F'\t' 'NR > 1 && $4 !~ /^aligned/ { print $4 "\t" $1 }' "$3/utterances.tsv" >"$3/not_aligned"
  count_step "$1" "$(wc -l <"$2")" "$(num_aligned "$3")" "$3/not_aligned" "${2%/*}/utt2dur"
}

# A folder as that of the flat start: final.mdl of phones without context, alignments ali.*.gz with a frame for each output of the network,
# and text.*, which utterances are in which.
alignments_of_gaussians() {
  local jobs job
  run "${log}_init.log" gmm-init-mono --shared-phones="$dir/lang/phones/sets.int" "$dir/lang/topo" 10 "$out/final.mdl" "$out/tree"
  texts_left_out >"$out/left_out"
  left_out="$out/left_out" awk -F'\t' 'BEGIN { while ((getline key <ENVIRON["left_out"]) > 0) bad[key] }
    NR == FNR { if ($4 ~ /^aligned/) good[$1]; next } { split($0, words, " ") } (words[1] in good) && !(words[1] in bad)' \
    "$dir/gauss/model/utterances.tsv" "$dir/data/train/text" >"$out/text"
  jobs=$(jobs_for "$out/text")
  split_lines "$out/text" "$jobs" "$out/text." ""
  run "${log}_convert.log" convert-ali --frame-subsampling-factor=3 "$dir/gauss/model/final.mdl" "$out/final.mdl" "$out/tree" \
    "ark:gunzip -c $dir/gauss/model/ali.1.gz |" "ark,scp:$out/all.ark,$out/all.scp"
  for ((job = 1; job <= jobs; job++)); do
    awk 'NR == FNR { wanted[$1]; next } $1 in wanted' "$out/text.$job" "$out/all.scp" >"$out/part.scp"
    run "${log}_part.$job.log" copy-int-vector "scp:$out/part.scp" "ark:| gzip -c >$out/ali.$job.gz"
  done
  rm "$out"/all.* "$out"/part.scp "$out"/text "$out"/left_out
}
