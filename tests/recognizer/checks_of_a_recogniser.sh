# Checks of dev/test-recognizer.sh: a recogniser from words alone, what is made of it, and what is wrong with its parts.

# The phones of the language are the letters of its words.
has_letters() {
  recognizer letters --lexicon=letters --last-part=language || return 1
  diff <(awk '{ for (i = 2; i <= NF; i++) print $i }' "$toy/text" | sort -u) <(cut -d' ' -f1 "$work/letters/data/lexicon.txt") &&
    diff <(awk '{ for (i = 2; i <= NF; i++) { n = split($i, l, ""); for (k = 1; k <= n; k++) print l[k] } }' "$toy/text" | sort -u) \
      <(awk '$1 ~ /_B$/ { sub(/_B$/, "", $1); print $1 }' "$work/letters/lang/phones.txt" | sort -u)
}

learned() { [[ -e $work/exp/results.txt ]] || recognizer exp --decode-flat=true; } # what most tests look at

learns() {
  learned || return 1
  awk 'NR > 1 { if (NF < 8 || $0 !~ / %/) exit 1; n++; gsub(/ \(flat start\)/, ""); if ($4 > 15) bad = 1 } END { exit bad || n != 2 }' "$work/exp/results.txt"
}

# The model folder understands what the decoder has understood, or, as words with the least risk need not be the best path, what was said.
transcribes() {
  local key
  learned || return 1
  while read -r key _; do
    nnet3-transcribe --print-args=false "$work/exp/model" "$toy/wav/$key.wav" 2>/dev/null </dev/null
  done <"$work/exp/data/held_out/text" >"$work/transcribed"
  diff <(sort -u "$work/exp/decode/held_out/text" "$work/exp/data/held_out/text" | grep -xFf "$work/transcribed") "$work/transcribed"
}

