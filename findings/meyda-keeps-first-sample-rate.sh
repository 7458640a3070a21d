#!/usr/bin/env bash
# Meyda computes features with the filters of the sample rate that was set when it first computed one. Setting Meyda.sampleRate later changes
# spectralRolloff, but MFCCs, mel bands, loudness and chroma stay those of the first rate. A program that reads files of 16 and 48 kHz gets
# other features of a file, depending on which one came before. A later Meyda.bufferSize leaves the filters of mel bands and chroma for the old
# size, so MFCCs of a larger one are NaN. There is no message.
# Seen with meyda 5.6.3 on Node 20, a tone:
#                                     16 kHz                   48 kHz
#   in a process of its own           mel band 9, chroma 11    mel band 12, chroma 6
#   one process, 16 kHz first         mel band 9, chroma 11    mel band 9, chroma 11
#   one process, 48 kHz first         mel band 12, chroma 6    mel band 12, chroma 6
#   1,024 samples behind 512          MFCCs are NaN
# Consequence: take a process per rate and size, or bring all files to one rate.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" meyda@5.6.3 >/dev/null
cat >show.js <<'SCRIPT'
const Meyda = require("meyda");
const highest = (values) => values.indexOf(Math.max(...values));
for (const set of process.argv.slice(2)) {
  const [rate, size] = set.split("/").map(Number);
  const samples = Float32Array.from({ length: size }, (_, i) => Math.sin((2 * Math.PI * i) / 16));
  Meyda.sampleRate = rate;
  Meyda.bufferSize = size;
  const seen = Meyda.extract(["mfcc", "melBands", "chroma", "loudness", "spectralRolloff"], samples);
  console.log(`  ${set}: MFCC 1 ${seen.mfcc[1].toFixed(2)}, highest mel band ${highest(seen.melBands)}, chroma ${highest(seen.chroma)}, ` +
    `loudness ${seen.loudness.total.toFixed(2)}, rolloff ${seen.spectralRolloff.toFixed(0)}`);
}
SCRIPT
{
  for sets in 16000/512 48000/512 '16000/512 48000/512' '48000/512 16000/512' 16000/1024 '16000/512 16000/1024'; do
    echo "$sets"
    # shellcheck disable=SC2086 # several words
    node show.js $sets
  done
} | tee seen
diff seen - <<'EXPECTED'
16000/512
  16000/512: MFCC 1 17.39, highest mel band 9, chroma 11, loudness 9.42, rolloff 1035
48000/512
  48000/512: MFCC 1 4.42, highest mel band 12, chroma 6, loudness 10.80, rolloff 3106
16000/512 48000/512
  16000/512: MFCC 1 17.39, highest mel band 9, chroma 11, loudness 9.42, rolloff 1035
  48000/512: MFCC 1 17.39, highest mel band 9, chroma 11, loudness 9.42, rolloff 3106
48000/512 16000/512
  48000/512: MFCC 1 4.42, highest mel band 12, chroma 6, loudness 10.80, rolloff 3106
  16000/512: MFCC 1 4.42, highest mel band 12, chroma 6, loudness 10.80, rolloff 1035
16000/1024
  16000/1024: MFCC 1 20.04, highest mel band 8, chroma 11, loudness 9.11, rolloff 1018
16000/512 16000/1024
  16000/512: MFCC 1 17.39, highest mel band 9, chroma 11, loudness 9.42, rolloff 1035
  16000/1024: MFCC 1 NaN, highest mel band -1, chroma -1, loudness 9.11, rolloff 1018
EXPECTED
echo "as stated"
