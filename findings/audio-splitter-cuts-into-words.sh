#!/usr/bin/env bash
# The npm package audio-splitter splits a recording in the middle of its silences. It cuts the times of a silence to whole seconds before it takes
# their middle, and begins the next piece at the whole second before that. So pieces end up to a second before the middle, within words, and up to
# half a second is in both pieces. There is no message.
# Seen with audio-splitter 1.1.1 on Node 20, FFmpeg 5.1.9 of Debian 12, 12 s of a tone with one silence:
#   silence from 5.8 s to 6.8 s    pieces 0 to 5.5 s and 5 s to 12 s (right: split at 6.3 s)
#   silence from 5.2 s to 5.9 s    pieces 0 to 5 s and 5 s to 12 s (right: split at 5.55 s)
# Consequence: words are cut, and some are in two pieces. Split at the times of FFmpeg's silencedetect.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" audio-splitter@1.1.1 >/dev/null
cat >split.js <<'SCRIPT'
console.log = () => {};
require("audio-splitter").splitAudio({ mergedTrack: "tone.wav", outputDir: "pieces/", minSongLength: 2 });
SCRIPT
for silence in "5.8 6.8" "5.2 5.9" "6 7"; do
  read -r start end <<<"$silence"
  ffmpeg -v error -y -f lavfi -i "aevalsrc=if(between(t\,$start\,$end)\,0\,0.3*sin(440*2*PI*t)):s=16000:d=12" tone.wav
  rm -rf pieces
  mkdir pieces
  node split.js
  for piece in pieces/*.wav; do
    ffmpeg -nostats -i "$piece" -af silencedetect=noise=-50dB:d=0.3 -f null - 2>&1 |
      awk -v name="silence $start s to $end s, $(basename "$piece" .wav)" -v whole="$(soxi -D "$piece")" '
        /silence_start/ { found = sprintf("silence from %.1f s", $5) } /silence_end/ { found = found sprintf(" to %.1f s", $5) }
        END { printf "%s: %.1f s, %s\n", name, whole, found == "" ? "no silence" : found }'
  done
done | tee seen
diff seen - <<'EXPECTED'
silence 5.8 s to 6.8 s, Track 01: 5.5 s, no silence
silence 5.8 s to 6.8 s, Track 02: 7.0 s, silence from 0.8 s to 1.8 s
silence 5.2 s to 5.9 s, Track 01: 5.1 s, no silence
silence 5.2 s to 5.9 s, Track 02: 7.0 s, silence from 0.2 s to 0.9 s
silence 6 s to 7 s, Track 01: 6.5 s, silence from 6.0 s to 6.5 s
silence 6 s to 7 s, Track 02: 6.0 s, silence from 0.0 s to 1.0 s
EXPECTED
echo "as stated"
