# egs/aishell/s5 of Kaldi: Mandarin, with tones: features with pitch, Gaussian models to speaker-adaptive training, nnet3 and chain models.

recipe_folders=(egs/wsj/s5 egs/aishell/s5 tools/config tools/extras)

make_data() {
  local sizes=()
  if $quick; then sizes=(--num-train=500 --num-test=60); fi
  step corpus . "$python" "$here/local/mandarin.py" --nj="$nj" "${sizes[@]}" "$work/corpus"
}

# Puts the corpus where the recipe would have put its downloads, and stands in for the package kaldi_lm.
place_data() {
  local part
  for part in data resource; do touch "$work/corpus/${part}_aishell/.complete"; done
  mkdir -p "$work/commands"
  ln -sf "$here/local/kaldi_lm/train_lm.sh" "$here/local/kaldi_lm/get_word_map.pl" "$work/commands/"
}

# The folder and the number of jobs that a user edits: the recipe assumes 150 hours of speech and many machines.
edit_numbers() {
  local s5=$work/egs/aishell/s5
  sed -i "s|^data=/export.*|data=$work/corpus|" "$s5/run.sh"
  sed -i -e 's|^num_jobs_initial=2|num_jobs_initial=1|' -e 's|^num_jobs_final=12|num_jobs_final=2|' "$s5"/local/{nnet3,chain}/tuning/run_tdnn_1a.sh
}

run_recipe() {
  local s5=egs/aishell/s5
  place_data
  edit_numbers
  local_jobs "$s5"
  step run "$s5" ./run.sh
  error_rates "$s5" >"$work/results.txt"
}
