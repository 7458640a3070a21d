#!/usr/bin/env bash
# A wave of IMA ADPCM consists of blocks, each with its first sample in its head. The npm package imaadpcm, and wavefile, which uses it, decode
# all blocks but the last: the end of the recording is silence. They write each block's first sample twice, so sound is late by a sample more
# with each block. Their encoder loses the last block too, leaves out two samples of each, and appends silence. There is no message.
# Seen with imaadpcm 5.0.0 and wavefile 11.0.0 on Node 20, ffmpeg 5.1 of Debian 12, 2 s of a tone at 8 kHz:
#                                 samples   the last that is not 0
#   ffmpeg's file, by ffmpeg      16,328    16,327
#   ffmpeg's file, by wavefile    16,384    14,293
#   wavefile's file, by ffmpeg    17,034    15,654
# Consequence: up to 255 ms are missing at the end of a telephone recording, a word or two. Decode with ffmpeg or sox.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" imaadpcm@5.0.0 wavefile@11.0.0 >/dev/null
sox -D -n -r 8000 -b 16 -c 1 tone.wav synth 2 sine 440 vol 0.5
ffmpeg -v error -i tone.wav -c:a adpcm_ima_wav coded.wav
ffmpeg -v error -i coded.wav -f s16le ffmpeg.raw
cat >wavefile.js <<'SCRIPT'
const fs = require("fs");
const imaadpcm = require("imaadpcm");
const { WaveFile } = require("wavefile");

const file = new WaveFile(fs.readFileSync("coded.wav"));
const samples = imaadpcm.decode(file.data.samples, file.fmt.blockAlign);
fs.writeFileSync("imaadpcm.raw", Buffer.from(samples.buffer));
file.fromIMAADPCM();
fs.writeFileSync("wavefile.raw", Buffer.from(file.data.samples));
const written = new WaveFile(fs.readFileSync("tone.wav"));
written.toIMAADPCM();
fs.writeFileSync("written.wav", written.toBuffer());
SCRIPT
node wavefile.js
ffmpeg -v error -i written.wav -f s16le written.raw
python3 - <<'PYTHON' | tee seen
import array

for name, block in (("ffmpeg", 2041), ("imaadpcm", 2042), ("wavefile", 2042), ("written", 505)):
    samples = array.array("h")
    with open(f"{name}.raw", "rb") as file:
        samples.frombytes(file.read())
    last = max(at for at, sample in enumerate(samples) if sample)
    print(f"{name}: {len(samples)} samples, the last that is not 0: {last}, at the border: {samples[block - 3:block + 4].tolist()}")
PYTHON
diff seen - <<'EXPECTED'
ffmpeg: 16328 samples, the last that is not 0: 16327, at the border: [8541, 12593, 16276, 16376, 15707, 12663, 7682]
imaadpcm: 16384 samples, the last that is not 0: 14293, at the border: [8548, 12600, 16283, 16376, 16376, 15707, 12664]
wavefile: 16384 samples, the last that is not 0: 14293, at the border: [8548, 12600, 16283, 16376, 16376, 15707, 12664]
written: 17034 samples, the last that is not 0: 15654, at the border: [-14918, -14249, -13641, -16182, -7049, -523, 5410]
EXPECTED
echo "as stated"
