#!/usr/bin/env bash
# The npm package audio-mixer takes sample rates of a mixer and of each input; the example in its README has an input of 48 kHz in a mixer of
# 44.1 kHz. It does nothing with them: sound of 8 kHz comes out six times as fast at 48 kHz. And it applies the volume to two samples of 8 bits as
# to one of 16, so that half of one gets into the other: silence beside a sample of 1 becomes full scale. There is no message.
# Seen with audio-mixer 2.1.4 on Node 20:
#   1 s of 8 kHz, mixed at 48 kHz                        8,000 samples, 0.17 s (right: 48,000)
#   8-bit samples 0, 1, 0, -1, 10, 11 with volume 50     -128, 0, -128, -1, -123, 5 (right: 0, 0, 0, -1, 5, 5)
# Consequence: change sample rates before the mixer, and mix 16 bits.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" audio-mixer@2.1.4 >/dev/null
cat >show.js <<'SCRIPT'
const { Mixer } = require("audio-mixer");

const mix = (mixerOptions, inputOptions, samples) => new Promise((resolve) => {
  const mixer = new Mixer(mixerOptions);
  const parts = [];
  const end = setTimeout(() => {
    mixer.close();
    resolve(Buffer.concat(parts));
  }, 2000);
  mixer.on("data", (part) => {
    parts.push(part);
    end.refresh();
  });
  mixer.input(inputOptions).write(samples);
});
(async () => {
  for (const sampleRate of [8000, 16000, 48000]) {
    const format = { channels: 1, bitDepth: 16 };
    const mixed = await mix({ ...format, sampleRate: 48000 }, { ...format, sampleRate }, Buffer.alloc(2 * sampleRate, 1));
    console.log(`1 s of ${sampleRate} Hz, mixed at 48000 Hz: ${mixed.length / 2} samples, ${(mixed.length / 96000).toFixed(2)} s`);
  }
  const samples = [0, 1, 0, -1, 10, 11];
  for (const volume of [100, 50]) {
    const options = { channels: 1, sampleRate: 8000, bitDepth: 8 };
    console.log(`volume ${volume}, 8 bits:`, ...new Int8Array(await mix(options, { volume }, Buffer.from(Int8Array.from(samples)))));
    const mixed = await mix({ ...options, bitDepth: 16 }, { volume }, Buffer.from(Int16Array.from(samples).buffer));
    console.log(`volume ${volume}, 16 bits:`, ...new Int16Array(Uint8Array.from(mixed).buffer));
  }
})();
SCRIPT
node --no-deprecation show.js | tee seen
diff seen - <<'EXPECTED'
1 s of 8000 Hz, mixed at 48000 Hz: 8000 samples, 0.17 s
1 s of 16000 Hz, mixed at 48000 Hz: 16000 samples, 0.33 s
1 s of 48000 Hz, mixed at 48000 Hz: 48000 samples, 1.00 s
volume 100, 8 bits: 0 1 0 -1 10 11
volume 100, 16 bits: 0 1 0 -1 10 11
volume 50, 8 bits: -128 0 -128 -1 -123 5
volume 50, 16 bits: 0 0 0 -1 5 5
EXPECTED
echo "as stated"
