#!/usr/bin/env bash
# Usage: test-recognizer.sh [WORDS]
# Tests scripts/recognizer.sh, adapt_model.sh, make_graph.sh and make_vosk_model.sh on a language of tones: a recogniser learns it from words
# alone, one that is killed and started again ends with the same bytes, and what is wrong with data is said. With WORDS, only the tests with
# these words in their names. Takes the programs from the PATH, or builds them; needs Python 3. Takes half a minute on two idle cores. Ends
# with the line `N passed, N failed`.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
plain_usage 0 1 "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C OPENBLAS_NUM_THREADS=1

words=${1-}
source tests/driver_checks.sh
RANDOM=5

# <part of a sentence> <command> …: fails, and says this.
says() {
  local said status
  said=$("${@:2}" 2>&1)
  status=$?
  echo "$said"
  (( status != 0 )) && [[ $said == *"$1"* ]]
}

toy=$work/toy
tests/recognizer/toy_speech.py --num 90 "$toy"
common=(--network="$toy/toy.xconfig" --num-epochs=3 --initial-lrate=0.004 --num-jobs-final=1 --cmvn=true --garbage=false --use-gpu=no
  --train-opts=--report=false)
fast=("${common[@]}" --start=flat --flat-network="$toy/toy.xconfig" --flat-epochs=3 --flat-initial-lrate=0.004)

no_python() { # makes $work/bin: all programs of the PATH but Python
  local name path
  mkdir -p "$work/bin"
  IFS=: read -ra path <<<"$PATH"
  for name in "${path[@]}"; do
    find "$name" -maxdepth 1 ! -name 'python*' ! -name 'pip*' \( -type f -o -type l \) -exec ln -s -t "$work/bin" {} + 2>/dev/null
  done
  ! PATH=$work/bin command -v python3
}
no_python || exit

recognizer() { # <folder> <options> …
  scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" "${fast[@]}" "${@:2}" \
    "$work/$1"
}

# ---- parts by themselves --------------------------------------------------------------------------------------------
check "language model and lexicon: as their definitions" python3 -m unittest discover -s tests/recognizer

# The phones of the language are the letters of its words.
has_letters() {
  recognizer letters --lexicon=letters --last-part=language || return 1
  diff <(awk '{ for (i = 2; i <= NF; i++) print $i }' "$toy/text" | sort -u) <(cut -d' ' -f1 "$work/letters/data/lexicon.txt") &&
    diff <(awk '{ for (i = 2; i <= NF; i++) { n = split($i, l, ""); for (k = 1; k <= n; k++) print l[k] } }' "$toy/text" | sort -u) \
      <(awk '$1 ~ /_B$/ { sub(/_B$/, "", $1); print $1 }' "$work/letters/lang/phones.txt" | sort -u)
}
check "a lexicon of letters: a phone for each letter" has_letters

# ---- a recogniser ---------------------------------------------------------------------------------------------------
learned() { [[ -e $work/exp/results.txt ]] || recognizer exp --decode-flat=true; } # what most tests look at

learns() {
  learned || return 1
  awk 'NR > 1 { if (NF < 8 || $0 !~ / %/) exit 1; n++; gsub(/ \(flat start\)/, ""); if ($4 > 15) bad = 1 } END { exit bad || n != 2 }' "$work/exp/results.txt"
}

