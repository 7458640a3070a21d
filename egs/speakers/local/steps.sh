# The steps of run.sh, in their order. Results are in $dir; logs are in $dir/log. A step whose result is there is not done again; results that
# are made in seconds are made each time.

fresh() { [[ -s $1 && $1 -nt $data/made_by ]]; } # <file>: made after the data

job() { ../../scripts/run.sh "$@"; } # [JOB=1:N] <log> <command> …

split_table() { # <table> <folder>: part.1 …
  rm -f "$2"/part.*
  n=$nj total=$(wc -l <"$1") prefix=$2/part. awk 'BEGIN { n = ENVIRON["n"]; total = ENVIRON["total"] }
    { print > (ENVIRON["prefix"] int((NR - 1) * n / total) + 1) }' "$1"
  parts=$(find "$2" -name 'part.*' | wc -l)
}

# feats.scp, vad.scp; speech.scp: features of the frames of speech alone, minus a mean of three seconds, as vosk takes them.
make_features() { # <set>
  local out=$dir/$1 parts
  if fresh "$out/speech.scp"; then return; fi
  mkdir -p "$out"
  split_table "$data/$1/wav.scp" "$out"
  job JOB=1:"$parts" "$dir/log/features_$1.JOB.log" compute-mfcc-feats --config=conf/mfcc.conf "scp:$out/part.JOB" ark:- \| \
    copy-feats --compress=true ark:- "ark,scp:$out/feats.JOB.ark,$out/feats.JOB.scp"
  cat "$out"/feats.*.scp | sort >"$out/feats.scp"
  job "$dir/log/vad_$1.log" compute-vad --config=conf/vad.conf "scp:$out/feats.scp" "ark,t,scp:$out/vad.ark,$out/vad.scp"
  job JOB=1:"$parts" "$dir/log/speech_$1.JOB.log" select-voiced-frames "scp:$out/feats.JOB.scp" "scp:$out/vad.scp" ark:- \| \
    apply-cmvn-sliding --center=true --cmn-window=300 ark:- ark:- \| copy-feats --compress=true ark:- "ark,scp:$out/speech.JOB.ark,$out/speech.JOB.scp"
  cat "$out"/speech.*.scp | sort >"$out/all.scp"
  mv "$out/all.scp" "$out/speech.scp"
  rm -f "$out"/part.* "$out"/{feats,speech}.*.scp
}

# Examples as the training driver expects them of other programs: archives whose chunks have one length each.
make_examples() {
  local egs=$dir/egs archives=6 count name
  if fresh "$egs/info/num_archives"; then return; fi
  rm -rf "$egs"
  mkdir -p "$egs/info"
  job "$dir/log/frames.log" feat-to-len "scp:$dir/train/speech.scp" "ark,t:$dir/train/utt2num_frames"
  local/ranges.py --num-archives="$archives" --passes=4 "$data/train/utt2spk" "$dir/train/utt2num_frames" "$egs"
  count=$(wc -l <"$egs/speakers")
  echo "$count speakers"
  for name in valid subset combine $(seq "$archives"); do
    awk 'NR == FNR { used[$1]; next } $1 in used' "$egs/ranges.$name" "$dir/train/speech.scp" >"$egs/feats.$name.scp"
  done
  job JOB=1:"$archives" "$dir/log/egs.JOB.log" nnet3-xvector-get-egs --num-pdfs="$count" "$egs/ranges.JOB" "scp:$egs/feats.JOB.scp" ark:- \| \
    nnet3-shuffle-egs --srand=JOB ark:- "ark:$egs/egs.JOB.ark"
  for name in valid:valid_diagnostic subset:train_diagnostic combine:combine; do
    job "$dir/log/egs_${name%:*}.log" nnet3-xvector-get-egs --num-pdfs="$count" "$egs/ranges.${name%:*}" "scp:$egs/feats.${name%:*}.scp" "ark:$egs/${name#*:}.egs"
  done
  # Pooling leaves out frames whose context is not there, so any network may read these examples.
  for name in left_context right_context; do echo 100 >"$egs/info/$name"; done
  for name in left_context_initial right_context_final; do echo -1 >"$egs/info/$name"; done
  echo 1 >"$egs/info/frames_per_eg"
  echo 30 >"$egs/info/feat_dim"
  sed "s/@SPEAKERS@/$count/" conf/xvector.xconfig >"$dir/network.xconfig"
  echo "$archives" >"$egs/info/num_archives"
}

