# The options of recognizer.sh, what has to hold among them, and the parts of its work in their order.

heading "Data"
option wav word "" "folder of recordings of any format, each with an utterance, whose name without its ending is its key; or a file of \
lines 'key file', where a command that ends with | may stand in place of the file"
option text word "" "what is said: lines 'key word word ...'"
option utt2spk word "" "speakers: lines 'key speaker', also those of --test-wav"
option data word "" "instead of these: a data folder as Kaldi's recipes have it (wav.scp, text; segments and utt2spk if they are there), or any \
corpus that corpus-to-data reads: a tree of folders with .TextGrid, .eaf, .lab or .txt files beside the recordings, or a table (.csv, .tsv, \
metadata.csv) of recordings and texts"
option speakers word "" "rule by which utterances of --data have speakers, as corpus-to-data has it: folder, prefix:N, field:N, file, one, or a table"
option text-extension word "" "endings of texts beside recordings, with commas between them, such as mb.cleaned; without it TextGrid,eaf,lab,txt"
option tiers word "" "tiers of TextGrids and ELAN's files that have texts, with commas between them; * stands for any characters"
option channels word first "channel of recordings with several: first, mix (the mean of all), or its number from 1"
option long word "" "folder of an earlier recognizer.sh: the recordings of --data have transcripts, but no segments; they are cut where that recogniser \
hears what the transcripts say (segment_long.sh)"
option lexicon word "" "pronunciations: lines 'word phone phone ...', several for a word that has several; a number between word and phones, \
if all lines have one, is the pronunciation's probability. 'letters' (./letters is a file): the letters of a word are its phones"
option test-wav word "" "recordings to test on, like --wav; without any for tests, some utterances of the data are held out"
option test-text word "" "what is said in them"
option test-data word "" "data folders or other corpora to test on, as for --data, separated by commas; results are listed under their names"
option test-speakers word "" "speakers of the data, separated by commas, whose utterances are for the test"
option num-test integer 200 "utterances that are held out, at most a tenth of all"
option oov 'error|g2p|letters' error "words of the transcripts that the lexicon lacks: error; g2p: pronunciations by a model of letters and phones, \
learned from the lexicon; letters: their letters, if phones of the lexicon are letters. DIR/unknown_words.tsv lists the words, DIR/data/new_words.txt the pronunciations"
option oov-word word "" "word of the lexicon that stands for words that it lacks"
option perturb bool false "add copies of the training data at 0.9 and 1.1 of their speed, and give all of it a volume at random (0.125 to 2); \
training takes three times as long"
option skip-bad bool false "leave out any number of utterances that cannot be used, with warnings; otherwise more than 2 % are an error"

option wrong-texts 'leave-out|keep' leave-out "texts that are surely not what is said (Gaussian models find that other phones, and the text of another utterance, fit \
better) are left out of the training of the network; DIR/doubtful_texts.tsv lists them, and the doubtful ones"

heading "Language"
option silence-phones word SIL "phones that are not speech, separated by commas; the first is the pause between words"
option silence-probability number 0.5 "probability of a pause between two words, for the lexicon"
option garbage bool true "train a word <unk> for noise, music and speech of other words, on noise and scrambled pieces of the training speech; \
recognised text for results leaves it out"
option garbage-factor number 0.01 "factor of the probability of <unk> in the language model; a larger one rejects more, of other sounds and of right words"
option word-positions bool true "phones are different ones at the beginning, in the middle and at the end of a word, if their sounds differ; \
the model folder then knows to the frame where words begin and end"
option arpa word "" "language model, an ARPA file; without it one is estimated from the transcripts"
option lm-order integer 3 "words in the n-grams of that one"

