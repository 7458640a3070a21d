# scripts/rnnlm of Kaldi, by egs/wsj/s5/local/rnnlm/run_rnnlm.sh: a recurrent language model, and pruned rescoring of the lattices of the
# recipe mini_librispeech.

recipe_folders=(egs/wsj/s5 scripts/rnnlm tools/config tools/extras)

make_data() {
  other=$(dirname "$work")/mini_librispeech
  decoded=$other/egs/mini_librispeech/s5/exp/tri3b/decode_tgsmall_dev_clean_2
  [[ -e $decoded/lat.1.gz ]] || refuse_value "rnnlm needs lattices of the recipe mini_librispeech; run --only mini_librispeech,rnnlm"
}

# (The recipe mini_librispeech may be one of those that run before it.)
check_recipe() {
  [[ " ${recipes[*]} " == *" mini_librispeech "* ]] || make_data
}

# Puts text, words, lattices and the language model of the lattices where run_rnnlm.sh looks for them.
place_data() {
  local s5=$work/egs/wsj/s5 from=$other/egs/mini_librispeech/s5 name
  mkdir -p "$s5/data/local/dict_nosp_larger" "$s5/data/lang_nosp" "$s5/exp"
  gzip -nc "$other/corpus/lm/text" >"$s5/data/local/dict_nosp_larger/cleaned.gz"
  cp "$from/data/lang_test_tgsmall/words.txt" "$s5/data/lang_nosp/words.txt"
  [[ -e $s5/data/lang_test_tgpr ]] || cp -r "$from/data/lang_test_tgsmall" "$s5/data/lang_test_tgpr"
  for name in dev93 eval92; do # the recipe rescores two sets; here both are the same
    [[ -e $s5/data/test_${name}_hires ]] || cp -r "$from/data/dev_clean_2" "$s5/data/test_${name}_hires"
    mkdir -p "$s5/exp/tri3b"
    [[ -e $s5/exp/tri3b/decode_looped_tgpr_$name ]] || cp -r "$decoded" "$s5/exp/tri3b/decode_looped_tgpr_$name"
  done
  cp "$from/exp/tri3b/final.mdl" "$s5/exp/tri3b/final.mdl"
}

run_recipe() {
  local s5=egs/wsj/s5
  place_data
  local_jobs "$s5"
  # Numbers for little text: each of three jobs takes a part of 5 million words, and less text is repeated until it has as many.
  sed -i -e 's|--num-jobs-final 3|--num-jobs-final 1|' -e 's|--unigram-factor 200.0|--words-per-split 20000 --unigram-factor 200.0|' \
    "$work/$s5/local/rnnlm/tuning/run_lstm_tdnn_1b.sh"
  step run "$s5" local/rnnlm/run_rnnlm.sh --embedding-dim 128 --lstm-rpd 32 --lstm-nrpd 32 --epochs 10 --ac-model-dir exp/tri3b
  {
    grep -h 'train/dev perplexity' "$work/logs/run.log" || true
    error_rates $s5
  } >"$work/results.txt"
  expect_rates tri3b/decode_looped_tgpr_dev93_rnnlm tri3b/decode_looped_tgpr_eval92_rnnlm
}
