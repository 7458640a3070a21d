#!/usr/bin/env bash
# Detectors of the npm package pitchfinder return null where there is no pitch, says its description. YIN, the one that it recommends, finds 0.4 times
# the sample rate in silence, 6,400 Hz at 16 kHz, and the same in a constant. Silence between words is common in synthetic and in cut speech.
# Macleod returns -1, and so does it for each piece that is longer than its bufferSize, 1,024, with any pitch. ACF2PLUS returns -1 too.
# Seen with pitchfinder 2.3.4 on Node 20, at 16 kHz:
#                              YIN      AMDF   DynamicWavelet   Macleod   ACF2PLUS
#   silence, 1024 samples      6400     null   null             -1        -1
#   200 Hz, 1024 samples       200      200    200              200       200
#   200 Hz, 2048 samples       200      200    200              -1        200
# Consequence: mean pitches are far too high. Leave out pieces without energy.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" pitchfinder@2.3.4 >/dev/null
cat >show.js <<'SCRIPT'
const pitchfinder = require("pitchfinder");

const names = ["YIN", "AMDF", "DynamicWavelet", "Macleod", "ACF2PLUS"];
const tone = (length, rate) => Float32Array.from({ length }, (_, at) => 0.5 * Math.sin((2 * Math.PI * 200 * at) / rate));

function show(name, sound, sampleRate) {
  const pitches = names.map((detector) => {
    const found = pitchfinder[detector]({ sampleRate })(sound);
    const pitch = found !== null && typeof found === "object" ? found.freq : found;
    return `${detector} ${pitch === null ? null : Math.round(pitch)}`;
  });
  console.log(`${name}: ${pitches.join(", ")}`);
}

for (const rate of [8000, 16000, 44100]) {
  show(`silence at ${rate} Hz`, new Float32Array(1024), rate);
}
show("a constant", new Float32Array(1024).fill(0.01), 16000);
show("200 Hz, 1024 samples", tone(1024, 16000), 16000);
show("200 Hz, 2048 samples", tone(2048, 16000), 16000);
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
silence at 8000 Hz: YIN 3200, AMDF null, DynamicWavelet null, Macleod -1, ACF2PLUS -1
silence at 16000 Hz: YIN 6400, AMDF null, DynamicWavelet null, Macleod -1, ACF2PLUS -1
silence at 44100 Hz: YIN 17640, AMDF null, DynamicWavelet null, Macleod -1, ACF2PLUS -1
a constant: YIN 6400, AMDF null, DynamicWavelet null, Macleod -1, ACF2PLUS -1
200 Hz, 1024 samples: YIN 200, AMDF 200, DynamicWavelet 200, Macleod 200, ACF2PLUS 200
200 Hz, 2048 samples: YIN 200, AMDF 200, DynamicWavelet 200, Macleod -1, ACF2PLUS 200
EXPECTED
echo "as stated"
