# egs/mini_librispeech/s5 of Kaldi on a spoken corpus: Gaussian models, chain2, and the scripts that build on them.

recipe_folders=(egs/wsj/s5 egs/librispeech/s5/local egs/mini_librispeech/s5 tools/config tools/extras)

numbers_of_data() {
  num_train=2000 num_test=200
  if $quick; then num_train=600 num_test=60; fi
  if [[ $sentences ]]; then num_train=$sentences num_test=$((sentences / 10)); fi # lint: whole: sentences
}

check_recipe() {
  numbers_of_data
  (( num_train >= 500 )) || refuse_value "--sentences $num_train: the recipe mini_librispeech trains first on the 500 shortest, expected 500 or more"
}

make_data() {
  numbers_of_data
  step corpus . "$python" "$here/local/librispeech.py" --num-train="$num_train" --num-test="$num_test" --nj="$nj" --seed="$seed" "$text" "$work/corpus"
}

# Puts the corpus where the recipe would have put its downloads.
place_data() {
  local s5=$work/egs/mini_librispeech/s5 part
  mkdir -p "$s5/corpus" "$s5/data/local"
  [[ -e $s5/corpus/LibriSpeech ]] || ln -s "$work/corpus/LibriSpeech" "$s5/corpus/LibriSpeech"
  for part in train-clean-5 dev-clean-2; do touch "$work/corpus/LibriSpeech/$part/.complete"; done
  [[ -e $s5/data/local/lm ]] || cp -r "$work/corpus/lm" "$s5/data/local/lm"
}

# Numbers that a user edits: jobs, the size of models, and the scales of the language model that the search for keywords tries.
edit_numbers() {
  local s5=$work/egs/mini_librispeech/s5
  sed -i 's|^system=.*|system=exp/chain2/tdnn1a_sp/decode_tglarge_dev_clean_2/|' "$s5/local/kws/run_kws.sh"
  # Five hours of speech have archives for five jobs; less speech does not. Two jobs are for two processors.
  sed -i -E -e 's/(--trainer.optimization.num-jobs-initial=)[0-9]/\11/' -e 's/(--trainer.optimization.num-jobs-final=)[0-9]/\12/' \
    -e 's/(--num-jobs-initial) 2 (--num-jobs-final) 5/\1 1 \2 2/' "$s5"/local/chain{/tuning/run_{tdnn_1k,cnn_tdnn_1b,tdnn_1c},2/tuning/run_tdnn_1a}.sh
  # More jobs than speakers are refused.
  sed -i -e "s|nj=350|nj=$nj|" -e "s|nj=50|nj=$nj|" -e 's|subsplit=40|subsplit=1|' -e "s|num_threads_denlats=6|num_threads_denlats=1|" \
    "$s5/local/chain/tuning/run_tdnn_1c_discriminative.sh"
  if $quick; then
    few_gaussians "$s5/run.sh"
    few_jobs "$s5/run.sh" "$s5"/local/{chain,chain/tuning,chain2,nnet3}/*.sh "$s5/local/kws/run_kws.sh"
    sed -i -E -e 's/(--trainer.num-epochs=|num_epochs=)[0-9]+/\11/' -e 's/(--trainer.optimization.num-jobs-final=|num_jobs_nnet=)[0-9]/\11/' \
      -e 's/^ *(--num-jobs-initial 1)/    --num-epochs 4 \1/' -e 's/ (dim|big-dim)=(512|768)/ \1=256/' \
      "$s5"/local/chain{/tuning/run_{tdnn_1k,cnn_tdnn_1b,tdnn_1c,tdnn_1c_discriminative},2/tuning/run_tdnn_1a}.sh
    sed -i 's|^train_data_dir=data/train_clean_5_sp_hires|train_data_dir=data/train_short_sp_hires|' "$s5/local/chain/tuning/run_tdnn_1c_discriminative.sh"
    sed -i -e 's/`seq 8 14`/`seq 10 11`/' -e 's/--min-lmwt 8 --max-lmwt 14/--min-lmwt 10 --max-lmwt 11/' "$s5/local/kws/run_kws.sh"
  fi
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
keywords() { local/kws/run_kws.sh; }

# Discriminative training decodes all training data three times: with --quick only short recordings.
discriminative() {
  if $quick && [[ ! -e data/train_short_sp_hires ]]; then utils/subset_data_dir.sh --shortest data/train_clean_5_sp_hires 200 data/train_short_sp_hires || return; fi
  from_stage discriminative 0 local/chain/run_tdnn_discriminative.sh
}

# Graphs that are composed while they are searched. The script looks for libraries of OpenFst, which it does not need.
look_ahead() {
  mkdir -p "$work/tools/openfst/lib" "$work/tools/openfst/bin"
  touch "$work/tools/openfst/lib/libfstlookahead.so" "$work/tools/openfst/bin/ngramread"
  from_command look_ahead local/lookahead/run_lookahead.sh
}

run_recipe() {
  local s5=egs/mini_librispeech/s5
  place_data
  edit_numbers
  local_jobs "$s5"
  step run $s5 from_stage run 1 ./run.sh
  if $every; then
    [[ ! -L $work/$s5/exp/chain/tree_sp ]] || rm "$work/$s5/exp/chain/tree_sp"
    # Stages that another script has done are left out: perturbed data, i-vectors (4 to 9); lattices, the tree (10 to 12).
    step tdnn $s5 from_stage tdnn 4 local/chain/run_tdnn.sh
    step look_ahead $s5 look_ahead
    step cnn_tdnn $s5 from_stage cnn_tdnn 10 local/chain/run_cnn_tdnn.sh
    step tdnn_1c $s5 from_stage tdnn_1c 13 local/chain/tuning/run_tdnn_1c.sh
    step discriminative $s5 discriminative
  else
    mkdir -p "$work/$s5/exp/chain"
    ln -sfn ../chain2/tree_sp "$work/$s5/exp/chain/tree_sp"
  fi
  step keywords $s5 keywords
  step grammars $s5 grammars
  error_rates $s5 >"$work/results.txt"
  expect_rates {tri3b,chain2/tdnn1a_sp}/decode_{tgsmall,tglarge}_dev_clean_2
  if $every; then
    expect_rates chain_online_cmn/tdnn1k_sp{,_online}/decode_tglarge_dev_clean_2 chain/cnn_tdnn1a76b_sp{,_online}/decode_tglarge_dev_clean_2 \
      chain/tdnn1c_sp{,_online}/decode_tglarge_dev_clean_2 chain/tdnn1c_sp_smbr/decode_tglarge_dev_clean_2_epoch1 \
      chain_online_cmn/tdnn1k_sp/decode_dev_clean_2_lookahead{_base,_static,,_arpa,_arpa_fast}
  fi
}