# From Gaussian models, which is the default. The shortest utterances are shorter than all chunk sizes, and none is lost.
learns_from_gaussians() {
  local said
  said=$(scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" "${common[@]}" \
    --chunk-width=150,120 "$work/gaussian" 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  [[ $said == *"train: 90 utterances ("*" in, 90 utterances ("*" out"* && $said == *"alignments of the Gaussian models: 81 of 81 utterances"* &&
    $said == *"examples: from 72 of 72 utterances"* && $said == *"recognition of held_out: 9 of 9 utterances"* ]] || return 1
  awk 'NR > 1 { if (NF < 8 || $0 !~ / %/) exit 1; n++; if ($4 > 15) bad = 1 } END { exit bad || n != 1 }' "$work/gaussian/results.txt"
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

# Noise is no word, and words are words.
rejects() {
  recognizer garbage --garbage=true || return 1
  awk 'NR > 1 && $4 > 15 { exit 1 }' "$work/garbage/results.txt" || { cat "$work/garbage/results.txt"; return 1; }
  # Of eight noises, those with even numbers are no speech: white, pink and brown noise, and hum.
  garbage-sounds --print-args=false --srand=1001 --sample-frequency=8000 --min-count=8 --share=0 "$work/garbage/data/train" "$work/noise" || return 1
  nnet3-transcribe --print-args=false "$work/garbage/model" "$work"/noise/*[0246].wav 2>/dev/null | tee "$work/heard"
  ! cut -s -d' ' -f2- "$work/heard" | tr ' ' '\n' | grep -v '^<unk>$' | grep .
}

# Slurm and Kubernetes are stand-ins: tests/train/slurm, tests/train/kubernetes.py.
on_clusters() {
  local cmd status=0 pid
  learned || return 1
  find "$PWD" "$toy/wav" -maxdepth 1 -name 'toy-00?.wav' | sort >"$work/list"
  many() { PATH=$PWD/tests/train/slurm:$work/bin FAKE_SLURM=$work/fake scripts/transcribe_many.sh --cmd="$1" --batch=4 --nj=2 --model="$work/exp/model" "$work/list" "$2"; }
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

check "a graph of two halves: the same texts, phrases, the lexicon" looks_ahead
check "another language model and a new word, with the tree and without" adapts
check "a garbage word: noise is no word" rejects
check "no Python on the PATH: many recordings by run.sh, slurm.sh and k8s.sh" on_clusters
check "a recogniser learns from words alone" learns
check "a recogniser learns from Gaussian models, from utterances of any length" learns_from_gaussians
check "the model folder understands what the decoder understands" transcribes
check "folders have what Kaldi's scripts read" has_what_kaldi_reads
check "started again, it does nothing" does_nothing_again
check "with another option, it does what depends on it" does_what_has_changed
check "killed and started again, it ends with the same bytes" survives_kills

# ---- data folders, segments, commands -------------------------------------------------------------------------------
takes_kaldi_folders() { # a recording of two utterances that comes from a command
  local folder=$work/folder a=toy-000 b=toy-001 first both
  mkdir -p "$folder"
  python3 - "$toy/wav/$a.wav" "$toy/wav/$b.wav" "$folder/both.wav" <<'PYTHON'
import sys, wave
parts = [wave.open(name) for name in sys.argv[1:3]]
with wave.open(sys.argv[3], "wb") as both:
    both.setparams(parts[0].getparams())
    for part in parts:
        both.writeframes(part.readframes(part.getnframes()))
PYTHON
  seconds() { python3 -c "import wave; w = wave.open('$1'); print(w.getnframes() / w.getframerate())"; } # lint: names of this script
  first=$(seconds "$toy/wav/$a.wav") both=$(seconds "$folder/both.wav")
  { echo "both cat $folder/both.wav |"; tail -n +3 "$toy/text" | wav="$toy/wav" awk 'BEGIN { wav = ENVIRON["wav"] } { print $1, wav "/" $1 ".wav" }'; } >"$folder/wav.scp"
  { echo "$a both 0 $first"; echo "$b both $first $both"; tail -n +3 "$toy/text" | awk '{ print $1, $1, 0, 0.5 }'; } >"$folder/segments"
  cp "$toy"/{text,utt2spk} "$folder"
  scripts/recognizer.sh --data="$folder" --sample-frequency=8000 --lexicon="$toy/lexicon.txt" --test-speakers=speaker1,speaker3 --num-test=5 \
    --garbage=false --last-part=features "$work/from_folder" || return 1
  diff <(awk '$2 == "speaker1" || $2 == "speaker3" { print $1 }' "$toy/utt2spk") <(cut -d' ' -f1 "$work/from_folder/data/held_out/text") &&
    grep -q "^$a " "$work/from_folder/feats/train/utt2num_frames" && [[ $(grep -c . "$work/from_folder/feats/train/utt2num_frames") == 45 ]]
}
check "Kaldi's data folders: segments, commands, speakers for the test" takes_kaldi_folders

# ---- i-vectors, other speeds, long recordings -----------------------------------------------------------------------
with_ivectors() { # a recogniser that reads i-vectors, trained at three speeds
  [[ ! -e $work/ivectors/results.txt ]] || return 0
  { echo "input dim=@IVECTOR_DIM@ name=ivector"; sed 's/Append(-2,-1,0,1,2)/Append(-2,-1,0,1,2,ReplaceIndex(ivector,t,0))/' "$toy/toy.xconfig"; } \
    >"$toy/ivector.xconfig"
  recognizer ivectors --network="$toy/ivector.xconfig" --cmvn=false --ivectors=true --ivector-dim=10 --perturb=true --copies=1 --num-epochs=1 --flat-epochs=1
}

reads_its_own_ivectors() { # the folder runs, and understands the words of the decoder, or those that were said
  local key
  with_ivectors || return 1
  awk 'NR > 1 && ($4 > 25 || NF < 8) { exit 1 }' "$work/ivectors/results.txt" || { cat "$work/ivectors/results.txt"; return 1; }
  nnet3-am-info --print-args=false "$work/ivectors/model/am/final.mdl" | grep -x 'ivector-dim: 10' || return 1
  for key in final.ie final.dubm final.mat global_cmvn.stats online_cmvn.conf splice.conf; do [[ -e $work/ivectors/model/ivector/$key ]] || return 1; done
  while read -r key _; do
    nnet3-transcribe --print-args=false "$work/ivectors/model" "$toy/wav/$key.wav" 2>/dev/null </dev/null
  done <"$work/ivectors/data/held_out/text" >"$work/transcribed"
  local alike all
  alike=$(grep -xFc -f <(sort -u "$work/ivectors/decode/held_out/text" "$work/ivectors/data/held_out/text") "$work/transcribed")
  all=$(wc -l <"$work/transcribed")
  (( alike * 10 >= 9 * all ))
}

has_three_speeds() { # lengths in the proportions of the speeds; the language model counts each transcript once
  local data=$work/ivectors/data feats=$work/ivectors/feats/train
  with_ivectors || return 1
  (( $(wc -l <"$data/train/text") == 3 * $(wc -l <"$data/transcripts") )) || return 1
  grep -q '^sp0.9-toy-[0-9]* sp0.9-speaker' "$data/train/utt2spk" || return 1
  awk '{ n[$1] = $2 } END { for (key in n) if (key !~ /^sp/ && (n["sp0.9-" key] / n[key] < 1.08 || n["sp0.9-" key] / n[key] > 1.14 ||
    n["sp1.1-" key] / n[key] < 0.86 || n["sp1.1-" key] / n[key] > 0.94)) { print key; exit 1 } }' "$feats/utt2num_frames" &&
    [[ $(grep -c . "$work/ivectors/decode/held_out/text") == $(grep -c . "$data/held_out/text") ]]
}

cuts_long_recordings() { # wrong words of a transcript, and sound without a transcript, are left out
  local long=$work/long
  with_ivectors || return 1
  tests/recognizer/toy_speech.py --num 30 --seed 7 "$work/toy2"
  mkdir -p "$long"
  python3 - "$work/toy2" "$long" <<'PYTHON'
import sys, wave
from pathlib import Path
toy, out = map(Path, sys.argv[1:])
said = []
with wave.open(str(out / "talk.wav"), "wb") as talk:
    talk.setnchannels(1)
    talk.setsampwidth(2)
    talk.setframerate(8000)
    for i, line in enumerate((toy / "text").read_text().splitlines()):
        key, *words = line.split()
        sound = wave.open(str(toy / "wav" / f"{key}.wav"))
        talk.writeframes(sound.readframes(sound.getnframes()))
        said += {8: "ru ru mi mi ta lot".split(), 15: []}.get(i, words)
# Recordings that cannot be used are left out. One is shorter than its header says.
whole = (out / "talk.wav").read_bytes()
(out / "half.wav").write_bytes(whole[: len(whole) // 4 * 2])
(out / "text").write_text(f"gone lo ru\nhalf {' '.join(said)}\nsilent\ntalk {' '.join(said)} nowhere\n")
(out / "wav.scp").write_text("".join(f"{key} {out}/{name}.wav\n" for key, name in (("gone", "gone"), ("half", "half"), ("silent", "talk"), ("talk", "talk"))))
PYTHON
  PATH=$work/bin scripts/segment_long.sh --skip-bad=true --window=12 --max-seconds=6 "$long" "$work/ivectors" "$work/cut" 2>"$work/cut.log" ||
    { cat "$work/cut.log"; return 1; }
  cat "$work/cut.log"
  grep -q "^segment_long.sh: WARNING: half: .*Truncated file" "$work/cut.log" || return 1
  grep -q "words, of which the lexicon lacks 1$" "$work/cut.log" || return 1
  cat "$work/cut/segments" "$work/cut/text"
  # Each utterance is a stretch of what was said; most of the transcript is there, and no utterance is longer than asked for.
  python3 - "$work/toy2/text" "$work/cut" <<'PYTHON'
import sys
from pathlib import Path
spoken = [word for line in open(sys.argv[1]) for word in line.split()[1:]]
cut = Path(sys.argv[2])
texts = [line.split()[1:] for line in open(cut / "text")]
wrong = [text for text in texts if not any(spoken[i : i + len(text)] == text for i in range(len(spoken)))]
lengths = [float(end) - float(begin) for _, _, begin, end in map(str.split, open(cut / "segments"))]
kept = sum(map(len, texts))
print(f"{kept} of {len(spoken)} words; longest {max(lengths)}; wrong: {wrong}")
sys.exit(not (len(wrong) * 5 <= len(texts) and kept > 0.6 * len(spoken) and max(lengths) <= 6.001 and len(texts) >= 5))
PYTHON
}
check "i-vectors: an extractor, a network that reads them, a model folder" reads_its_own_ivectors
check "other speeds: lengths, speakers, transcripts" has_three_speeds
check "no Python on the PATH: long recordings are cut where the transcript is right" cuts_long_recordings
check "wrong: i-vectors and a running mean" says "do not go together" recognizer no --ivectors=true
check "wrong: a network without i-vectors" says "expected an input with name=ivector" recognizer no --cmvn=false --ivectors=true
check "wrong: a long recording that has segments" says "has segments: its recordings are cut already" \
  bash -c "mkdir -p $work/l4; touch $work/l4/{segments,text,wav.scp}; scripts/segment_long.sh $work/l4 $work $work/l5" # lint: names of this script
check "wrong: a recogniser that is not finished" says "is no finished folder of recognizer.sh" \
  bash -c "mkdir -p $work/l6; touch $work/l6/{text,wav.scp}; scripts/segment_long.sh $work/l6 $work $work/l7" # lint: names of this script

# ---- what is wrong --------------------------------------------------------------------------------------------------
broken() { # <what changes a copy of the data in $copy> <part of a sentence> [<options> …]
  copy=$work/broken
  rm -rf "$copy" "$work/refused"
  cp -r "$toy" "$copy"
  eval "$1" # lint: words of this script
  says "$2" scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --utt2spk="$copy/utt2spk" --lexicon="$copy/lexicon.txt" \
    --last-part=features "${@:3}" "$work/refused" && [[ ! -e $work/refused/data && ! -e $work/refused/feats ]]
}
three() { printf '%s\n' "\$copy/wav/toy-00"{3,5,7}.wav | paste -sd' '; } # more than 2 % of the utterances
check "wrong: a word that the lexicon lacks" broken 'sed -i "5s/$/ zebra/" $copy/text' "'zebra' 1 time, first in $work/broken/text, line 5"
check "wrong: a word that the lexicon lacks, with advice" broken 'sed -i "5s/$/ zebra/" $copy/text' "the lexicon $work/broken/lexicon.txt lacks 1 word of the transcripts; see "
check "wrong: no transcript" broken 'sed -i "5,7s/ .*//" $copy/text' "text, line 5: the text is empty"
check "wrong: no transcripts at all" broken ': >$copy/text' "there is no text for it"
check "wrong: a key twice" broken 'sed -n 3,5p $toy/text >>$copy/text' "text, line 91: 'toy-002' is in line 3 already"
check "wrong: no wave for a transcript" broken "rm $(three)" "text, line 4: there is no 'toy-003' in"
check "wrong: no wave at all" broken 'rm $copy/wav/*' "expected recordings, found no file with the ending of a sound"
check "wrong: something else than a wave" broken "for i in $(three); do echo RIFF0000000000 >\$i; done" "toy-003.wav cannot be used"
check "wrong: a wave whose header contradicts itself" broken "for i in $(three); do printf '\\x08' | dd of=\$i bs=1 seek=34 conv=notrunc status=none; done" \
  "2 bytes a sample and 16000 a second do not fit PCM, 8 bits, 1 channels"
check "wrong: waves that are cut off" broken "truncate -s 4000 $(three)" "are there ("
check "wrong: a rate below the one asked for" broken ': nothing' "has 8000 samples per second, fewer than 16000" --sample-frequency=16000
check "wrong: text that is not UTF-8" broken 'printf "toy-000 \xff\n" >$copy/text' "not UTF-8"
check "wrong: all problems at once" broken "rm $(three); "'sed -i "20,30s/$/ zebra/" $copy/text' "'zebra' 11 times"
check "wrong: a word without a pronunciation" says "lexicon.txt, line 8: the word 'zebra' has no pronunciation" \
  bash -c "cp -r $toy $work/l1; echo zebra >>$work/l1/lexicon.txt; prepare-lang $work/l1/lexicon.txt $work/l1/lang" # lint: names of this script
check "wrong: a word that graphs use" says "line 8: '<s>' has a meaning of its own" \
  bash -c "cp -r $toy $work/l2; echo '<s> P' >>$work/l2/lexicon.txt; prepare-lang $work/l2/lexicon.txt $work/l2/lang" # lint: names of this script
lexicon() { # <lines> [<options> …]: what prepare-lang says about a lexicon
  rm -rf "$work/lexicon.lang"
  printf %b "$1" >"$work/lexicon"
  prepare-lang --print-args=false "${@:2}" "$work/lexicon" "$work/lexicon.lang"
}
check "wrong: a word without probability" says "lexicon, line 3: the word 'two' has no probability, but line 1 has one" \
  lexicon 'one 0.5 W AH N\none 0.5 W AA N\ntwo T UW\n'
check "wrong: a probability above 1" says "lexicon, line 1: expected a probability above 0 and at most 1 behind 'one', found '1.2'" \
  lexicon 'one 1.2 W AH N\ntwo 0.7 T UW\n'
check "wrong: a probability of 0" says "lexicon, line 2: expected a probability above 0 and at most 1 behind 'two', found '0'" \
  lexicon 'one 0.5 W AH N\ntwo 0 T UW\n'
check "wrong: one word with a probability of 1" says "lexicon, line 2: the word 'two' has no probability" lexicon 'one 1 W AH N\ntwo T UW\n'
check "wrong: a probability with a comma" says "line 1: expected a probability above 0 and at most 1 behind 'one', found '0,5'" \
  lexicon 'one 0,5 W AH N\ntwo 0,7 T UW\n'
check "wrong: several numbers behind a word" says "line 1: '0.9' is a number, not a phone" lexicon 'one 0.5 0.9 W AH N\ntwo 0.7 0.8 T UW\n'
check "wrong: a lexicon that is not UTF-8" says "lexicon, line 2: this is not UTF-8" lexicon 'one W AH N\ntw\xff T UW\n'
check "wrong: a language model's text that is not UTF-8" says "text, line 1: this is not UTF-8" bash -c \
  "mkdir $work/l3; printf 'k a\\xff\\n' >$work/l3/text; echo a 1 >$work/l3/words; make-arpa --vocabulary=$work/l3/words $work/l3/text -" # lint: names of this script
phones_may_be_numbers() {
  lexicon 'one 1 2\ntwo 3 1\n' --word-positions=false && grep -qx '1 .*' "$work/lexicon.lang/phones.txt" &&
    lexicon 'peu p 2\noeuf 9 f\n' && grep -q '^9_B ' "$work/lexicon.lang/phones.txt" &&
    lexicon 'one 0.5 W AH N\ntwo 1 T UW\n' && grep -q '^one 0.5 W_B AH_I N_E$' "$work/lexicon.lang/phones/align_lexicon.txt"
}
check "lexicon: phones may be numbers" phones_may_be_numbers
only_ascii_blanks_separate() { # U+00A0, U+3000, U+0085, U+2028
  local said
  said=$(lexicon 'a\xc2\xa0b P\nc\xe3\x80\x80d Q\ne\xc2\x85f R\ng\xe2\x80\xa8h S\nx\tT\r\n' 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  diff <(cut -d' ' -f1 "$work/lexicon.lang/words.txt" | sed -n 2,6p) <(printf 'a\xc2\xa0b\nc\xe3\x80\x80d\ne\xc2\x85f\ng\xe2\x80\xa8h\nx\n' | sort) &&
    [[ $said == *"line 1: 'a"*"has U+00A0 inside; only ASCII blanks separate words"* && $said == *U+3000* && $said == *U+0085* && $said == *U+2028* ]]
}
check "lexicon: only ASCII blanks separate" only_ascii_blanks_separate
# Capitals, punctuation and other forms of letters become those of the lexicon. One recording of another rate and one that is cut by a little
# do no harm. A table is as good as a data folder.
takes_what_people_have() {
  local copy=$work/people
  mkdir -p "$copy/sound"
  cp "$toy"/wav/*.wav "$copy/sound"
  awk '{ key = $1; $1 = ""; sub(/^ /, ""); print "sound/" key ".wav|" toupper(substr($0, 1, 1)) substr($0, 2) "!" }' "$toy/text" >"$copy/metadata.csv"
  sox "$toy/wav/toy-003.wav" -r 16000 "$copy/sound/toy-003.wav" 2>/dev/null || cp "$toy/wav/toy-003.wav" "$copy/sound"
  truncate -s -200 "$copy/sound/toy-004.wav"
  scripts/recognizer.sh --data="$copy/metadata.csv" --lexicon="$toy/lexicon.txt" --garbage=false --last-part=language "$work/from_people" || return 1
  diff <(cut -d' ' -f2- "$toy/text" | sort) <(cat "$work"/from_people/data/{train,held_out}/text | cut -d' ' -f2- | sort)
}
check "a table of recordings, capitals, punctuation, another rate, a cut wave" takes_what_people_have
pronounces() { # <--oov> <lexicon> <line of new_words.txt>
  local copy=$work/oov
  rm -rf "$copy" "$work/pronounced"
  cp -r "$toy" "$copy"
  sed -i '5s/$/ lomi/' "$copy/text"
  scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --lexicon="$2" --oov="$1" --garbage=false --last-part=language "$work/pronounced" &&
    grep -x "$3" "$work/pronounced/data/new_words.txt" && grep -q '^lomi ' "$work/pronounced/lang/words.txt" &&
    grep -q "^train"$'\t'"lomi"$'\t'"1"$'\t'"1" "$work/pronounced/unknown_words.tsv" && grep -q ' lomi$' "$work"/pronounced/data/*/text
}
awk '{ n = split($1, l, ""); line = $1; for (i = 1; i <= n; i++) line = line " " l[i]; print line }' "$toy/lexicon.txt" | sort -u >"$work/letters.txt"
check "--oov=letters: a new word has its letters" pronounces letters "$work/letters.txt" 'lomi l o m i'
check "--oov=g2p: a new word has the sounds of its letters" pronounces g2p "$work/letters.txt" 'lomi l o m i'
check "wrong: --oov=letters with other phones" says "its phones are no letters" pronounces letters "$toy/lexicon.txt" x
without_python() { # all parts
  local bin=$work/bin
  PATH=$bin scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" "${common[@]}" --garbage=true \
    --perturb=true --num-epochs=1 "$work/no_python" || return 1
  echo 'lo mi lomi' >"$work/new_text"
  PATH=$bin scripts/adapt_model.sh --text="$work/new_text" --oov=g2p "$work/no_python" "$work/no_python_adapted" &&
    grep -q '^lomi ' "$work/no_python_adapted/new_words.txt"
}
of_gaussians() { # a network of them, which runs as any other
  scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" --garbage=false --use-gpu=no \
    --model=gaussian "$work/gaussians" || return 1
  grep -q '^held_out (Gaussians) .* 29 .* 0.00 %' "$work/gaussians/results.txt" && [[ ! -e $work/gaussians/chain ]] || return 1
  diff <(grep '^toy-003 ' "$toy/text") <(nnet3-transcribe --print-args=false "$work/gaussians/model" "$toy/wav/toy-003.wav" 2>/dev/null </dev/null) || return 1
  # Another language model and a new word, with the graph of these models.
  echo 'lo mi lomi' >"$work/new_text"
  scripts/adapt_model.sh --text="$work/new_text" --oov=g2p "$work/gaussians" "$work/gaussians_adapted" || return 1
  grep -q '^lomi ' "$work/gaussians_adapted/graph/words.txt" && diff "$work/gaussians/model/conf/model.conf" "$work/gaussians_adapted/conf/model.conf" &&
    diff <(grep '^toy-003 ' "$toy/text") <(nnet3-transcribe --print-args=false "$work/gaussians_adapted" "$toy/wav/toy-003.wav" 2>/dev/null </dev/null)
}
check "--model=gaussian: a model folder without a trained network" of_gaussians
adapts() { # a speaker who is not in the training
  tests/recognizer/toy_speech.py --num 200 "$work/more"
  scripts/recognizer.sh --wav="$work/more/wav" --text="$work/more/text" --utt2spk="$work/more/utt2spk" --lexicon="$work/more/lexicon.txt" --garbage=false \
    --use-gpu=no --test-speakers=speaker3 --adapt-speakers=true --copies=2 --network=tiny --networks=2 --num-epochs=1 --initial-lrate=0.004 --num-jobs-final=1 \
    --train-opts=--report=false "$work/adapting" 2>"$work/adapting.log" || { cat "$work/adapting.log"; return 1; }
  # (Copies with other voices are no speakers.)
  if ! grep -q '; 3 of 3 speakers have one' "$work/adapting.log" || ! grep -q '; 1 of 1 speakers have one' "$work/adapting.log"; then
    cat "$work/adapting.log"
    return 1
  fi
  [[ -s $work/adapting/speakers/held_out/trans.1 ]] && cut -c1-26 "$work/adapting/results.txt" | sed 's/ *$//' | diff - <(printf '%s\n' set held_out 'held_out (adapted)') &&
    awk 'NR > 1 { $0 = substr($0, 27); if ($3 > 5) exit 1 }' "$work/adapting/results.txt"
}
adapts_to_recordings() { # a model folder for the speaker who is not in the training, by recordings without texts
  local keys waves
  mapfile -t keys < <(cut -d' ' -f1 "$work/adapting/data/held_out/text")
  waves=("${keys[@]/#/$work/more/wav/}")
  nnet3-adapt-speaker "$work/adapting/model" "$work/speaker3" "${waves[@]/%/.wav}" 2>"$work/adapt.log" || { cat "$work/adapt.log"; return 1; }
  cat "$work/adapt.log"
  diff <(cd "$work/adapting/model" && find . | sort) <(cd "$work/speaker3" && find . | sort) || return 1
  grep -q 'mean confidence of words 0\.[0-9]* without a transform\|mean confidence of words 1\.000 without a transform' "$work/adapt.log" || return 1
  # (The network stays where a transform leaves no less doubt.)
  if cmp -s "$work/adapting/model/am/final.mdl" "$work/speaker3/am/final.mdl"; then grep -q 'has the network of' "$work/adapt.log" || return 1
  else ! grep -q 'has the network of' "$work/adapt.log" || return 1
  fi
  nnet3-transcribe --print-args=false "$work/speaker3" "${waves[@]/%/.wav}" 2>/dev/null </dev/null >"$work/speaker3.text"
  compute-wer --print-args=false --text --mode=all "ark:$work/adapting/data/held_out/text" "ark:$work/speaker3.text" | awk '$1 == "%WER" { print; exit !($2 < 5) }'
}
mean_of_two() { # the model is the mean of two different networks of the same examples
  local exp=$work/adapting
  nnet3-am-info --print-args=false "$exp/chain/adapted/final.mdl" | grep -q '^output-node name=output input=Sum(Scale(\(0\.[0-9]*\), m1.output.affine), Scale(\1, m2.output.affine)) ' || return 1
  [[ ! -e $exp/chain/networks/1/egs && ! -e $exp/chain/networks/2/egs ]] && ! cmp -s "$exp"/chain/networks/{1,2}/final.mdl &&
    grep -q 'training of network 2 of 2: ' "$work/adapting.log" && (( $(grep -c ' making examples of ' "$work/adapting.log") == 1 ))
}
keeps_versions_apart() { # of utterances kept for validation no copy is trained on
  local data=$work/adapting/chain/networks/1/data
  awk 'FILENAME == ARGV[1] { of[$1] = $2; next } FILENAME == ARGV[2] { kept[of[$1]]++; next } of[$1] in kept { print $1 " is trained on"; bad = 1 }
    END { for (utt in kept) { n++; if (kept[utt] != 3) { print utt ": " kept[utt] " of 3 versions are kept"; bad = 1 } } exit bad || !n }' \
    "$work/adapting/feats/adapted/utt2uniq" "$data/valid" "$data/train"
}
hears_silence() { # around recordings, which is not in their times
  local wave=$work/more/wav/toy-003.wav
  [[ $(<"$work/adapting/model/conf/edges.conf") == --edge-silence=0.15 ]] || return 1
  grep -q 'pad-feats .*--min-frames=15' "$work/adapting/log/decode_held_out.1.log" || return 1
  nnet3-transcribe --print-args=false --format=ctm "$work/adapting/model" "$wave" 2>/dev/null </dev/null |
    seconds="$(wav-to-duration --print-args=false "scp:echo a $wave |" ark,t:- 2>/dev/null | cut -d' ' -f2)" awk '
      $3 < last || $3 + $4 > ENVIRON["seconds"] + 0.005 { bad = 1 } { last = $3 } END { exit bad || !NR }' || return 1
  cp -r "$work/adapting/model" "$work/edgeless"
  echo --edge-silence=7 >"$work/edgeless/conf/edges.conf"
  says "conf/edges.conf: --edge-silence=7: expected seconds from 0 to 5" nnet3-transcribe "$work/edgeless" "$wave"
}
adapted_already() { # a network with a transform, whoever has put it there
  cp -r "$work/adapting/model" "$work/transformed"
  copy-matrix "ark:$work/adapting/speakers/held_out/trans.1" "ark,scp:$work/transform.ark,$work/transform.scp"
  nnet3-am-add-features --input-dim=40 --transform="$(cut -d' ' -f2 "$work/transform.scp")" "$work/adapting/gauss/model" "$work/adapting/chain/adapted/final.mdl" \
    "$work/transformed/am/final.mdl" || return 1
  says "is adapted to a speaker already" nnet3-adapt-speaker "$work/transformed" "$work/no" "$toy/wav/toy-003.wav"
}
# Phones have their names, also in a copy of the model folder without graph/phones.txt, and features are those of the training.
aligns() {
  local model
  mkdir -p "$work/to_align"
  cp "$work/more/wav/toy-003.wav" "$work/to_align"
  grep '^toy-003 ' "$work/more/text" | cut -d' ' -f2- >"$work/to_align/toy-003.txt"
  cp -r "$work/adapting/model" "$work/moved"
  diff "$work/adapting/lang/phones.txt" "$work/moved/graph/phones.txt" || return 1
  rm "$work/moved/graph/phones.txt"
  for model in "$work/moved" "$work/moved/adaptation" "$work/adapting/gauss/model" "$work/gaussians/gaussian/model" "$work/gaussians/gauss/model"; do
    rm -rf "$work/times"
    echo "$model"
    nnet3-align --print-args=false --speakers=one --model="$model" "$work/to_align" "$work/more/lexicon.txt" "$work/times" 2>"$work/align.log" || {
      cat "$work/align.log"
      return 1
    }
    cat "$work/align.log" "$work/times/alignment.csv"
    ! grep -q 'not known' "$work/align.log" || return 1
    awk -F, '$4 == "phone" { n++; if ($5 !~ /^[P-U]$/) bad = 1 } END { exit bad || !n }' "$work/times/alignment.csv" || return 1
  done
}
leaves_no_folder() { # killed while it waits for sound, or out of files
  local waves=("$work"/more/wav/toy-00[37].wav) waited
  mkdir "$work/places"
  mkfifo "$work/places/pipe.wav"
  nnet3-adapt-speaker "$work/adapting/model" "$work/places/new" "$work/places/pipe.wav" &
  for ((waited = 0; waited < 100; waited++)); do
    if compgen -G "$work/places/.[!.]*" >/dev/null; then break; fi
    sleep 0.1
  done
  kill -TERM $!
  if wait $! || (( waited >= 100 )); then return 1; fi
  for most in 12 9 8 7 6; do (ulimit -n "$most"; nnet3-adapt-speaker "$work/adapting/model" "$work/places/new$most" "${waves[@]}" 2>/dev/null); done
  find "$work/places"
  ! find "$work/places" -name '.*' | grep -q .
}
check "--adapt-speakers=true: a speaker is recognised as it comes, and with a transform" adapts
check "nnet3-align with a model folder, with its Gaussian models, and with those of a training" aligns
check "--networks=2: the model is the mean of both" mean_of_two
check "utterances for validation: no copy of one is trained on" keeps_versions_apart
check "a model of cut recordings hears silence around each recording" hears_silence
check "nnet3-adapt-speaker: a model folder for a speaker" adapts_to_recordings
check "nnet3-adapt-speaker: a signal or a limit of open files leaves no folder behind" leaves_no_folder
names_files() { # that make no sense
  local name
  for name in conf/mfcc.conf graph/words.txt adaptation/lang/words.txt adaptation/lang/phones.txt adaptation/lang/topo adaptation/final.mat; do
    rm -rf "$work/damaged"
    cp -r "$work/adapting/model" "$work/damaged"
    : >"$work/damaged/$name"
    says "$name" nnet3-adapt-speaker "$work/damaged" "$work/no" "$toy/wav/toy-003.wav" || return 1
  done
}
check "wrong: nnet3-adapt-speaker names the file that is empty" names_files
check "wrong: nnet3-adapt-speaker with a model that cannot adapt" says "has no folder adaptation" nnet3-adapt-speaker "$work/gaussians/model" "$work/no" "$toy/wav/toy-003.wav"
check "wrong: nnet3-adapt-speaker into the model itself" says "lies in the folder of the model" nnet3-adapt-speaker "$work/adapting/model" "$work/adapting/model/new" "$toy/wav/toy-003.wav"
check "wrong: nnet3-adapt-speaker with a model that is adapted already" adapted_already
check "wrong: nnet3-adapt-speaker with too little speech" says "s of words that the model is sure of; more than 5.0 s are needed" nnet3-adapt-speaker "$work/adapting/model" "$work/no" "$toy/wav/toy-003.wav"
awk '{ print $1, $1 }' "$toy/utt2spk" >"$work/everybody"
check "wrong: --adapt-speakers=true for speakers of one recording" says "0 speakers have 5 s of sound or more" scripts/recognizer.sh \
  --wav="$toy/wav" --text="$toy/text" --utt2spk="$work/everybody" --lexicon="$toy/lexicon.txt" --garbage=false --use-gpu=no --adapt-speakers=true "$work/no_transforms"
check "wrong: --adapt-speakers=true without alignments of Gaussian models" says "--adapt-speakers=true: --start=flat trains no Gaussian models" \
  recognizer no --adapt-speakers=true
check "wrong: --model=gaussian with an option of networks" says "--num-epochs is for a network, not for --model=gaussian" scripts/recognizer.sh \
  --wav="$toy/wav" --text="$toy/text" --lexicon="$toy/lexicon.txt" --model=gaussian --num-epochs=3 "$work/no"
finds_wrong_texts() { # five texts of others
  awk 'NR % 18 == 7 { print $1, "ru ru ru ru"; next } { print }' "$toy/text" >"$work/wrong_texts"
  scripts/recognizer.sh --wav="$toy/wav" --text="$work/wrong_texts" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" --garbage=false --num-test=1 --skip-bad=true \
    --last-part=copies "$work/wrong" || return 1
  cat "$work/wrong/doubtful_texts.tsv"
  # Nor does the network learn from copies of those that are left out.
  awk -F'\t' '$4 == "no" { print $2 }' "$work/wrong/doubtful_texts.tsv" >"$work/left_out"
  [[ -s $work/left_out ]] && ! grep -wFf "$work/left_out" "$work/wrong/feats/copies/feats.scp" || return 1
  grep ' ru ru ru ru$' "$work/wrong/data/train/text" | cut -d' ' -f1 >"$work/wrong_keys"
  (( $(wc -l <"$work/wrong_keys") >= 4 )) &&
    diff "$work/wrong_keys" <(tail -n +2 "$work/wrong/doubtful_texts.tsv" | head -n "$(wc -l <"$work/wrong_keys")" | cut -f2 | sort)
}
check "texts that are not what is said are listed, the worst first" finds_wrong_texts
check "no Python on the PATH: a recogniser, and an adapted one with a new word" without_python
check "wrong: an option" says "unknown option --flat-epoch (did you mean --flat-epochs?); see recognizer.sh --help" recognizer no --flat-epoch=3
check "wrong: a number" says "--num-epochs: expected a number, found 'many'" recognizer no --num-epochs=many
check "wrong: no lexicon" says "give a --lexicon" scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" "$work/no"
check "wrong: a network without outputs" says "expected layers with @TARGETS@" recognizer no --network="$toy/text"
check "wrong: a speaker that nobody is" says "--test-speakers: the data have no speaker 'nobody'" recognizer no --test-speakers=nobody

an_instant() { # a wave that is one, but too short for anything
  cp -r "$toy" "$work/instant"
  python3 -c "import sys; sys.path.append('tests/recognizer'); import toy_speech; toy_speech.write_wave('$work/instant/wav/toy-003.wav', [0.0] * 600)" # lint: names of this script
  says "without features, or shorter than a tenth of a second: 1 utterance of train, such as toy-003" scripts/recognizer.sh \
    --wav="$work/instant/wav" --text="$toy/text" --lexicon="$toy/lexicon.txt" --last-part=features "$work/too_short" && [[ ! -e $work/too_short/feats/train ]]
}
check "wrong: an utterance of an instant" an_instant

leaves_out() {
  local copy=$work/partly said
  cp -r "$toy" "$copy"
  sed -i '5s/$/ zebra/' "$copy/text"
  rm "$copy/wav/toy-003.wav"
  said=$(scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --lexicon="$copy/lexicon.txt" --skip-bad=true --garbage=false --last-part=features "$work/part" 2>&1) ||
    return 1
  printf '%s\n' "$said"
  [[ $said == *"no adaptation to speakers: 0 speakers have several utterances"* ]] && [[ $(cat "$work"/part/data/{train,held_out}/text | wc -l) == 88 ]] && ! grep -q -e toy-003 -e toy-004 "$work"/part/data/*/text
}
stands_in() {
  local copy=$work/standing
  cp -r "$toy" "$copy"
  sed -i '5s/$/ zebra/' "$copy/text"
  echo "unknown S" >>"$copy/lexicon.txt"
  scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --lexicon="$copy/lexicon.txt" --oov-word=unknown --last-part=language "$work/standin" &&
    grep -q '^toy-004 .* \(unknown\|zebra\)$' "$work"/standin/data/{train,held_out}/text && ! grep zebra "$work/standin/data/train/text" &&
    diff <(awk '$1 == "unknown" { print $2 }' "$work/standin/lang/words.txt") "$work/standin/lang/oov.int"
}
check "--skip-bad leaves out what cannot be used" leaves_out
check "--oov-word stands for words that the lexicon lacks" stands_in

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
check "two at the same time: one waits" alone

# ---- adapted models: what is wrong -----------------------------------------------------------------------------------
adapt() { # <part of a sentence> <options> …
  learned || return 1
  says "$1" scripts/adapt_model.sh "${@:2}" "$work/exp" "$work/adapted_wrongly" && ! compgen -G "$work/adapted_wrongly*" && ! compgen -G "$work/.tmp.*"
}
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
reads_ivectors() { # puts a model of the toy's tree there whose network reads i-vectors
  local pdfs
  pdfs=$(tree-info --print-args=false "$work/exp/tree/tree" | sed -n 's/^num-pdfs //p')
  printf '%s\n' "input-node name=input dim=40" "input-node name=ivector dim=30" \
    "component name=a type=AffineComponent input-dim=70 output-dim=$pdfs" \
    "component-node name=a component=a input=Append(input, ReplaceIndex(ivector, t, 0))" "output-node name=output input=a" >"$work/ivector.config"
  nnet3-init "$work/ivector.config" - | nnet3-am-init "$work/exp/tree/tree" "$work/exp/lang/topo" - "$copy/chain/model/final.mdl"
}
check "model folder: no i-vectors" misfit reads_ivectors "there is no final.ie of the i-vectors that the network reads: looked for"
check "model folder: i-vectors that nobody reads" misfit ':' "the network reads no i-vectors" --ivector="$work"

printf '\n%d passed, %d failed\n' "$passed" "$failed"
(( failed == 0 ))
