# The options of train.sh, and what has to hold among them.

heading "Data"
option feats text "" "features: a table (scp:feats.scp, ark:feats.ark, 'ark:command |'), or a data folder with feats.scp, whose cmvn.scp, \
utt2spk, utt2uniq and utt2num_frames are used if they are there"
option cmvn-opts text "" "options of apply-cmvn for a data folder with cmvn.scp, such as --norm-vars=true"
option online-ivector-dir word "" "folder with ivector_online.scp and ivector_period, for networks with an input 'ivector'"
option targets text "" "what to learn, a table with the utterances of --feats"
option target-type 'ali|post|dense' ali "what --targets holds: ali: a class number for each frame; post: posteriors; dense: \
matrices"
option ali-dir word "" "instead of --targets: folder with final.mdl and ali.*.gz. An acoustic model is trained, with the \
transition model and the alignments found there"
option valid-feats text "" "validation data, like --feats; without it, some utterances of the training data are kept for \
validation"
option valid-targets text "" "validation data, like --targets"
option num-utts-subset integer 300 "utterances kept for validation, at most a tenth of all; also, utterances of the training \
data that diagnostics and combination use"

heading "Chain models (LF-MMI)"
option objective 'frame|chain' frame "frame: targets frame by frame; chain: lattice-free MMI. --chunk-width is 150 then, \
--frame-subsampling-factor 3, --samples-per-iter 5000, --num-frames-diagnostic 60000, unless they are given"
option tree-dir word "" "folder of a tree with its alignments: tree, final.mdl, ali.*.gz (steps/nnet3/chain/build_tree.sh)"
option lat-dir word "" "folder of lattices of the utterances: lat.*.gz, final.mdl; without it, supervision is the phones of --tree-dir's alignments"
option graph-dir word "" "instead of both, for training without alignments: tree, final.mdl, phone_lm.fst, and training graphs \
fst.*.scp (steps/nnet3/chain/e2e/prepare_e2e.sh). Examples are whole utterances, of the lengths --chunk-width, four frames more or less"
option lm-opts text "" "options of chain-est-phone-lm"
option alignment-subsampling-factor integer 3 "frames of the lattices for each output frame"
option left-tolerance integer 5 "frames by which phones may begin earlier than in the lattices"
option right-tolerance integer 5 "frames by which phones may end later than in the lattices"
option constrained bool true "times of phones hold within a chunk, too; false: only the order of phones"
option lattice-lm-scale number 0.0 "part of the lattices' graph costs that supervision has (without transcripts: 0.5)"
option lattice-prune-beam word "" "prunes the lattices; 0: only the best path"
option lattice-acwt number 0.1 "acoustic scale for that"
option deriv-weights-scp word "" "table of weights of output frames"
option apply-deriv-weights bool true "use them"
option leaky-hmm-coefficient number 0.1 "probability of leaving any state of the denominator graph for any other"
option l2-regularize number 0.0 "square penalty on the output"
option xent-regularize number 0.1 "weight of the cross-entropy objective of output-xent"

heading "Network (one of these)"
option xconfig word "" "layers, as nnet3-xconfig-to-configs expands them. A file ...lda.mat that a layer reads is estimated \
from the data"
option nnet-config word "" "config lines, as nnet3-init reads them"
option config-dir word "" "configs of nnet3-xconfig-to-configs or Kaldi's xconfig_to_configs.py"
option input-model word "" "a model to go on from"

heading "Examples"
option chunk-width word 8 "frames with targets in an example; of several, as 40,30,20, the first is the usual one and the \
others help to fit utterances. -1: whole utterances"
option keep-short bool true "an utterance that is shorter than all of these becomes an example of nearly its own length; false: it is left out, as \
in Kaldi"
option max-lost number 0.02 "part of the utterances that may give no example; more is an error that says why they do not"
option chunk-left-context integer 0 "frames before a chunk, besides those that the network needs (recurrent networks: 40)"
option chunk-right-context integer 0 "frames after a chunk, besides those that the network needs"
option chunk-left-context-initial integer -1 "the same before the first chunk of an utterance; -1: as for others"
option chunk-right-context-final integer -1 "the same after the last chunk of an utterance; -1: as for others"
option frame-subsampling-factor integer 1 "input frames for each target"
option compress bool true "examples in compressed form"
option samples-per-iter integer 400000 "examples in an archive, at most; a job reads one archive in an iteration"
option archives integer 0 "number of archives; 0: as few as --samples-per-iter and the number of jobs allow"
option num-frames-diagnostic integer 10000 "frames for the objective on training and validation data after each iteration"
option num-frames-combine integer 60000 "frames of training data for the final combination"
option egs-dir word "" "examples that are there already, made by this script or Kaldi's"
option on-the-fly bool false "make examples while training instead of storing them; takes no disk space, but the time to \
make them in each iteration"
option rand-prune number 4.0 "pruning of posteriors for the transform of the input (lda.mat)"
option max-lda-jobs integer 10 "archives used for that, at most"

