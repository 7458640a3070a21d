# egs/aishell/s5 of Kaldi: Mandarin, with tones: features with pitch, Gaussian models to speaker-adaptive training, nnet3 and chain models.

recipe_folders=(egs/wsj/s5 egs/aishell/s5 tools/config tools/extras)

numbers_of_data() {
  num_train=1500 num_test=150
  if $quick; then num_train=300 num_test=40; fi
  if [[ $sentences ]]; then num_train=$sentences num_test=$((sentences / 10)); fi # lint: whole: sentences
}

check_recipe() {
  numbers_of_data
  $quick || (( num_train > 400 )) || refuse_value "--sentences $num_train: aishell's networks hold out 300 of more than 1200 recordings, three of each sentence; expected 401 or more"
}

make_data() {
  numbers_of_data
  step corpus . "$python" "$here/local/mandarin.py" --num-train="$num_train" --num-test="$num_test" --nj="$nj" --seed="$seed" "$work/corpus"
}

# Puts the corpus where the recipe would have put its downloads, and stands in for the package kaldi_lm.
place_data() {
  local part
  for part in data resource; do touch "$work/corpus/${part}_aishell/.complete"; done
  mkdir -p "$work/commands"
  ln -sf "$here/local/kaldi_lm/train_lm.sh" "$here/local/kaldi_lm/get_word_map.pl" "$work/commands/"
}

# Folders and numbers that a user edits: the recipe assumes 150 hours of speech and many machines.
edit_numbers() {
  local s5=$work/egs/aishell/s5
  cp "$kaldi"/egs/aishell/s5/run.sh "$s5/run.sh"
  # The chain model's script makes the data of the one before again, and refuses to, unless it begins with stage 7.
  sed -i -e "s|^data=/export.*|data=$work/corpus|" -e 's|^local/chain/run_tdnn.sh|& --stage 7|' "$s5/run.sh"
  sed -i -e 's|^num_jobs_initial=2|num_jobs_initial=1|' -e 's|^num_jobs_final=12|num_jobs_final=2|' "$s5"/local/{nnet3,chain}/tuning/run_tdnn_1a.sh
  if $quick; then
    few_gaussians "$s5/run.sh"
    few_jobs "$s5/run.sh" "$s5"/local/nnet3/*.sh "$s5"/local/{nnet3,chain}/tuning/run_tdnn_1a.sh
    sed -i -E -e 's/ dim=(625|850)/ dim=128/' -e 's/^num_epochs=4/num_epochs=1/' -e 's/^num_jobs_final=2/num_jobs_final=1/' "$s5"/local/{nnet3,chain}/tuning/run_tdnn_1a.sh
    # Held-out sets have 300 of at least 1200 recordings, perturbed ones included.
    sed -i 's/--egs.dir "$common_egs_dir"/--egs.opts="--num-utts-subset 100" --egs.dir="$common_egs_dir"/' "$s5/local/nnet3/tuning/run_tdnn_1a.sh"
    sed -i 's/--egs.opts "--frames-overlap-per-eg 0"/--egs.opts="--frames-overlap-per-eg 0 --num-utts-subset 100"/' "$s5/local/chain/tuning/run_tdnn_1a.sh"
  else
    # nnet3 needs an archive for each of the two jobs: this makes four.
    sed -i "s|^    --trainer.num-epochs|    --trainer.samples-per-iter $((33 * num_train)) --trainer.num-epochs|" "$s5/local/nnet3/tuning/run_tdnn_1a.sh"
  fi
}

# Kaldi refuses Chinese text unless there is a locale with the name C.UTF-8 or en_US.UTF-8. Debian lists the first as C.utf8.
locale() { command locale "$@" | sed 's/^C\.utf8$/C.UTF-8/'; }

run_recipe() {
  local s5=egs/aishell/s5
  place_data
  edit_numbers
  local_jobs "$s5"
  export -f locale
  step run "$s5" from_command run ./run.sh
  error_rates "$s5" >"$work/results.txt"
  expect_rates nnet3/tdnn_sp/decode_test chain/tdnn_1a_sp/decode_test
}