extractor="nnet3-copy --nnet-config=conf/extract.config" # the network up to its first layer of a whole utterance

make_vectors() { # <set> <features>
  local out=$dir/$1
  job "$dir/log/vectors_$1.log" nnet3-xvector-compute --min-chunk-size=25 "$extractor $dir/xvector/final.raw - |" "$2" \
    "ark,scp:$out/vectors.ark,$out/vectors.scp"
}

# all.scp and utt2spk of the speakers for the model of vectors: whole utterances, and pieces of 1.5 s, as a diarization has them.
cut_backend() {
  local out=$dir/backend
  local/diarize.py pieces "$out/vad.ark" "$out/pieces" "$out/reco2utt"
  job "$dir/log/pieces_backend.log" apply-cmvn-sliding --center=true --cmn-window=300 "scp:$out/feats.scp" ark:- \| \
    extract-feature-segments --snip-edges=false --max-overshoot=0.1 ark:- "$out/pieces" "ark,scp:$out/pieces.ark,$out/pieces.scp"
  sort "$out/speech.scp" "$out/pieces.scp" >"$out/all.scp"
  awk 'FILENAME == ARGV[1] { speaker[$1] = $2; print; next } { print $1, speaker[$2] }' "$data/backend/utt2spk" "$out/pieces" | sort >"$out/utt2spk"
}

# model-spk: what vosk and nnet3-transcribe read. The network has not been trained on the speakers of its model of vectors: those of its own are
# closer together than others'.
make_speaker_model() {
  local model=$dir/model-spk out=$dir/backend
  mkdir -p "$model"
  awk '{ of[$2] = of[$2] " " $1 } END { for (s in of) print s of[s] }' "$out/utt2spk" | sort >"$out/spk2utt"
  cp conf/mfcc.conf "$model"
  job "$dir/log/extractor.log" nnet3-copy --prepare-for-test=true --nnet-config=conf/extract.config "$dir/xvector/final.raw" "$model/final.ext.raw"
  job "$dir/log/mean.log" ivector-mean "scp:$out/vectors.scp" "$model/mean.vec"
  # The last column is an offset, 0 as the mean is subtracted before; vosk does not know it.
  job "$dir/log/lda.log" ivector-subtract-global-mean "$model/mean.vec" "scp:$out/vectors.scp" ark:- \| \
    ivector-compute-lda --binary=false --dim=24 --total-covariance-factor=0.1 ark:- "ark:$out/utt2spk" "$dir/lda.txt"
  awk '$1 == "[" { print; next } { end = $NF == "]"; n = NF - end - 1; for (i = 1; i <= n; i++) printf "%s ", $i; print (end ? "]" : "") }' \
    "$dir/lda.txt" >"$dir/transform.txt"
  job "$dir/log/transform.log" copy-matrix "$dir/transform.txt" "$model/transform.mat"
  job "$dir/log/plda.log" ivector-compute-plda "ark:$out/spk2utt" "$(normalized backend)" "$model/plda"
}

normalized() { # <set>: its vectors as the model takes them
  echo "ark:ivector-subtract-global-mean $dir/model-spk/mean.vec scp:$dir/$1/vectors.scp ark:- | transform-vec $dir/model-spk/transform.mat ark:- ark:- | \
ivector-normalize-length ark:- ark:- |"
}

