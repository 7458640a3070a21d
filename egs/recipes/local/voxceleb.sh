# egs/voxceleb/v2 of Kaldi: x-vectors from recordings with noise and echoes, PLDA, equal error rate.

recipe_folders=(egs/wsj/s5 egs/sre08/v1 egs/voxceleb tools/config tools/extras)

make_data() {
  local sizes=()
  if $quick; then sizes=(--train-recordings=5 --test-recordings=4 --mixed=5 --seconds=7); fi
  step speech . "$python" "$here/local/speakers.py" --nj="$nj" --seed="$seed" "${sizes[@]}" "$text" "$work/speech"
}

place_data() {
  local v2=$work/egs/voxceleb/v2 part
  mkdir -p "$v2/data"
  [[ -e $v2/RIRS_NOISES ]] || ln -s "$work/speech/RIRS_NOISES" "$v2/RIRS_NOISES"
  for part in train:train test:voxceleb1_test; do
    [[ -e $v2/data/${part#*:} ]] || { mkdir "$v2/data/${part#*:}" && cp "$work/speech/${part%:*}"/{wav.scp,utt2spk,spk2utt} "$v2/data/${part#*:}"; }
  done
  cp "$work/speech/test/trials" "$v2/data/voxceleb1_test/trials"
}

# Folders and numbers that a user edits: run.sh and run_xvector_1a.sh assume a million recordings of 7,000 speakers, and many machines.
edit_numbers() {
  local v2=$work/egs/voxceleb/v2 recordings repeats=8
  recordings=$(wc -l <"$work/speech/train/utt2spk")
  cp "$kaldi/egs/voxceleb/v2/run.sh" "$v2/run.sh"
  if $quick; then
    repeats=4
    few_jobs "$v2/run.sh"
  fi
  sed -i -e "s|^musan_root=.*|musan_root=$work/speech/musan|" -e 's|^stage=0|stage=1; . utils/parse_options.sh|' -e "s|train_aug 1000000|train_aug $recordings|" \
    -e 's|^ *min_len=400|  min_len=300|' -e 's|lda_dim=200|lda_dim=100|' "$v2/run.sh"
  sed -i -e 's|num-jobs-final=8|num-jobs-final=2|' -e 's|num-jobs-initial=3|num-jobs-initial=2|' \
    -e 's|--frames-per-iter 1000000000|--frames-per-iter 2000000|' -e "s|--num-repeats 50|--num-repeats $repeats|" \
    -e 's|--max-frames-per-chunk 400|--max-frames-per-chunk 300|' "$v2/local/nnet3/xvector/tuning/run_xvector_1a.sh"
}

run_recipe() {
  local v2=egs/voxceleb/v2
  place_data
  edit_numbers
  local_jobs "$v2"
  step run "$v2" from_stage run 1 ./run.sh
  grep -hE '^(EER|minDCF)' "$work/logs/run.log" >"$work/results.txt"
}
