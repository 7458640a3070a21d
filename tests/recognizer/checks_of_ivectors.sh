# Checks of dev/test-recognizer.sh: i-vectors, other speeds, and long recordings that are cut by such a recogniser.

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
  PATH=$bin scripts/segment_long.sh --skip-bad=true --window=12 --max-seconds=6 "$long" "$work/ivectors" "$work/cut" 2>"$work/cut.log" ||
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

# One recogniser that reads i-vectors is for all of these.
ivectors_and_long_recordings() {
  work=$own
  check "i-vectors: an extractor, a network that reads them, a model folder" reads_its_own_ivectors
  check "other speeds: lengths, speakers, transcripts" has_three_speeds
  check "no Python on the PATH: long recordings are cut where the transcript is right" cuts_long_recordings
  check "wrong: i-vectors and a running mean" says "do not go together" recognizer no --ivectors=true
  check "wrong: a network without i-vectors" says "expected an input with name=ivector" recognizer no --cmvn=false --ivectors=true
  check "wrong: a long recording that has segments" says "has segments: its recordings are cut already" \
    bash -c "mkdir -p $work/l4; touch $work/l4/{segments,text,wav.scp}; scripts/segment_long.sh $work/l4 $work $work/l5" # lint: names of this script
  check "wrong: a recogniser that is not finished" says "is no finished folder of recognizer.sh" \
    bash -c "mkdir -p $work/l6; touch $work/l6/{text,wav.scp}; scripts/segment_long.sh $work/l6 $work $work/l7" # lint: names of this script
}