# A graph of two halves gives the texts of the whole one, takes phrases, and has the lexicon.
looks_ahead() {
  learned || return 1
  local exp=$work/exp kind phrase
  scripts/make_graph.sh --look-ahead=true --self-loop-scale=1.0 "$exp/lm/lm.arpa" "$exp/lang" "$exp/chain/model/tree" \
    "$exp/chain/model/final.mdl" "$work/halves" && rm -rf "$work/ahead" &&
    scripts/make_vosk_model.sh --graph="$work/halves" "$exp" "$work/ahead" || return 1
  for kind in exp/model ahead; do
    nnet3-transcribe --print-args=false "$work/$kind" "$toy"/wav/*.wav 2>/dev/null >"$work/by_$(basename "$kind")" || return 1
  done
  diff "$work/by_model" "$work/by_ahead" || return 1
  phrase=$(head -n 1 "$toy/text" | cut -d' ' -f2-)
  printf '%s\n' "$phrase" zebra >"$work/phrases"
  nnet3-transcribe --print-args=false --phrases="$work/phrases" "$work/ahead" "$toy"/wav/*.wav 2>"$work/log" >"$work/by_phrases" &&
    grep -qF "phrases, line 2: the word 'zebra' is not in the vocabulary" "$work/log" || return 1
  phrase=$phrase awk 'BEGIN { n = split(ENVIRON["phrase"], words, " "); for (i = 1; i <= n; i++) may[words[i]] }
    { for (i = 2; i <= NF; i++) { if (!($i in may)) exit 1; some = 1 } } END { exit !some }' "$work/by_phrases" || return 1
  cp "$exp/lang/phones.txt" "$work/ahead/graph/"
  nnet3-lexicon --print-args=false "$work/ahead" 2>/dev/null >"$work/lexicon" &&
    diff <(sort -u "$work/lexicon") <(awk '{ $1 = $1; print }' "$toy/lexicon.txt" | sort -u)
}

# A new word, with a model that has its tree and with one whose tree is recovered from the graph, in both forms of graphs. The old word `mi`
# is in no new text.
adapts() {
  local from options hears
  learned || return 1
  if [[ ! -e $work/ahead ]]; then looks_ahead || return 1; fi
  python3 - "$work/new" <<'PYTHON'
import random, sys
sys.path.append("tests/recognizer")
import toy_speech
from pathlib import Path
toy_speech.LEXICON["qartu"] = ("Q R T U",)
out, draw = Path(sys.argv[1]), random.Random(9)
out.mkdir()
for i in range(4):
    toy_speech.write_wave(out / f"new{i}.wav", toy_speech.utterance(draw, ["lo", "qartu", "ru", "qartu"]))
(out / "text").write_text("lo qartu ru qartu\nru lo qartu\nqartu ru\n")
(out / "phrases").write_text("qartu\n")
(out / "lexicon").write_text("qartu Q R T U\n")
(out / "g2p").write_text("#!/bin/sh\nwhile read -r word; do echo $word Q R T U; done\n")
(out / "g2p").chmod(0o755)
PYTHON
  local adapted="$work/my models/adapted" # a blank in the name
  hears() { nnet3-transcribe --print-args=false "$1" "$work"/new/*.wav 2>/dev/null | cut -d' ' -f2- | tee "$work/heard"; }
  hears "$work/ahead" | grep qartu && return 1
  for from in exp ahead; do
    for options in "--text=$work/new/text --lexicon=$work/new/lexicon" "--phrases=$work/new/phrases --g2p=$work/new/g2p" \
      "--text=$work/new/text --lexicon=$work/new/lexicon --old-weight=0 --look-ahead=false"; do
      rm -rf "$adapted"
      # shellcheck disable=SC2086
      scripts/adapt_model.sh $options "$work/$from" "$adapted" || return 1 # lint: options of this script
      hears "$adapted"
      (( $(grep -c 'lo qartu ru qartu' "$work/heard") >= 3 )) || return 1
      nnet3-lexicon --print-args=false --words=qartu "$adapted" 2>/dev/null | grep -x 'qartu Q R T U' || return 1
    done
    [[ ! -e $adapted/graph/HCLr.fst && -e $adapted/am/tree ]] || return 1
  done
  # The recovered tree has the pdfs of the tree itself, so that the same graph comes of both.
  mkdir -p "$work/recovered"
  nnet3-recover --print-args=false "$work/ahead" "$work/recovered" || return 1
  for from in "$work/recovered/tree" "$work/exp/tree/tree"; do
    rm -rf "$work/graph"
    scripts/make_graph.sh --self-loop-scale=1.0 "$work/exp/lm/lm.arpa" "$work/exp/lang" "$from" "$work/exp/chain/model/final.mdl" "$work/graph" || return 1
    cksum <"$work/graph/HCLG.fst"
  done | grep -v HCLG | uniq -d | grep .
}

# Slurm and Kubernetes are stand-ins: tests/train/slurm, tests/train/kubernetes.py.
on_clusters() {
  local cmd status=0 pid
  learned || return 1
  find "$PWD" "$toy/wav" -maxdepth 1 -name 'toy-00?.wav' | sort >"$work/list"
  many() { PATH=$PWD/tests/train/slurm:$bin FAKE_SLURM=$work/fake scripts/transcribe_many.sh --cmd="$1" --batch=4 --nj=2 --model="$work/exp/model" "$work/list" "$2"; }
  mkdir -p "$work/fake"
  many run.sh "$work/many_run" && many slurm.sh "$work/many_slurm" && cmp "$work/many_run/text" "$work/many_slurm/text" &&
    (( $(wc -l <"$work/many_run/text") == $(wc -l <"$work/list") )) && compgen -G "$work/fake/*" || return 1
  # As if another model had been in the folder.
  echo other >"$work/many_slurm/model"
  ! many run.sh "$work/many_slurm" 2>"$work/refused" && grep -F "other sizes or times" "$work/refused" || return 1
  command -v kubectl >/dev/null || { echo "no kubectl here: not tested with k8s.sh"; return 0; }
  python3 tests/train/kubernetes.py 2 >"$work/port" 2>"$work/cluster.log" &
  pid=$!
  until [[ -s $work/port ]] || ! kill -0 $pid; do sleep 0.1; done
  printf '%s\n' '{"apiVersion": "v1", "kind": "Config", "current-context": "test",' \
    "\"clusters\": [{\"name\": \"test\", \"cluster\": {\"server\": \"http://127.0.0.1:$(<"$work/port")\"}}]," \
    '"contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "speech"}}], "users": [{"name": "test", "user": {}}]}' \
    >"$work/config"
  KUBECONFIG=$work/config KUBECACHEDIR=$work/cache NNET3_K8S_IMAGE=nnet3 NNET3_K8S_VOLUME=host:$PWD,claim:speech:$work many k8s.sh "$work/many_k8s" || status=1
  kill $pid
  wait $pid
  (( status == 0 )) && cmp "$work/many_run/text" "$work/many_k8s/text"
}

# Recordings that are none are tried once; one whose job is killed is tried again, and then has a text. An option of --opts that is none
# ends the call at once.
tries_what_can_pass() {
  local said many=(scripts/transcribe_many.sh --batch=1 --nj=2 --tries=3 --model="$work/exp/model")
  learned || return 1
  mkdir -p "$work/faults" "$work/killer"
  echo "no sound" >"$work/faults/text.wav"
  : >"$work/faults/empty.wav"
  cp "$toy/wav/toy-003.wav" "$toy/wav/toy-005.wav" "$work/faults"
  printf '%s\n' "$work"/faults/{text,empty,gone,toy-003,toy-005}.wav >"$work/faults/list"
  # The job of one recording is killed the first time.
  cat >"$work/killer/nnet3-transcribe" <<KILLER
#!/bin/sh
case "\$(echo "\$@")" in *toy-005*) if [ ! -e "$work/killer/once" ]; then touch "$work/killer/once"; kill -KILL \$\$; fi ;; esac
exec "$(command -v nnet3-transcribe)" "\$@"
KILLER
  chmod +x "$work/killer/nnet3-transcribe"
  said=$(PATH=$work/killer:$PATH "${many[@]}" "$work/faults/list" "$work/faulty" 2>&1)
  echo "$said"
  [[ $said == *"try 1: 5 jobs"* && $said == *"try 2: 1 job of"* && $said != *"try 3"* && $said == *"3 recordings have faults that would stay: tried once"* ]] &&
    [[ $said == *"2 texts in "* && -e $work/killer/once ]] && diff <(cut -f1 "$work/faulty/failed") <(printf '%s\n' text empty gone) || return 1
  said=$("${many[@]}" --opts=--beem=13 "$work/faults/list" "$work/wrong_option" 2>&1)
  echo "$said"
  [[ $said == *"no recording was tried: "*beem* && $said != *"try 2"* ]]
}

# The same call again says that the result is there; with another file it is refused, or the graph made again.
same_again() {
  local call said exp=$work/exp
  learned || return 1
  echo 'lo mi' >"$work/again.txt"
  for call in "adapt_model.sh --text=$work/again.txt --old-weight=0 $exp" "make_vosk_model.sh --graph=$work/again_graph $exp" \
    "make_graph.sh --self-loop-scale=1.0 $work/again.arpa $exp/lang $exp/chain/model/tree $exp/chain/model/final.mdl"; do
    rm -rf "$work/again" "$work/again_graph"
    cp -r "$exp/graph" "$work/again_graph"
    cp "$exp/lm/lm.arpa" "$work/again.arpa"
    # shellcheck disable=SC2086
    scripts/$call "$work/again" && said=$(scripts/$call "$work/again" 2>&1) || return 1 # lint: words of this script
    echo "$said"
    [[ $said == *"$work/again is there already, made of the same files with the same options" ]] || return 1
    echo 'ru mi' >>"$work/again.txt"
    touch "$work/again_graph/HCLG.fst"
    sed -i 's/^-0/-1/' "$work/again.arpa"
    # shellcheck disable=SC2086
    said=$(scripts/$call "$work/again" 2>&1) # lint: words of this script
    echo "$said"
    [[ $said != *"made of the same files"* ]] || return 1
    [[ $call == make_graph* || $said == *"is there already, made of other files or with other options"* ]] || return 1
  done
}

# What Kaldi's decode.sh, align.sh, prepare_online_decoding.sh and mkgraph.sh read, with the values that were used.
has_what_kaldi_reads() {
  learned || return 1
  local exp=$work/exp model file
  for model in chain/model flat/model; do
    diff "$exp/$model/frame_subsampling_factor" - <<<3 && diff "$exp/$model/cmvn_opts" - <<<"--norm-means=false --norm-vars=false" &&
      diff "$exp/lang/phones.txt" "$exp/$model/phones.txt" || return 1
  done
  cmp "$exp/tree/tree" "$exp/chain/model/tree" && cmp "$exp/flat/graphs/tree" "$exp/flat/model/tree" || return 1
  for file in L.fst L_disambig.fst words.txt topo oov.txt phones/disambig.int phones/silence.csl phones/optional_silence.int; do
    [[ -s $exp/lang/$file ]] || { echo "no $file"; return 1; }
  done
  # Without a word for others, it is one that no graph has.
  diff "$exp/lang/oov.int" <(awk '$1 == "<s>" { print $2 }' "$exp/lang/words.txt") || return 1
  for file in data/train feats/train feats/held_out; do
    diff <(awk '{ for (i = 2; i <= NF; i++) print $i, $1 }' "$exp/$file/spk2utt" | sort) "$exp/$file/utt2spk" || return 1
  done
  diff <(cut -d' ' -f1 "$exp/feats/train/text") <(cut -d' ' -f1 "$exp/feats/train/feats.scp") && diff "$exp/lang/phones.txt" "$exp/graph/phones.txt" &&
    diff "$exp/lang/phones/optional_silence.int" "$exp/graph/phones/optional_silence.int"
}

does_nothing_again() {
  local said
  learned || return 1
  touch "$work/now"
  said=$(recognizer exp --decode-flat=true 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  (( $(grep -c 'there already' <<<"$said") == 13 )) && ! find "$work/exp" -name '*.mdl' -newer "$work/now" | grep .
}

does_what_has_changed() { # another beam
  local said
  learned || return 1
  said=$(recognizer exp --decode-flat=true --beam=12 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  (( $(grep -c 'there already' <<<"$said") == 10 )) && grep -q beam=12 "$work/exp/model/conf/model.conf"
}

# Started in the background in a process group of its own; killed with all that it has started, once also without: what it has left goes on.
survives_kills() {
  local pid kill
  learned || return 1
  for kill in 1 2 3 4; do # lint: whole: kill
    setsid scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" "${fast[@]}" \
      "$work/killed" &
    pid=$!
    sleep "$((kill / 2)).$((RANDOM % 10))"
    case $kill in
      1) kill -KILL -- -$pid ;;
      2 | 4) kill -TERM -- -$pid ;;
      3) kill -KILL $pid ;;
    esac
    wait $pid
    echo "killed: $kill"
  done
  recognizer killed || return 1
  local file
  for file in flat/model/final.mdl tree/tree chain/model/final.mdl graph/HCLG.fst decode/held_out/text model/am/final.mdl; do
    cmp "$work/exp/$file" "$work/killed/$file" || return 1
  done
}

alone() { # a second one in the same folder waits for the first
  local status=0
  learned || return 1
  exec {held}>"$work/exp/.lock"
  flock "$held"
  recognizer exp 2>"$work/waiting" {held}>&- &
  sleep 1
  grep "is at work in .*: waiting" "$work/waiting" && ! grep utterances "$work/waiting" || status=1
  exec {held}>&-
  wait $! && grep utterances "$work/waiting" || status=1
  return $status
}
# ---- adapted models: what is wrong -----------------------------------------------------------------------------------
adapt() { # <part of a sentence> <options> …
  learned || return 1
  says "$1" scripts/adapt_model.sh "${@:2}" "$work/exp" "$work/adapted_wrongly" && ! compgen -G "$work/adapted_wrongly*" && ! compgen -G "$work/.tmp.*"
}

# ---- model folders --------------------------------------------------------------------------------------------------
misfit() { # <what changes a copy of the recogniser in $copy> <part of a sentence> [<options> …]
  copy=$work/misfit
  learned || return 1
  rm -rf "$copy" "$work/model"
  mkdir -p "$copy"/{chain/model,feats/train}
  cp -r "$work"/exp/{conf,graph} "$copy"
  cp "$work/exp/chain/model/final.mdl" "$copy/chain/model"
  eval "$1" # lint: words of this script
  says "$2" scripts/make_vosk_model.sh "${@:3}" "$copy" "$work/model" && ! compgen -G "$work/model*"
}
reads_ivectors() { # puts a model of the toy's tree there whose network reads i-vectors
  local pdfs
  pdfs=$(tree-info --print-args=false "$work/exp/tree/tree" | sed -n 's/^num-pdfs //p')
  printf '%s\n' "input-node name=input dim=40" "input-node name=ivector dim=30" \
    "component name=a type=AffineComponent input-dim=70 output-dim=$pdfs" \
    "component-node name=a component=a input=Append(input, ReplaceIndex(ivector, t, 0))" "output-node name=output input=a" >"$work/ivector.config"
  nnet3-init "$work/ivector.config" - | nnet3-am-init "$work/exp/tree/tree" "$work/exp/lang/topo" - "$copy/chain/model/final.mdl"
}

# A recogniser that most of these look at, one that is killed, and model folders.
a_recogniser() {
  work=$own
  check "a lexicon of letters: a phone for each letter" has_letters
  check "a recogniser learns from words alone" learns
  check "the model folder understands what the decoder understands" transcribes
  check "folders have what Kaldi's scripts read" has_what_kaldi_reads
  check "started again, it does nothing" does_nothing_again
  check "a graph of two halves: the same texts, phrases, the lexicon" looks_ahead
  check "another language model and a new word, with the tree and without" adapts
  check "no Python on the PATH: many recordings by run.sh, slurm.sh and k8s.sh" on_clusters
  check "called again: adapt_model.sh, make_vosk_model.sh and make_graph.sh say what is there" same_again
  check "many recordings: only faults that can pass are tried again" tries_what_can_pass
  check "with another option, it does what depends on it" does_what_has_changed
  check "killed and started again, it ends with the same bytes" survives_kills
  check "two at the same time: one waits" alone
  printf '%s\n' 'lo zebra' >"$work/zebra"
  check "adapt: no text" adapt "give --text or --phrases"
  check "adapt: a word without a pronunciation" adapt "zebra, line 1: the word 'zebra' has no pronunciation" --text="$work/zebra"
  printf '%s\n' 'zebra Z' >"$work/zebra_lexicon"
  check "adapt: a phone that the model lacks" adapt "'Z' is no phone of the model" --text="$work/zebra" --lexicon="$work/zebra_lexicon"
  check "adapt: a command that fails" adapt "--g2p: the command failed" --text="$work/zebra" --g2p=false
  check "adapt: a weight above 1" adapt "--old-weight: expected a number from 0 to 1" --text="$work/zebra" --old-weight=2
  check "adapt: a language model without an end" adapt "--old-lm=/dev/zero: expected a file, found more than 268435456 bytes" --text="$work/zebra" --old-lm=/dev/zero
  check "adapt: a folder as the text" adapt "--text=$work: expected a file, found a folder" --text="$work"
  check "adapt: a folder that is no model" says "is no model folder" scripts/adapt_model.sh --text="$work/zebra" "$toy" "$work/adapted_wrongly"
  check "model folder: no model" misfit 'rm $copy/chain/model/final.mdl' "there is no acoustic model: looked for"
  check "model folder: no graph" misfit 'rm $copy/graph/HCLG.fst' "there is no decoding graph: looked for"
  check "model folder: no names of words" misfit 'rm $copy/graph/words.txt' "has no words.txt"
  check "model folder: other features" misfit 'sed -i s/num-ceps=40/num-ceps=13/ $copy/conf/mfcc.conf' "makes 13 columns of a frame, but the network reads 40"
  check "model folder: other phones" misfit 'sed -i 1d $copy/graph/phones/word_boundary.int' "phones, but the model has"
  check "model folder: wrong types of phones" misfit 'sed -i s/begin/internal/ $copy/graph/phones/word_boundary.int' \
    "has the type internal; expected begin"
  check "model folder: types of phones that are swapped" misfit 'sed -i "s/begin/x/; s/end/begin/; s/x/end/" $copy/graph/phones/word_boundary.int' \
    "has the type end; expected begin"
  check "model folder: no type that begins words" misfit 'rm $copy/graph/phones.txt; sed -i s/begin/internal/ $copy/graph/phones/word_boundary.int' \
    "but no phone of the model has the type 'begin'"
  check "model folder: names of words that end too early" misfit 'sed -i "4,\$d" $copy/graph/words.txt' "not in symbol table"
  check "model folder: no names in words.txt" misfit ': >$copy/graph/words.txt' "not in symbol table"
  check "model folder: a silence phone that there is not" misfit ':' "silence phone 999 is not one of the model's" --silence-phones=999
  check "model folder: graph of another model" misfit ':' "the pieces do not fit each other" --mdl="$work/exp/flat/model/final.mdl"
  check "model folder: a damaged graph" misfit 'truncate -s 2000 $copy/graph/HCLG.fst' "the pieces do not fit each other"
  check "model folder: no i-vectors" misfit reads_ivectors "there is no final.ie of the i-vectors that the network reads: looked for"
  check "model folder: i-vectors that nobody reads" misfit ':' "the network reads no i-vectors" --ivector="$work"
}
