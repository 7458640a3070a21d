# A model of Gaussians that recognises, written as a network so that all programs and vosk run it; and the choice between it and the chain
# model, for little speech.

# Sets system, what recognises: chain or gaussian.
do_choice() {
  system=chain
  case $model in
    network) return ;;
    gaussian) system=gaussian ;;
    auto)
      # (The few utterances that are compared are of known speakers; unknown ones are recognised far better with transforms.)
      [[ $adapt_speakers == false ]] || return 0
      [[ $start == gaussian && $feature_type == mfcc && $cmvn == false && $ivectors == false && ! $network ]] && is_less "$hours" 0.15 || return 0
      step "which is better on utterances that the network was not trained on, the network or Gaussian models" choice compare_models "=chain/model" \
        "=feats/train" "=lm" "@$dir/gauss/lang/L.fst" "$beam" "$lattice_beam" "$max_active" "$edge_frames"
      system=$(<"$dir/choice/better")
      ;;
  esac
  [[ $system == gaussian ]] || return 0
  step "Gaussian models that recognise" gaussian/model train_recognizing_gaussians "=feats/train" "@$dir/gauss/lang/L.fst" "@$dir/data/train/text"
}

# Models with derivatives and without normalisation, as recordings are recognised as they come; network.mdl is the same as a network.
train_recognizing_gaussians() { # of data/train, or of the utterances of $texts
  local data=$out/data from=$dir/feats/train stage=tri frames
  data_of_cepstra "$from" "${texts-$dir/data/train/text}" "$data"
  frames=$(awk '{ n += $2 } END { print n + 0 }' "$from/utt2num_frames") # lint: whole: frames
  (( frames >= 6000 )) || stage=mono
  run "$log.log" train-gaussians --num-threads="$nj" --last-stage="$stage" --normalize=nothing "$data" "$dir/gauss/lang" "$out"
  write_options_of_cepstra "$out/mfcc.conf"
  count_aligned "Gaussian models that recognise" "$data/text" "$out"
  run "${log}_network.log" gaussians-to-network --input-dim=40 "$out" "$out/network.mdl"
  rm -r "$data"
}

# better (chain or gaussian) and figures: lines `<which> <words wrong> <words>`. Utterances are those that the chain model's training has kept
# for validation. The Gaussians that are compared are trained without them.
compare_models() {
  local held=$out/held which wrong words valid=$dir/chain/model/data/valid
  garbage_word="$garbage_word" awk 'NR == FNR { held[$1]; next } $1 in held && $2 != ENVIRON["garbage_word"]' "$valid" "$dir/feats/train/text" >"$held"
  if [[ ! -s $held ]]; then
    say "    no utterance was kept: the network is taken"
    echo chain >"$out/better"
    return
  fi
  awk 'NR == FNR { held[$1]; next } !($1 in held)' "$held" "$dir/data/train/text" >"$out/rest"
  mkdir "$out/gaussian"
  (texts=$out/rest out=$out/gaussian log=${log}_gaussian && train_recognizing_gaussians) || exit 1
  for which in chain gaussian; do
    compare "$which" || exit 1
    read -r wrong words <"$out/$which.errors"
    echo "$which $wrong $words" >>"$out/figures"
  done
  say "    of $(awk '$1 == "chain" { print $3 }' "$out/figures") words, the network has $(awk '$1 == "chain" { print $2 }' "$out/figures") wrong, Gaussian models $(awk '$1 == "gaussian" { print $2 }' "$out/figures")"
  # (If none is better: the network.)
  awk '{ wrong[$1] = $2 } END { print (wrong["gaussian"] < wrong["chain"] ? "gaussian" : "chain") }' "$out/figures" >"$out/better"
  rm -r "$out/gaussian" "$out"/*.graph "$out"/{rest,held.scp}
}

# Words wrong and words of the held utterances, into WHICH.errors.
compare() { # <chain|gaussian>
  local scale=1.0 factor=3 tree=$dir/tree/tree mdl=$dir/chain/model/final.mdl lang=$dir/lang features=scp:$out/held.scp
  [[ $1 != chain ]] || (( edge_frames == 0 )) || features="ark:$(heard "$out/held.scp")"
  [[ $1 == chain ]] || scale=0.1 factor=1 tree=$out/gaussian/tree mdl=$out/gaussian/network.mdl lang=$dir/gauss/lang
  awk 'NR == FNR { held[$1]; next } $1 in held' "$out/held" "$dir/feats/train/feats.scp" >"$out/held.scp"
  run "${log}_$1_graph.log" "$here/make_graph.sh" --self-loop-scale="$scale" "$dir/lm/lm.arpa" "$lang" "$tree" "$mdl" "$out/$1.graph"
  run "${log}_$1.log" nnet3-latgen-faster --frame-subsampling-factor="$factor" --frames-per-chunk=150 --acoustic-scale=1.0 --beam="$beam" \
    --lattice-beam="$lattice_beam" --max-active="$max_active" "$mdl" "$out/$1.graph/HCLG.fst" "$features" ark:/dev/null "ark,t:$out/$1.numbers"
  names_of_words <"$out/$1.numbers" | without_garbage >"$out/$1.text"
  compute-wer --print-args=false --text --mode=all "ark:$out/held" "ark:$out/$1.text" >"$out/$1.wer" 2>"${log}_$1_wer.log" ||
    fail_with_log "the words cannot be compared" "${log}_$1_wer.log"
  tr -d ',[]' <"$out/$1.wer" | awk '$1 == "%WER" { print $3, $5 }' >"$out/$1.errors"
}
