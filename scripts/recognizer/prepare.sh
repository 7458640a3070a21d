# Data, language, features.

do_data() {
  local data=$data
  if [[ $long ]]; then
    cut_recordings() { "$here/segment_long.sh" --nj="$nj" --cmd="$cmd" "$data" "$long" "$out/data" || exit 1; }
    step "cutting of long recordings" long cut_recordings "@$data/wav.scp" "@$data/text" "@$long/chain/model/final.mdl" "$long"
    data=$dir/long/data
  fi
  refresh data make_data
  [[ ! -e $dir/data/lexicon.txt ]] || lexicon=$dir/data/lexicon.txt
  if [[ $garbage == true ]] && grep -q "[[:blank:]]$garbage_phone\$" "$lexicon"; then silence_phones+=,$garbage_phone; fi
  mapfile -t tests <"$dir/data/tests"
  number_in hours decimal "$dir/data/hours" 0
  local people sounds="" times="" held="" set
  people=$(garbage_word="$garbage_word" awk '!(NF == 2 && $2 == ENVIRON["garbage_word"])' "$dir/data/transcripts" | wc -l)
  [[ $garbage == false ]] || sounds=", and $(counted "$(wc -l <"$dir/data/garbage/utt2dur")" sound) for the garbage word"
  [[ $perturb == false ]] || times=", three times at different speeds"
  for set in "${tests[@]}"; do held+=" $set ($(wc -l <"$dir/data/$set/text"))"; done
  say "$(counted "$people" utterance) to train on, $(length_of "$(h=$hours awk 'BEGIN { print 3600 * ENVIRON["h"] }')")$sounds$times; for tests:$held"
  check_adaptation
}

do_language() {
  make_language() { # <folder>
    program "$dir/log/language.log" prepare-lang --print-args=false --silence-phones="$silence_phones" \
      --silence-probability="$silence_probability" --word-positions="$word_positions" --oov-word="$oov_word" "$lexicon" "$1"
    rm "$1"/L.fst.txt "$1"/L_disambig.fst.txt
  }
  refresh lang make_language
  say "$(grep -vc -e '^<' -e '^#' "$dir/lang/words.txt") words, $(wc -l <"$dir/lang/phones/sets.int") phones"
  local unheard
  unheard=$(phones_without_sound)
  [[ ! $unheard ]] || say "WARNING: no transcript has a word with these phones, so that words with them will hardly be recognised: $unheard"
}

phones_without_sound() {
  positions="$word_positions" awk 'BEGIN { positions = ENVIRON["positions"] } NR == FNR { for (i = 2; i <= NF; i++) said[$i]; next }
    { for (i = 3; i <= NF; i++) {
        phone = $i
        if (positions == "true") sub(/_[BEIS]$/, "", phone)
        phones[phone]
        if ($1 in said) heard[phone]
      } }
    END { for (phone in phones) if (!(phone in heard)) print phone }' "$dir/data/train/text" "$dir/lang/phones/align_lexicon.txt" | sort | paste -sd' '
}

write_feature_config() { # <file>
  local rate
  number_in rate whole "$dir/data/rate" 1 1000000000
  printf '%s\n' --sample-frequency="$rate" --allow-downsample=true --dither=0 --num-mel-bins=40 --low-freq=20 \
    --high-freq=-400 >"$1"
  [[ $feature_type == fbank ]] || printf '%s\n' --num-ceps=40 --use-energy=false >>"$1"
}

do_features() {
  make_config() { mkdir -p "$1"; write_feature_config "$1/$feature_type.conf"; }
  refresh conf make_config
  local set stats=()
  for set in train "${tests[@]}"; do
    local inputs=("$feature_type" "$cmvn" "@$dir/conf/$feature_type.conf" "@$dir/data/$set/wav.scp" "@$dir/data/$set/waves" "@$dir/data/$set/text" "@$dir/data/$set/utt2spk" \
      "${stats[@]}")
    [[ ! -e $dir/data/$set/segments ]] || inputs+=("@$dir/data/$set/segments")
    [[ $set != train ]] || inputs+=("@$dir/data/$set/utt2uniq")
    step "features of $set" "feats/$set" make_features "${inputs[@]}"
    [[ $cmvn == false ]] || stats=("@$dir/feats/train/global_cmvn.stats")
  done
}

