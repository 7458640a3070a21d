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

# Demonstrations of grammars need a tree only. The two that extend the vocabulary decode from stage 8 on, with a queue and a model that the recipe
# does not train any more; they run up to there.
grammars() {
  local name
  rm -rf data/lang_{nosp_,}grammar1
  for name in simple_demo simple_demo_silprobs; do local/grammar/$name.sh || return; done
  for name in extend_vocab_demo extend_vocab_demo_silprobs; do
    rm -rf data/local/dict_{nosp_,}basevocab
    sed -E 's:^if \[ \$stage -le [89] \]:if false:' local/grammar/$name.sh >local/grammar/to_decoding_$name.sh || return
    bash local/grammar/to_decoding_$name.sh || return
  done
}

# Keyword search in the lattices of chain2, in the place of a system that the recipe does not train any more.
keywords() {
  sed -i 's|^system=.*|system=exp/chain2/tdnn1a_sp/decode_tglarge_dev_clean_2/|' local/kws/run_kws.sh
  local/kws/run_kws.sh
}

# Graphs that are composed while they are searched. The script looks for libraries of OpenFst, which it does not need.
look_ahead() {
  mkdir -p "$work/tools/openfst/lib" "$work/tools/openfst/bin"
  touch "$work/tools/openfst/lib/libfstlookahead.so" "$work/tools/openfst/bin/ngramread"
  local/lookahead/run_lookahead.sh
}

run_recipe() {
  local s5=egs/mini_librispeech/s5
  place_data
  local_jobs "$s5"
  step run $s5 from_stage run 1 ./run.sh
  if $quick; then
    mkdir -p "$work/$s5/exp/chain"
    ln -sfn ../chain2/tree_sp "$work/$s5/exp/chain/tree_sp"
  else
    step tdnn $s5 from_stage tdnn 0 local/chain/run_tdnn.sh
    step cnn_tdnn $s5 from_stage cnn_tdnn 0 local/chain/run_cnn_tdnn.sh
    step tdnn_1c $s5 from_stage tdnn_1c 0 local/chain/tuning/run_tdnn_1c.sh
    step discriminative $s5 from_stage discriminative 0 local/chain/run_tdnn_discriminative.sh
    step look_ahead $s5 look_ahead
  fi
  step keywords $s5 keywords
  step grammars $s5 grammars
  error_rates $s5 >"$work/results.txt"
}