heading "Training"
option srand integer 0 "seed; the same seed, options and machine give the same model"
option num-epochs number 8 "passes over the data"
option frame-level bool false "train on one frame of each example at a time, another one each time round, so that an epoch \
takes as many passes over the archives as an example has frames (Kaldi's train_raw_dnn.py); false: on all its frames \
(train_raw_rnn.py)"
option minibatch-size word 64 "examples in a minibatch: a number, or a rule of nnet3-merge-egs"
option initial-effective-lrate number 0.0003 "learning rate at the beginning; each iteration's is multiplied by its jobs"
option final-effective-lrate number 0.00003 "learning rate at the end; it falls exponentially"
option num-jobs-initial integer 1 "jobs in the first iteration"
option num-jobs-final integer 2 "jobs in the last iteration; the number grows linearly"
option num-jobs-step integer 1 "numbers of jobs are multiples of this"
option max-param-change number 2.0 "limit to the change of all parameters in a minibatch (2-norm)"
option momentum number 0.0 "part of a minibatch's change that is repeated in the next one"
option backstitch-training-scale number 0.0 "how far backstitch training steps back; 0: not at all"
option backstitch-training-interval integer 1 "minibatches from one backstitch step to the next"
option dropout-schedule text "" "such as 'tdnn*=0,0@0.2,0.3@0.5,0': proportions along the data, for components with dropout \
whose names fit; separated by blanks, the later ones win"
option proportional-shrink number 0.0 "scale parameters by 1 - this * learning rate before each iteration"
option shrink-value number 1.0 "scale by this instead when nonlinearities are saturated (recurrent networks: 0.99)"
option shrink-saturation-threshold number 0.40 "mean saturation above which that happens"
option deriv-truncate-margin word "" "recurrent networks: drop derivatives more than this many frames outside the chunk (8)"
option shuffle-buffer-size integer 5000 "examples among which a job shuffles"
option train-opts text "" "further options of nnet3-train"

heading "After training"
option do-final-combination bool true "combine the last models; false: take the last one"
option max-models-combine integer 20 "models to combine, at most"
option max-objective-evaluations integer 30 "effort of the combination"
option calibrate bool false "chain models: multiply the output of the final model by the factor, at most 1, by which the objective of the utterances kept for \
validation is best; below 1 the network was too sure of what it hears, and the language model counts more"
option compute-average-posteriors bool false "also write post.final.vec, the mean output"
option prior-subset-size integer 20000 "acoustic models: examples from each archive for the priors"
option num-jobs-compute-prior integer 10 "acoustic models: jobs for the priors"

heading "Running"
option cmd text run.sh "what runs jobs, with its options: run.sh, slurm.sh, or one of Kaldi's (run.pl, queue.pl, slurm.pl)"
option train-cmd-opts text "" "options of --cmd for jobs that train, such as '--gpu 1 --mem 8G'"
option use-gpu 'yes|no|optional|wait' optional "for jobs that train"
option cpu-math 'fp32|bf16' fp32 "matrix products of jobs that train on the CPU: bf16 is faster and less exact, on processors with AVX512-BF16"
option nj integer 4 "jobs that make examples"
option compute-per-dim-accuracy bool false "diagnostics say how well each class is recognised"
option report bool true "write DIR/report.html after each iteration"
option cleanup bool true "remove models that are not needed any more"
option remove-egs bool false "remove DIR/egs at the end"
option preserve-model-interval integer 100 "models whose number is a multiple of this are kept"
option restart 'true|false|changed' false "forget what is in DIR, and begin anew; changed: only if it holds a training with other \
options or data"

# Ends the script if the value of an option is neither empty, nor a table, nor, for features, a folder, or if the file of the table is not there.
need_table() { # <option> <value>
  local expected='a table, such as scp:FILE or ark:FILE' found='no such file or folder'
  shown "$2"
  if [[ $2 =~ ^(ark|scp)[a-z,_]*:(.+)$ && $2 != *'|' && $2 != *:- ]]; then
    [[ -e ${BASH_REMATCH[2]} ]] || fail "--$1=$REPLY: cannot open ${BASH_REMATCH[2]}: no such file"
  fi
  [[ $2 && $2 != *:* ]] || return 0
  if [[ $1 == *feats ]]; then
    [[ ! -d $2 ]] || return 0
    expected="a data folder with feats.scp, or $expected"
  fi
  [[ ! -d $2 ]] || found='a folder'
  [[ ! -f $2 ]] || found='a file'
  fail "--$1=$REPLY: expected $expected, found $found"
}

