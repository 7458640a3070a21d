#!/usr/bin/env bash
# The npm package node-audio-mixer converts each input to the mixer's sample rate, by taking every so many-th number, also of stereo, where numbers of
# the left and the right channel follow each other. From 48 kHz to 24 kHz both channels are the left one. From 44.1 kHz to 48 kHz
# the channels change places over and over. Mono, and equal rates, keep the order. There is no message.
# Seen with node-audio-mixer 1.3.7 on Node 20, the samples of the left channel are 1,000 and those of the right -1,000:
#   input       mixer       left channel has 1,000 in   right channel has -1,000 in
#   48 kHz      48 kHz      100 %                       100 %
#   48 kHz      24 kHz      100 %                       0 %
#   44.1 kHz    48 kHz      50 %                        50 %
# Consequence: two speakers of a telephone call, one to a channel, are mixed or one is lost. Convert rates before, with sox.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" node-audio-mixer@1.3.7 >/dev/null
cat >show.js <<'SCRIPT'
const { AudioInput } = require("node-audio-mixer");

for (const [from, to] of [[48000, 48000], [48000, 24000], [44100, 48000]]) {
  const options = { channels: 2, bitDepth: 16, endianness: "LE" };
  const input = new AudioInput({ ...options, sampleRate: from }, { ...options, sampleRate: to });
  const frames = Buffer.alloc(from * 4);
  for (let at = 0; at < from; at++) {
    frames.writeInt16LE(1000, at * 4);
    frames.writeInt16LE(-1000, at * 4 + 2);
  }
  input.write(frames, () => {
    const mixed = input.readAudioChunk();
    const count = [0, 0];
    for (let at = 0; at < mixed.length / 4; at++) {
      count[0] += mixed.readInt16LE(at * 4) === 1000;
      count[1] += mixed.readInt16LE(at * 4 + 2) === -1000;
    }
    const shares = count.map((number) => `${Math.round((400 * number) / mixed.length)} %`);
    console.log(`${from} Hz to ${to} Hz: left ${shares[0]}, right ${shares[1]}`);
  });
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
48000 Hz to 48000 Hz: left 100 %, right 100 %
48000 Hz to 24000 Hz: left 100 %, right 0 %
44100 Hz to 48000 Hz: left 50 %, right 50 %
EXPECTED
echo "as stated"
