#!/usr/bin/env bash
# The npm packages wav-decoder and node-wav read the lowest sample of a 24-bit wave, -8388608, as +1 instead of -1. Where a recording is
# clipped, each loudest negative sample becomes the loudest positive one, which sounds as clicks. Waves of 16 and 32 bits and the sample next
# to it are right. node-wav also returns undefined for a wave with a chunk of odd length before its samples (a description in XML, say), since
# it forgets the padding byte; wav-decoder has an error. Otherwise there is no message.
# Seen with wav-decoder 1.3.0 and node-wav 0.0.2 on Node 20:
#   samples    0   -8388607   -8388608   8388607
#   both       0   -1         1          1
# Consequence: convert such waves to 16 bits or floats before, or use wavefile for them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" wav-decoder@1.3.0 node-wav@0.0.2 >/dev/null
cat >show.js <<'SCRIPT'
const wavDecoder = require("wav-decoder");
const nodeWav = require("node-wav");

function chunk(name, contents) {
  const head = Buffer.alloc(8);
  head.write(name);
  head.writeUInt32LE(contents.length, 4);
  return Buffer.concat([head, contents, Buffer.alloc(contents.length % 2)]);
}

function wave(bits, samples, extra = []) {
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(16000, 4);
  format.writeUInt32LE((16000 * bits) / 8, 8);
  format.writeUInt16LE(bits / 8, 12);
  format.writeUInt16LE(bits, 14);
  const data = Buffer.alloc((samples.length * bits) / 8);
  samples.forEach((sample, at) => data.writeIntLE(sample, (at * bits) / 8, bits / 8));
  const parts = [Buffer.from("WAVE"), chunk("fmt ", format), ...extra, chunk("data", data)];
  const file = chunk("RIFF", Buffer.concat(parts));
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
}

const round = (channel) => Array.from(channel, (sample) => Math.round(sample * 100) / 100).join(" ");

async function main() {
  for (const bits of [16, 24, 32]) {
    const top = 2 ** (bits - 1);
    const file = wave(bits, [0, -top + 1, -top, top - 1]);
    console.log(`${bits} bits, wav-decoder: ${round((await wavDecoder.decode(file)).channelData[0])}`);
    console.log(`${bits} bits, node-wav: ${round(nodeWav.decode(file).channelData[0])}`);
  }
  const file = wave(16, [0, 16384], [chunk("iXML", Buffer.from("<BWFXML/>"))]);
  console.log(`odd chunk, node-wav: ${nodeWav.decode(file)}`);
  console.log(`odd chunk, wav-decoder: ${await wavDecoder.decode(file).catch((error) => error.constructor.name)}`);
}

main();
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
16 bits, wav-decoder: 0 -1 -1 1
16 bits, node-wav: 0 -1 -1 1
24 bits, wav-decoder: 0 -1 1 1
24 bits, node-wav: 0 -1 1 1
32 bits, wav-decoder: 0 -1 -1 1
32 bits, node-wav: 0 -1 -1 1
odd chunk, node-wav: undefined
odd chunk, wav-decoder: RangeError
EXPECTED
echo "as stated"
