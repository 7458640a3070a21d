#!/usr/bin/env bash
# wavefile and bitdepth change the bits of samples, and cut a number as its text: parseInt("3e-7") is 3. JavaScript writes numbers below 0.000001
# so, and the smallest samples become up to 9 steps of the new bits, whatever their size. There is no message.
# Seen with wavefile 11.0.0, bitdepth 9.0.0 on Node 20, the same in both:
#   floats 1e-5, 2e-12, 1e-20 as 16 bits                0, 6, 3 (right: 0, 0, 0)
#   32-bit samples 1, 9, 16, 17 as 8 bits, less 128     5, 5, 9, 0 (right: 0, 0, 0, 0)
#   a tone that dies away, 3 s at 16 kHz, as 16 bits    below 1e-6 of full scale the highest sample is 9 (right: 0)
#   noise of -16 to 16 in 32-bit samples, as 8 bits     at most 9 of 127, -23 dB below full scale (right: 0)
# Consequence: digital silence behind filters, fades and reverberation crackles, and detectors of silence find sound. Set samples below half a step
# to 0 first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" wavefile@11.0.0 bitdepth@9.0.0 >/dev/null
cat >show.js <<'SCRIPT'
const { changeBitDepth } = require("bitdepth");
const { WaveFile } = require("wavefile");

const wave = (samples, from, to) => {
  const file = new WaveFile();
  file.fromScratch(1, 16000, from, samples);
  file.toBitDepth(to);
  return Array.from(file.getSamples());
};
const plain = (samples, from, to) => {
  const result = new Float64Array(samples.length);
  changeBitDepth(Float64Array.from(samples), from, result, to);
  return Array.from(result);
};
const highest = (samples) => samples.reduce((sofar, sample) => Math.max(sofar, Math.abs(sample)), 0);
const tone = Array.from({ length: 48000 }, (_, at) => 0.5 * Math.exp(-at / 1500) * Math.sin(at / 10));
const begin = 1 + tone.findLastIndex((sample) => Math.abs(sample) > 1e-6);
const noise = Array.from({ length: 1000 }, (_, at) => ((at * 7919) % 33) - 16);
for (const [name, change] of [["wavefile", wave], ["bitdepth", plain]]) {
  console.log(name);
  console.log("  floats as 16 bits:", ...change([0.5, 1e-5, 2e-12, 1e-20], "64", "16"));
  console.log("  32 bits as 8 bits:", ...change([0, 1, 9, 16, 17], "32", "8").map((sample) => sample - 128));
  console.log("  end of the tone:", highest(change(tone, "64", "16").slice(begin)));
  console.log("  noise of -16 to 16:", highest(change(noise, "32", "8").map((sample) => sample - 128)));
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
wavefile
  floats as 16 bits: 16383 0 6 3
  32 bits as 8 bits: 0 5 5 9 0
  end of the tone: 9
  noise of -16 to 16: 9
bitdepth
  floats as 16 bits: 16383 0 6 3
  32 bits as 8 bits: 0 5 5 9 0
  end of the tone: 9
  noise of -16 to 16: 9
EXPECTED
echo "as stated"
