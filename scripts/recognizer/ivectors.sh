# I-vectors, for --ivectors=true: an extractor of the training data, and i-vectors as the network will see them.

splice_options=(--left-context=3 --right-context=3)
posteriors=(--min-post=0.025)
count_scale=0.1 # neighbouring frames tell much the same

do_ivectors() {
  [[ $ivectors == true ]] || return 0
  local set gaussians
  dim=$ivector_dim # lint: whole: dim
  (( dim > 0 )) || dim=$(choose_by_hours "" 2 30 20 50 100)
  gaussians=$(num_gaussians "$dir/feats/train/utt2num_frames") # lint: whole: gaussians
  step "extractor of i-vectors ($dim numbers, $gaussians Gaussians)" ivector_extractor train_extractor "=feats/train" "$dim" "$gaussians" "$srand"
  for set in "$train_set" "${tests[@]}"; do
    step "i-vectors of $set" "ivectors/$set" extract_ivectors "=ivector_extractor" "=feats/$set" "@$dir/feats/$set/utt2spk"
  done
}

# About 2000 frames for each, a power of 2 from 16 to 512.
num_gaussians() { awk '{ frames += $2 } END { for (n = 16; n < 512 && 4000 * n <= frames; n *= 2); print n }' "$1"; } # <utt2num_frames>

