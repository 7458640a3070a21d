#!/usr/bin/env bash
# The npm package wavefile takes the samples of every wave of the extensible format for integers. In one of floats (ffmpeg writes such waves
# of several channels; its version 5 writes no other ones of floats) the sample 0.5 is then 1056964608, and toBitDepth("16") makes loud
# noise. With the plain code 3 the same floats are right. In a chunk of an odd number of bytes (8-bit samples, mu-law, A-law) the padding byte
# becomes a sample, the loudest there is. There is no message.
# Seen with wavefile 11.0.0 on Node 20, waves of soundfile 0.14.0, numpy 2.2.6 on Python 3.11; samples 0, 0.5, -0.5:
#   plain         0, 0.5, -0.5                   as 16 bits 0, 16383, -16384
#   extensible    0, 1056964608, -1090519040     as 16 bits 0, 16127, -16640
#   8 bits        128, 192, 64, 0                as 16 bits 0, 16512, -16384, -32768
# Consequence: look at fmt.audioFormat (65534) and fmt.subformat[0] (3 is floats); take no more samples than the chunk has bytes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.14.0 numpy==2.2.6
npm install --silent --no-fund --no-audit --prefix "$work" wavefile@11.0.0 >/dev/null
venv/bin/python - <<'PYTHON'
import soundfile

for name, form, subtype in (("plain", "WAV", "FLOAT"), ("extensible", "WAVEX", "FLOAT"), ("bytes", "WAV", "PCM_U8")):
    soundfile.write(f"{name}.wav", [0, 0.5, -0.5], 16000, format=form, subtype=subtype)
PYTHON
cat >show.js <<'SCRIPT'
const fs = require("fs");
const { WaveFile } = require("wavefile");
for (const name of ["plain", "extensible", "bytes"]) {
  const wave = new WaveFile(fs.readFileSync(`${name}.wav`));
  const samples = Array.from(wave.getSamples());
  wave.toBitDepth("16");
  console.log(`${name}: ${samples.join(", ")}; as 16 bits: ${Array.from(wave.getSamples()).join(", ")}`);
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
plain: 0, 0.5, -0.5; as 16 bits: 0, 16383, -16384
extensible: 0, 1056964608, -1090519040; as 16 bits: 0, 16127, -16640
bytes: 128, 192, 64, 0; as 16 bits: 0, 16512, -16384, -32768
EXPECTED
echo "as stated"
