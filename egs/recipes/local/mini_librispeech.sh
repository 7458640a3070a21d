# egs/mini_librispeech/s5 of Kaldi on a spoken corpus: Gaussian models, chain2, and the scripts that build on them.

recipe_folders=(egs/wsj/s5 egs/librispeech/s5/local egs/mini_librispeech/s5 tools/config tools/extras)

make_data() {
  local num_train=2000 num_test=200
  if $quick; then num_train=600 num_test=60; fi
  step corpus . "$python" "$here/local/librispeech.py" --num-train="$num_train" --num-test="$num_test" --nj="$nj" "$text" "$work/corpus"
}

# Puts the corpus where the recipe would have put its downloads.
place_data() {
  local s5=$work/egs/mini_librispeech/s5 part
  mkdir -p "$s5/corpus" "$s5/data/local"
  [[ -e $s5/corpus/LibriSpeech ]] || ln -s "$work/corpus/LibriSpeech" "$s5/corpus/LibriSpeech"
  for part in train-clean-5 dev-clean-2; do touch "$work/corpus/LibriSpeech/$part/.complete"; done
  [[ -e $s5/data/local/lm ]] || cp -r "$work/corpus/lm" "$s5/data/local/lm"
}

run_recipe() {
  local s5=egs/mini_librispeech/s5
  place_data
  local_jobs "$s5"
  step run $s5 from_stage run 1 ./run.sh
  if ! $quick; then
    step tdnn $s5 from_stage tdnn 0 local/chain/run_tdnn.sh
    step cnn_tdnn $s5 from_stage cnn_tdnn 0 local/chain/run_cnn_tdnn.sh
    step discriminative $s5 from_stage discriminative 0 local/chain/run_tdnn_discriminative.sh
  fi
  error_rates $s5 >"$work/results.txt"
}