# final.ie, with all that extraction reads beside it, as ivector_extractor.conf names it.
train_extractor() {
  local all=$dir/feats/train/feats.scp jobs raw normal step=1 i accs=()
  # Every n-th utterance, of at most 20000.
  awk 'NR == FNR { n++; next } FNR % int(n / 20000 + 1) == 0' "$all" "$all" >"$out/feats.scp"
  jobs=$(jobs_for "$out/feats.scp")
  split_lines "$out/feats.scp" "$jobs" "$out/feats." .scp
  : >"$out/online_cmvn.conf"
  printf '%s\n' "${splice_options[@]}" >"$out/splice.conf"
  run "${log}_cmvn.log" compute-cmvn-stats "scp:$out/feats.scp" ark:- \| matrix-sum ark:- "$out/global_cmvn.stats"
  run "${log}_pca.log" subsample-feats --n=2 "scp:$out/feats.scp" ark:- \| splice-feats "${splice_options[@]}" ark:- ark:- \| \
    est-pca --dim=40 --normalize-mean=true --normalize-variance=true ark:- "$out/final.mat"
  # The background model sees features minus a running mean; the statistics of i-vectors are of features that keep it.
  raw="splice-feats ${splice_options[*]} scp:$out/feats.JOB.scp ark:- | transform-feats $out/final.mat ark:- ark:- | subsample-feats --n=2 ark:- ark:- |"
  normal="apply-cmvn-online --config=$out/online_cmvn.conf $out/global_cmvn.stats scp:$out/feats.JOB.scp ark:- | \
splice-feats ${splice_options[*]} ark:- ark:- | transform-feats $out/final.mat ark:- ark:- | subsample-feats --n=2 ark:- ark:- |"
  run "${log}_ubm.log" gmm-global-init-from-feats --srand="$srand" --num-threads="$nj" --num-gauss="$gaussians" --num-gauss-init=$((gaussians / 2)) \
    --num-iters=20 "ark:${normal//feats.JOB.scp/feats.scp}" "$out/0.dubm"
  for ((i = 1; i <= jobs; i++)); do accs+=("$out/$i.acc"); done
  for i in 0 1 2 3; do
    run --max-jobs-run "$nj" JOB=1:"$jobs" "${log}_ubm$i.JOB.log" gmm-global-acc-stats "$out/$i.dubm" "ark:$normal" "$out/JOB.acc"
    run "${log}_ubm$i.log" gmm-global-sum-accs "$out/sum.acc" "${accs[@]}"
    # The last time, Gaussians that saw little are removed.
    run "${log}_ubm${i}_est.log" gmm-global-est --remove-low-count-gaussians="$([[ $i == 3 ]] && echo true || echo false)" "$out/$i.dubm" \
      "$out/sum.acc" "$out/$((i + 1)).dubm"
  done
  mv "$out/4.dubm" "$out/final.dubm"
  run --max-jobs-run "$nj" JOB=1:"$jobs" "${log}_post.JOB.log" gmm-global-get-post --n=5 "${posteriors[@]}" "$out/final.dubm" "ark:$normal" ark:- \| \
    scale-post ark:- "$count_scale" "ark:$out/post.JOB"
  run "${log}_init.log" gmm-global-to-fgmm "$out/final.dubm" - \| ivector-extractor-init --ivector-dim="$dim" --use-weights=false - "$out/0.ie"
  for i in 0 1 2 3 4 5 6 7 8 9; do
    run --max-jobs-run "$nj" JOB=1:"$jobs" "${log}_$i.JOB.log" ivector-extractor-acc-stats "$out/$i.ie" "ark:$raw" "ark:$out/post.JOB" "$out/JOB.acc"
    run "${log}_sum$i.log" ivector-extractor-sum-accs "${accs[@]}" "$out/sum.acc"
    run "${log}_est$i.log" ivector-extractor-est --num-threads="$nj" --gaussian-min-count=10 "$out/$i.ie" "$out/sum.acc" "$out/$((i + 1)).ie"
    rm "$out/$i.ie"
  done
  mv "$out/10.ie" "$out/final.ie"
  rm -f "$out"/feats.* "$out"/*.acc "$out"/post.* "$out"/[0-9].dubm
  # Settings of vosk, so that training and use are alike.
  printf '%s\n' --splice-config="$to/splice.conf" --cmvn-config="$to/online_cmvn.conf" --lda-matrix="$to/final.mat" \
    --global-cmvn-stats="$to/global_cmvn.stats" --diag-ubm="$to/final.dubm" --ivector-extractor="$to/final.ie" --num-gselect=5 "${posteriors[@]}" \
    --posterior-scale="$count_scale" --max-remembered-frames=1000 --max-count=100 >"$out/ivector_extractor.conf"
}

# ivector_online.scp and ivector_period of the data in `set`. For training, a speaker is known from at most one utterance before; for tests,
# as in use, from none.
extract_ivectors() {
  local feats=$dir/feats/$set jobs most=1
  [[ $set != "$train_set" ]] || most=2
  most="$most" awk 'BEGIN { most = ENVIRON["most"] + 0 }
    { if ($2 in n && n[$2] < most) { n[$2]++; of[last[$2]] = of[last[$2]] " " $1 } else { n[$2] = 1; last[$2] = $1; keys[++k] = $1; of[$1] = $1 } }
    END { for (i = 1; i <= k; i++) print keys[i], of[keys[i]] }' "$feats/utt2spk" >"$out/spk2utt"
  jobs=$(jobs_for "$out/spk2utt")
  split_lines "$out/spk2utt" "$jobs" "$out/spk2utt." ""
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" ivector-extract-online2 --config="$dir/ivector_extractor/ivector_extractor.conf" --num-threads=1 \
    --ivector-period=10 "ark:$out/spk2utt.JOB" "scp:$feats/feats.scp" ark:- \| \
    copy-feats --compress=true ark:- "ark,scp:$out/ivectors.JOB.ark,$out/ivectors.JOB.scp"
  cat "$out"/ivectors.*.scp | sort | sed "s| $out/| $to/|" >"$out/ivector_online.scp"
  echo 10 >"$out/ivector_period"
  rm -f "$out"/spk2utt* "$out"/ivectors.*.scp
}

# Sets ivector_words: the options of a decoder that give it the i-vectors of a set, for the system that reads them.
set_ivector_words() { # <chain|flat> <set>
  ivector_words=()
  if [[ $ivectors == true && $1 == chain ]]; then
    ivector_words=(--online-ivectors="scp:$dir/ivectors/$2/ivector_online.scp" --online-ivector-period=10)
  fi
}