# feats.scp, utt2num_frames, text, utt2spk and spk2utt of the data in `set`; of the training data also global_cmvn.stats.
make_features() {
  local from=$dir/data/$set jobs list=wav.scp sound=("scp:$out/part.JOB") name=feats missing
  if [[ -e $from/segments ]]; then
    list=segments
    sound=("ark:extract-segments scp:$from/wav.scp $out/part.JOB ark:- |")
  fi
  jobs=$(jobs_for "$from/$list")
  split_lines "$from/$list" "$jobs" "$out/part." ""
  [[ $cmvn == false ]] || name=raw
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" "compute-$feature_type-feats" --config="$dir/conf/$feature_type.conf" "${sound[@]}" ark:- \| \
    copy-feats --compress=true ark:- "ark,scp:$out/$name.JOB.ark,$out/$name.JOB.scp"
  if [[ $cmvn == true ]]; then
    local mean=$dir/feats/train/global_cmvn.stats
    if [[ $set == train ]]; then
      mean=$out/global_cmvn.stats
      cat "$out"/raw.*.scp >"$out/raw.scp"
      run "${log}_cmvn.log" compute-cmvn-stats "scp:$out/raw.scp" ark:- \| matrix-sum ark:- "$mean"
    fi
    run --max-jobs-run "$nj" JOB=1:"$jobs" "${log}_cmvn.JOB.log" apply-cmvn-online "$mean" "scp:$out/raw.JOB.scp" ark:- \| \
      copy-feats --compress=true ark:- "ark,scp:$out/feats.JOB.ark,$out/feats.JOB.scp"
  fi
  cat "$out"/feats.*.scp | sort >"$out/all.scp"
  run "${log}_frames.log" feat-to-len "scp:$out/all.scp" "ark,t:$out/utt2num_frames"
  # Less than a tenth of a second is no utterance.
  awk 'NR == FNR { if ($2 < 10) short[$1]; next } !($1 in short)' "$out/utt2num_frames" "$out/all.scp" | sed "s| $out/| $to/|" >"$out/feats.scp"
  rm -f "$out"/part.* "$out"/raw.* "$out"/feats.*.scp "$out/all.scp"
  # The rest of a data folder, for Kaldi's scripts.
  for name in text utt2spk utt2uniq; do
    [[ ! -e $from/$name ]] || awk 'NR == FNR { has[$1]; next } $1 in has' "$out/feats.scp" "$from/$name" >"$out/$name"
  done
  speakers_of "$out/utt2spk" >"$out/spk2utt"
  missing=$(awk 'NR == FNR { has[$1] = 1; next } !($1 in has) { print $1 }' "$out/feats.scp" "$from/text")
  say "features of $set: $(wc -l <"$out/feats.scp") of $(wc -l <"$from/text") utterances, $(length_of "$(awk '{ n += $2 } END { print n / 100 }' "$out/utt2num_frames")")"
  if [[ $missing ]]; then
    say "without features, or shorter than a tenth of a second: $(counted "$(wc -w <<<"$missing")" utterance) of $set, such as $(head -n 1 <<<"$missing")"
    { grep -h -e '^WARNING' -e '^ERROR' "$log".*.log || true; } | head -n 3 | sed 's/^/    /' >&2
    [[ $skip_bad == true ]] || fail "the logs are $log.*.log; --skip-bad=true leaves such utterances out"
  fi
}

speakers_of() { # <utt2spk>: a line for each speaker, with the utterances
  awk '{ if (!($2 in of)) speakers[++n] = $2; of[$2] = of[$2] " " $1 } END { for (i = 1; i <= n; i++) print speakers[i] of[speakers[i]] }' "$1" | sort
}