heading "Features"
option feature-type 'mfcc|fbank' mfcc "what the network sees: 40 cepstra, or the logarithms of 40 bands"
option sample-frequency integer 0 "samples per second; recordings with more are resampled. 0: what the recordings have"
option cmvn bool false "subtract the running mean of the last 6 seconds from features, so that levels and microphones matter less; vosk cannot do that"
option ivectors bool false "estimate i-vectors, which tell the model (not the flat start) about speaker and room; for some hours of sound or more"
option ivector-dim integer 0 "numbers in an i-vector; 0: 30 for less than 2 hours of sound, 50 for less than 20, 100"

heading "Start"
option start 'gaussian|flat' gaussian "where phones are at first. gaussian: by Gaussian models (monophones, triphones, LDA+MLLT, and SAT where speakers are \
known); flat: by a network that is trained without alignments"

heading "Training without alignments (--start=flat)"
option flat-network word "" "network: tiny, small, medium, large, or a file of layers with @TARGETS@ for the number of outputs; without it, \
tiny for less than 2 hours of sound, small for less than 50, medium"
option flat-epochs number 6 "passes over the data, of which each goes three times through the examples"
option flat-initial-lrate number 0.002 "learning rate at the beginning"
option flat-final-lrate number 0.0002 "learning rate at the end"

heading "The model (chain, of phones in context)"
option model 'auto|network|gaussian' auto "what recognises. gaussian: Gaussian models, written as a network that all programs run; auto: the network, but for \
less than 9 minutes of speech the one that makes fewer errors on utterances that the network was not trained on"
option adapt-speakers 'auto|true|false' auto "let the network also learn from features with a transform of each speaker (fMLLR): test sets with known speakers \
are recognised a second time, adapted to them, and nnet3-adapt-speaker makes models for speakers; training takes half as long again. auto: for less than an hour \
of speech, if two speakers or more are known"
option num-leaves integer 0 "leaves of the tree at most; 0: 300 for an hour of sound, and with the square root of the hours more or less"
option network word "" "network, as above, with @IVECTOR_DIM@ for the number of inputs of a node named ivector if there are i-vectors; without it, tiny for less than half an hour, small for less than 10 hours, medium for less than 200, large"
option num-epochs number 0 "passes over the data and their copies, of which each goes three times through the examples; 0: 6 passes over the data, and more \
for less than 18 minutes of speech, so that the number of steps stays; twice as many steps if there are copies"
option initial-lrate number 0.002 "learning rate at the beginning"
option final-lrate number 0.0002 "learning rate at the end"
option chunk-width word 150,110,90,60 "frames of an example; the first is the usual one, the others help to fit utterances; an utterance that is shorter than all is an example of nearly its own length"
option copies integer -1 "copies of each utterance that the network sees besides: with other voices, microphones, levels and noise (augment-feats). \
-1: for less than 2 hours of speech 2 (5 where the network learns with transforms of speakers), else none"
option pad-silence number -1 "part of the utterances and their copies that the network sees with quiet noise on each side, and part of all of these that it sees with \
digital silence there, up to 0.3 s each (pad-feats); in recognition there is digital silence, too: for recordings that are cut close to the words; -1: 0.5 if there are copies, else 0"
option networks integer 1 "networks that are trained with different seeds on the same examples; the model is the mean of their outputs (nnet3-am-ensemble). \
Several make fewer errors, and training and recognition take as long as all of them"
option calibrate bool true "multiply the output of the network by the factor, at most 1, that suits utterances best that it was not trained on: a network of little \
speech is too sure of what it hears"
option tolerance integer 3 "output frames, 30 ms each, by which phones may begin earlier or end later than in the alignments"

heading "Recognition"
option beam number 13 "beam of the search"
option lattice-beam number 6 "beam of lattices"
option max-active integer 7000 "hypotheses at a time, at most"
option decode-flat bool false "also recognise with the model that was trained without alignments, to see what the other one gains"

