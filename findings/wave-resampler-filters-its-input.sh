#!/usr/bin/env bash
# To lower a sample rate the npm package wave-resampler filters the samples in the array that the caller gave: the original is gone, and whatever
# is computed of it later is of another sound. If the array has 16-bit integers, filtered samples above 32,767 also begin again at
# -32,768, so that loud speech crackles. An array of floats does not crackle, but is overwritten too. Raising the rate is right.
# Seen with wave-resampler 1.0.0 on Node 20, a tone of 6 kHz at 16 kHz that is resampled to 8 kHz, and a clipped tone of 441 Hz at 44.1 kHz:
#   the tone's highest sample before   16,384
#   the tone's highest sample after    0
#   the clipped tone, of 16-bit integers and of floats, differ by more than 1,000 in 15,910 of 16,000 samples
# Consequence: copy the samples to a Float64Array for each call.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" wave-resampler@1.0.0 >/dev/null
cat >show.js <<'SCRIPT'
const { resample } = require("wave-resampler");

const highest = (samples) => Math.round(samples.slice(1000, 15000).reduce((sofar, sample) => Math.max(sofar, Math.abs(sample)), 0));
const tone = Float64Array.from({ length: 16000 }, (_, at) => 16384 * Math.sin((2 * Math.PI * 6000 * at) / 16000));
const original = Float64Array.from(tone);
resample(tone, 16000, 48000);
console.log(`to 48 kHz: the given samples are at most ${highest(tone)}`);
resample(tone, 16000, 8000);
console.log(`to 8 kHz: the given samples are at most ${highest(tone)}, the original ${highest(original)}`);
const clipped = Int16Array.from({ length: 44100 }, (_, at) => (at % 100 < 50 ? 32767 : -32768));
const floats = resample(Float64Array.from(clipped), 44100, 16000);
const integers = resample(Int16Array.from(clipped), 44100, 16000);
const other = floats.filter((sample, at) => Math.abs(sample - integers[at]) > 1000).length;
console.log(`a clipped tone: ${other} of ${floats.length} samples differ`);
console.log("of floats:", ...Array.from(floats.slice(1000, 1006), Math.round), "of integers:", ...Array.from(integers.slice(1000, 1006), Math.round));
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
to 48 kHz: the given samples are at most 16384
to 8 kHz: the given samples are at most 0, the original 16384
a clipped tone: 15910 of 16000 samples differ
of floats: -31610 -33515 -32188 -33311 -32238 -33250 of integers: 803 8663 2486 4854 -3682 4978
EXPECTED
echo "as stated"
