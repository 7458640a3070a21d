#!/usr/bin/env bash
# The npm package wav-converter puts a header before samples. It writes 16 as the bytes of a second, the option "byteRate" of its README, and
# 4 as the bytes of a sample of 2, and counts 36 bytes of the header as sound. FFmpeg believes both: a second of speech lasts 2,000 s, and a part
# of it begins at the wrong place. SoX and Python find 18 samples that are not there. FFmpeg and SoX warn, and go on.
# Seen with wav-converter 1.0.0 and its README's options, wavefile 11.0.0 on Node 20, FFmpeg 5.1.9, SoX 14.4.2 of Debian 12, Python 3.11,
# 1 s of 16,000 samples:
#                      wav-converter    wavefile
#   ffprobe            2000.000000 s    1.000000 s
#   soxi, Python       16,018 samples   16,000
#   ffmpeg -ss 0.5     from sample 4    from sample 8,000
# Consequence: lengths of corpora are wrong, and segments are of other words. Write waves with wavefile.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" wav-converter@1.0.0 wavefile@11.0.0 >/dev/null
cat >show.js <<'SCRIPT'
const { writeFileSync } = require("fs");
const { encodeWav } = require("wav-converter");
const { WaveFile } = require("wavefile");

const samples = Int16Array.from({ length: 16000 }, (_, at) => at);
writeFileSync("wav-converter.wav", encodeWav(Buffer.from(samples.buffer), { numChannels: 1, sampleRate: 16000, byteRate: 16 }));
const wave = new WaveFile();
wave.fromScratch(1, 16000, "16", samples);
writeFileSync("wavefile.wav", wave.toBuffer());
SCRIPT
node show.js
for writer in wav-converter wavefile; do
  echo "$writer: ffprobe $(ffprobe -v error -show_entries stream=duration -of csv=p=0 "$writer.wav") s," \
    "soxi $(soxi -s "$writer.wav" 2>/dev/null) samples, Python $(python3 -c "import wave; print(wave.open('$writer.wav').getnframes())")"
  for time in 0.25 0.5; do
    ffmpeg -v error -y -ss "$time" -i "$writer.wav" -f s16le piece.raw
    od -An -td2 -N2 piece.raw | sed "s/^ */  from $time s on: sample /"
  done
done | tee seen
diff seen - <<'EXPECTED'
wav-converter: ffprobe 2000.000000 s, soxi 16018 samples, Python 16018
  from 0.25 s on: sample 2
  from 0.5 s on: sample 4
wavefile: ffprobe 1.000000 s, soxi 16000 samples, Python 16000
  from 0.25 s on: sample 4000
  from 0.5 s on: sample 8000
EXPECTED
echo "as stated"