garbage_word="<unk>" garbage_phone=GBG
parts="data language features gaussians flat alignments tree copies adaptation ivectors chain lm choice graph recognition model"
heading "Running"
option last-part "${parts// /|}" model "what is done last"
option srand integer 0 "seed"
option num-jobs-initial integer 1 "training jobs in the first iteration"
option num-jobs-final integer 2 "training jobs in the last iteration"
option train-opts text "" "further options of train.sh, for both trainings"
option cmd text run.sh "what runs jobs, with its options: run.sh, slurm.sh, or one of Kaldi's"
option train-cmd-opts text "" "options of --cmd for jobs that train, such as '--gpu 1 --mem 8G'"
option use-gpu 'yes|no|optional|wait' optional "for jobs that train"
option cpu-math 'fp32|bf16' fp32 "matrix products of jobs that train on the CPU: bf16 is faster and less exact, on processors with AVX512-BF16"
option nj integer 2 "jobs for features, alignments and decoding"

check_options() {
  local name path
  [[ $dir ]] || fail "the folder's name is empty"
  plain_name "the folder" "$dir"
  plain_name "the folder that this was called in" "$PWD"
  plain_name "the folder of this script" "$here"
  if [[ $long ]]; then
    [[ $data ]] || fail "--long is for --data"
    plain_name --long "$long"
    plain_name --data "$data"
    need_file long "$long/chain/model/final.mdl"
  fi
  for name in wav text utt2spk data lexicon test-wav test-text arpa flat-network network; do
    path=${name//-/_}
    [[ ${!path} != -* ]] || file_name "$path" "--$name" "${!path}" # lint: an option's name
  done
  check_test_data
  [[ $start == flat ]] || for name in flat-network flat-epochs flat-initial-lrate flat-final-lrate decode-flat; do
    [[ ! ${option_given[$name]-} ]] || fail "--$name is for --start=flat"
  done
  plain_words --train-opts "$train_opts"
  check_train_opts
  [[ $lexicon ]] || fail "give a --lexicon; see --help"
  letters=false
  if [[ $lexicon == letters ]]; then letters=true lexicon=; fi
  if [[ $data ]]; then
    [[ ! $wav && ! $text && ! $utt2spk ]] || fail "--data is instead of --wav, --text and --utt2spk"
    [[ -e $data ]] || fail "--data=$data: there is no such folder or table"
  else
    [[ $wav && $text ]] || fail "give --wav and --text, or --data; see --help"
  fi
  [[ ${test_wav:+1} == "${test_text:+1}" ]] || fail "--test-wav and --test-text go together"
  [[ ! $test_wav || ! $test_data ]] || fail "give --test-wav and --test-text, or --test-data, not both"
  [[ ! $test_speakers || ( ! $test_wav && ! $test_data ) ]] || fail "--test-speakers is not for use with other data for tests"
  [[ ! $test_speakers || $utt2spk || $data ]] || fail "--test-speakers needs --utt2spk"
  [[ ! $speakers || $data ]] || fail "--speakers is for --data; --utt2spk names the speakers of --wav and --test-wav"
  [[ $oov == error || ! $oov_word ]] || fail "--oov=$oov and --oov-word do not go together"
  [[ $letters == false || ( $oov == error && ! $oov_word ) ]] || fail "--lexicon=letters lacks no word: --oov and --oov-word are for other lexicons"
  for name in wav text utt2spk lexicon arpa test-wav test-text; do
    path=${name//-/_}
    need_file $name "${!path}"
  done
  for name in flat-network network; do check_network $name; done
  if [[ $ivectors == true ]]; then
    [[ $cmvn == false ]] || fail "--ivectors=true and --cmvn=true do not go together: an i-vector tells the network what the running mean removes"
    case $network in
      '' | tiny | small | medium | large) ;;
      *) grep -q 'name=ivector' "$network" || fail "--network=$network: expected an input with name=ivector, as --ivectors=true has i-vectors made" ;;
    esac
  fi
  within whole 1 1000000000 num-test max-active
  within whole -1 1000 copies
  within whole 1 100 networks
  [[ $cmvn == false ]] || (( copies <= 0 )) || fail "--copies=$copies and --cmvn=true do not go together: changes of level and noise come before the running mean"
  [[ $model != gaussian ]] || for name in num-leaves network networks num-epochs initial-lrate final-lrate chunk-width copies pad-silence calibrate tolerance adapt-speakers; do
    [[ ! ${option_given[$name]-} ]] || fail "--$name is for a network, not for --model=gaussian"
  done
  if [[ $pad_silence != -1 ]] && is_less 0 "$pad_silence"; then
    [[ $cmvn == false ]] || fail "--pad-silence=$pad_silence and --cmvn=true do not go together: silence comes before the running mean"
    [[ $start != flat ]] || (( copies != 0 )) || fail "--pad-silence=$pad_silence with --start=flat needs copies: lattices have no silence put around them"
  fi
  [[ $start != flat || ! ${option_given[wrong-texts]-} ]] || fail "--wrong-texts is for --start=gaussian"
  [[ $garbage == true || ! ${option_given[garbage-factor]-} ]] || fail "--garbage-factor is for --garbage=true"
  [[ $model != gaussian || ( $start == gaussian && $feature_type == mfcc && $cmvn == false && $ivectors == false ) ]] ||
    fail "--model=gaussian needs --start=gaussian and --feature-type=mfcc, and goes with neither --cmvn=true nor --ivectors=true"
  within whole 1 9 lm-order
  within whole 1 10000 num-jobs-initial num-jobs-final nj
  within whole 0 1000000000 sample-frequency num-leaves ivector-dim tolerance srand
  numbers chunk_width , --chunk-width "$chunk_width" 1 1000000
  within decimal 0 1000000 num-epochs
  [[ $pad_silence == -1 ]] || within decimal 0 1 pad-silence
  for name in flat-epochs flat-initial-lrate flat-final-lrate initial-lrate final-lrate beam lattice-beam silence-probability garbage-factor; do
    path=${name//-/_}
    is_less 0 "${!path}" || fail "--$name=${!path}: expected more than 0"
  done
  ! is_less 1 "$garbage_factor" || fail "--garbage-factor=$garbage_factor: expected at most 1"
  is_less "$silence_probability" 1 || fail "--silence-probability=$silence_probability: expected less than 1"
}

# Options of train.sh are checked now, and not when the training begins.
check_train_opts() {
  local more said word
  [[ $train_opts ]] || return 0
  read -ra more <<<"$train_opts"
  for word in "${more[@]}"; do [[ $word == --* ]] || fail "--train-opts: expected options of train.sh such as --report=false, found '$word'"; done
  said=$("$here/train.sh" "${more[@]}" 2>&1) || true
  [[ $said == *"ERROR: expected the folder of the training"* ]] || fail "--train-opts: ${said#train.sh: }"
}

# The names of the folders are those of results.
check_test_data() {
  local folders folder name path
  IFS=, read -ra folders <<<"$test_data"
  for folder in "${folders[@]}"; do
    [[ $folder ]] || continue
    path=$folder
    if [[ $path == */ ]]; then path=${path%/}; fi
    name=${path##*/}
    case $name in
      '' | .* | train | held_out | rate | hours | tests | transcripts | garbage | lexicon.txt | new_words.txt) fail "--test-data: results cannot be listed under the name '$name'; give another folder" ;;
    esac
    plain_name --test-data "$name"
    [[ -e $folder ]] || { shown "$folder"; fail "--test-data: there is no folder or table $REPLY"; }
  done
}

check_network() { # <option>
  local value=${1//-/_}
  value=${!value}
  case $value in
    '' | tiny | small | medium | large) ;;
    *)
      [[ -r $value ]] || { shown "$value"; fail "--$1=$REPLY: expected tiny, small, medium, large, or a file of layers, and this file cannot be read"; }
      grep -q '@TARGETS@' "$value" || fail "--$1=$value: expected layers with @TARGETS@ where the number of outputs belongs"
      ;;
  esac
}