check_options() {
  local network=("$xconfig" "$nnet_config" "$config_dir" "$input_model") given=0 name path
  [[ $dir ]] || fail "the folder's name is empty"
  plain_name "the folder" "$dir"
  plain_name "the folder that this was called in" "$PWD"
  plain_name "the folder of this script" "$here"
  for name in online-ivector-dir ali-dir tree-dir lat-dir graph-dir deriv-weights-scp xconfig nnet-config config-dir input-model egs-dir; do
    path=${name//-/_}
    [[ ! ${!path} ]] || plain_name "--$name" "${!path}"
  done
  # (What comes through a pipe is copied, and not named again.)
  for name in feats valid-feats targets valid-targets; do
    path=${name//-/_}
    plain_table "--$name" "${!path}"
    need_table "$name" "${!path}"
  done
  for name in cmvn-opts lm-opts train-opts; do
    path=${name//-/_}
    plain_words "--$name" "${!path}"
  done
  for name in "${network[@]}"; do if [[ $name ]]; then given=$((given + 1)); fi; done
  (( given == 1 )) || fail "give one of --xconfig, --nnet-config, --config-dir and --input-model (found $given); see --help"
  need_file xconfig "$xconfig"
  need_file nnet-config "$nnet_config"
  need_file input-model "$input_model"
  check_data_options
  within whole 1 1000000000 num-utts-subset samples-per-iter num-frames-diagnostic num-frames-combine backstitch-training-interval \
    prior-subset-size preserve-model-interval shuffle-buffer-size max-objective-evaluations
  within whole 1 10000 frame-subsampling-factor num-jobs-initial num-jobs-final num-jobs-step max-models-combine num-jobs-compute-prior nj \
    max-lda-jobs alignment-subsampling-factor
  within whole 0 100000 archives
  within whole 0 1000000000 srand left-tolerance right-tolerance chunk-left-context chunk-right-context
  within whole -1 1000000000 chunk-left-context-initial chunk-right-context-final
  [[ $chunk_width == -1 ]] || numbers chunk_width , --chunk-width "$chunk_width" 1 1000000
  [[ $frame_level == false || $chunk_width != -1 ]] || fail "--frame-level=true needs a --chunk-width"
  [[ $minibatch_size =~ ^[0-9=:,/]+$ ]] || fail "--minibatch-size=$minibatch_size: expected a rule such as 64 or 1:64"
  check_minibatch_size
  [[ ! $deriv_truncate_margin ]] || number deriv_truncate_margin whole --deriv-truncate-margin "$deriv_truncate_margin" 0 1000000
  [[ ! $lattice_prune_beam ]] || number lattice_prune_beam decimal --lattice-prune-beam "$lattice_prune_beam"
  within decimal 0 1 max-lost
  is_less 0 "$num_epochs" || fail "--num-epochs=$num_epochs: expected more than 0"
  within decimal 0 1000000 num-epochs
  { is_less 0 "$initial_effective_lrate" && is_less 0 "$final_effective_lrate"; } || fail "learning rates have to be above 0"
  check_dropout_schedule
}

# Its numbers are decimal, too: 064 is 64.
check_minibatch_size() {
  local rest=$minibatch_size rule='' digits value
  while [[ $rest =~ ^([^0-9]*)([0-9]+)(.*)$ ]]; do
    rule+=${BASH_REMATCH[1]} digits=${BASH_REMATCH[2]} rest=${BASH_REMATCH[3]}
    number value whole --minibatch-size "$digits" 0 1000000000
    rule+=$value
  done
  minibatch_size=$rule$rest
}

check_data_options() {
  local file
  if [[ $objective == chain ]]; then check_chain_options
  elif [[ $tree_dir || $lat_dir || $graph_dir ]]; then fail "--tree-dir, --lat-dir and --graph-dir are for --objective=chain"
  elif [[ $calibrate == true ]]; then fail "--calibrate=true is for --objective=chain"
  fi
  if [[ $ali_dir ]]; then
    [[ ! $targets && $target_type == ali ]] || fail "--ali-dir takes the place of --targets"
    for file in final.mdl ali.1.gz; do need_file ali-dir "$ali_dir/$file"; done
    [[ ! $valid_feats ]] || fail "--ali-dir and --valid-feats do not go together: validation data come from the training data"
  fi
  if [[ $egs_dir ]]; then
    [[ ! $feats && ! $targets && $on_the_fly == false ]] ||
      fail "--egs-dir takes the place of --feats and --targets"
    return
  fi
  [[ $feats ]] || fail "give --feats; see --help"
  [[ $targets || $ali_dir || $objective == chain ]] || fail "give --targets or --ali-dir; see --help"
  [[ ${valid_feats:+x} == "${valid_targets:+x}" ]] || fail "--valid-feats and --valid-targets go together"
  if [[ $online_ivector_dir ]]; then
    need_file online-ivector-dir "$online_ivector_dir/ivector_online.scp"
    need_file online-ivector-dir "$online_ivector_dir/ivector_period"
  fi
}