# Each unseen speaker is enrolled with three utterances; all others are tried with each speaker.
verify_speakers() {
  local out=$dir/unseen
  sort "$data/unseen/utt2spk" | awk '{ if (++n[$2] <= 3) of[$2] = of[$2] " " $1 } END { for (s in of) print s of[s] }' | sort >"$out/enrolled"
  sort "$data/unseen/utt2spk" | awk '{ if (++n[$2] > 3) { key[++k] = $1; who[k] = $2 } speakers[$2] }
    END { for (i = 1; i <= k; i++) for (s in speakers) print s, key[i], (s == who[i] ? "target" : "nontarget") }' | sort >"$out/trials"
  job "$dir/log/enrol.log" ivector-mean "ark:$out/enrolled" "$(normalized unseen)" ark:- "ark,t:$out/num_utts" \| \
    ivector-normalize-length ark:- "ark:$out/speakers.ark"
  job "$dir/log/trials.log" ivector-plda-scoring --num-utts="ark:$out/num_utts" "$dir/model-spk/plda" "ark:$out/speakers.ark" "$(normalized unseen)" \
    "cut -d' ' -f1,2 $out/trials |" "$out/scores"
  awk 'NR == FNR { is[$1 " " $2] = $3; next } { print $3, is[$1 " " $2] }' "$out/trials" "$out/scores" >"$out/labelled"
  compute-eer --print-args=false "$out/labelled" >"$dir/eer.number" 2>"$dir/log/eer.log"
  printf 'unseen voices: equal error rate %s %% (%d trials of the same speaker, %d of others)\n' "$(<"$dir/eer.number")" \
    "$(grep -cw target "$out/labelled")" "$(grep -cw nontarget "$out/labelled")" >"$dir/eer"
  cat "$dir/eer"
}

# Vectors of pieces of 1.5 s of the mixed recordings of a set, and scores of all their pairs.
diarize() { # <set>
  local out=$dir/$1
  local/diarize.py pieces "$out/vad.ark" "$out/pieces" "$out/reco2utt"
  job "$dir/log/pieces_$1.log" apply-cmvn-sliding --center=true --cmn-window=300 "scp:$out/feats.scp" ark:- \| \
    extract-feature-segments --snip-edges=false --max-overshoot=0.1 ark:- "$out/pieces" "ark,scp:$out/pieces.ark,$out/pieces.scp"
  make_vectors "$1" "scp:$out/pieces.scp"
  job "$dir/log/scores_$1.log" ivector-plda-scoring-dense --target-energy=1.0 "$dir/model-spk/plda" "ark:$out/reco2utt" "$(normalized "$1")" "ark:$out/scores.ark"
}

# rttm and score of a set, with a threshold of the mean log likelihood ratio.
found_turns() { # <set> <threshold>
  local out=$dir/$1
  job "$dir/log/cluster_$1.log" agglomerative-cluster --threshold="$2" "ark:$out/scores.ark" "ark:$out/reco2utt" "ark,t:$out/labels"
  local/diarize.py turns "$out/pieces" "$out/labels" "$out/rttm"
  local/diarize.py score "$data/$1/rttm" "$out/rttm" >"$out/score"
}

# The threshold with the least error on mixed recordings of the speakers of the back end.
choose_threshold() {
  local threshold error best=1000
  for threshold in -30 -25 -20 -17 -14 -11 -8 -5 -2 1 4; do
    found_turns mixed_dev "$threshold"
    error=$(awk '{ print $2 }' "$dir/mixed_dev/score")
    if is_less "$error" "$best"; then
      best=$error
      echo "$threshold" >"$dir/model-spk/threshold"
    fi
  done
  echo "mixed recordings of known voices: DER $best % with a threshold of $(<"$dir/model-spk/threshold")"
}

# The vectors of pieces in a plane, for the picture.
project_vectors() { # <set>
  local out=$dir/$1
  job "$dir/log/plane_$1.log" est-pca --read-vectors=true --dim=2 --normalize-mean=true "$(normalized "$1")" "$out/plane.mat"
  job "$dir/log/plane2_$1.log" transform-vec "$out/plane.mat" "$(normalized "$1")" "ark,t:$out/plane"
}
