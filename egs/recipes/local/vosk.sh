# The training recipe of alphacep/vosk-api (training/run.sh) on the corpus of the recipe mini_librispeech; its model in vosk's layout, read here.

recipe_folders=(egs/wsj/s5 tools/config tools/extras)

check_recipe() {
  [[ $vosk ]] || refuse_value "the recipe vosk needs --vosk DIR, a checkout of vosk-api (git clone https://github.com/alphacep/vosk-api)"
}

make_data() {
  local num_test=200
  num_train=2000 # not local: edit_numbers reads it
  if $quick; then num_train=400 num_test=40; fi
  if [[ $sentences ]]; then num_train=$sentences num_test=$((sentences / 10)); fi # lint: whole: sentences
  step corpus . "$python" "$here/local/librispeech.py" --num-train="$num_train" --num-test="$num_test" --nj="$nj" --seed="$seed" "$text" "$work/corpus"
}

# The folder training/ of vosk-api stands beside Kaldi's recipes: its links to steps and utils go to wsj/s5.
place_data() {
  local s5=$work/egs/vosk/training part
  if [[ ! -e $s5 ]]; then
    mkdir -p "$work/egs/vosk"
    cp -r "$vosk/training" "$s5.part"
    mv "$s5.part" "$s5"
  fi
  mkdir -p "$s5/data/local"
  [[ -e $s5/data/local/lm ]] || cp -r "$work/corpus/lm" "$s5/data/local/lm"
}

# Numbers that a user edits: jobs, the size of models, and epochs.
edit_numbers() {
  local s5=$work/egs/vosk/training gaussians=$((num_train / 6))
  # Each Gaussian of the i-vector extractor needs 100 frames; of a sentence it sees about 24.
  (( gaussians < 512 )) || gaussians=512
  sed -i "s/_subset 512 /_subset $gaussians /" "$s5/local/chain/run_ivector_common.sh"
  if (( num_train < 1200 )); then
    # Held-out sets have 300 recordings of 1200 or more. With fewer they do not fill a minibatch.
    sed -i "s/--egs.opts \"--frames-overlap-per-eg 0/--egs.opts \"--num-utts-subset $((num_train / 10)) --frames-overlap-per-eg 0/" "$s5/local/chain/run_tdnn.sh"
    sed -i 's/--trainer.num-chunk-per-minibatch 64 /--trainer.num-chunk-per-minibatch 64,32,16 /' "$s5/local/chain/run_tdnn.sh"
  fi
  if $quick; then
    few_gaussians "$s5/run.sh"
    few_jobs "$s5/run.sh" "$s5"/local/chain/*.sh
    sed -i 's/--trainer.num-epochs 20/--trainer.num-epochs 3/' "$s5/local/chain/run_tdnn.sh"
    sed -i -E 's/(--trainer.num-chunk-per-minibatch) [0-9,]+/\1 32,16/' "$s5/local/chain/run_tdnn.sh"
  fi
}

# Stage 0 of run.sh without its downloads; run.sh goes on with stage 1.
prepare() {
  local/data_prep.sh "$work/corpus/LibriSpeech/train-clean-5" data/train && local/data_prep.sh "$work/corpus/LibriSpeech/dev-clean-2" data/test
}

# The model as a folder for vosk and nnet3-transcribe.
model_folder() {
  rm -rf model
  steps/online/nnet3/prepare_online_decoding.sh data/lang_chain exp/chain/extractor exp/chain/tdnn exp/chain/tdnn_online &&
    "$here/../../scripts/make_vosk_model.sh" --graph=exp/chain/tdnn/graph exp/chain/tdnn_online model
}

# Words of the test set by nnet3-transcribe, from waves.
transcribe() {
  mkdir -p wav && find -L "$work/corpus/LibriSpeech/dev-clean-2" -name '*.flac' -exec flac -d -s -f --output-prefix=wav/ {} + &&
    nnet3-transcribe model wav/*.wav >transcripts.txt && compute-wer --text --mode=present ark:data/test/text ark:transcripts.txt
}

run_recipe() {
  local s5=egs/vosk/training
  place_data
  edit_numbers
  local_jobs "$s5"
  echo 'export get_egs_cmd=run.pl' >>"$work/$s5/cmd.sh"
  step prepare "$s5" prepare
  step run "$s5" from_stage run 1 -e ./run.sh # -e: a stage that fails ends it
  step model "$s5" model_folder
  step transcribe "$s5" transcribe
  {
    error_rates $s5
    sed -n 's/^\(%WER [0-9.]*\).*/\1 nnet3-transcribe/p' "$work/logs/transcribe.log"
  } >"$work/results.txt"
  expect_rates chain/tdnn/decode_test_rescore nnet3-transcribe
}
