#!/usr/bin/env bash
# Chunks of a wave begin at even places: a byte follows a chunk of an odd length. Broadcast waves have a chunk "bext" before the samples, whose
# length depends on a text. If it is odd, the reader of the npm package wav finds no sound, and ends as if the file had none; wav-decoder and
# node-wav end with an error. wav-file-info counts all chunks as sound: its duration grows with metadata. There is no message in either.
# Seen with wav 1.0.2, wav-decoder 1.3.0, node-wav 0.0.2, wavefile 11.0.0, wav-file-info 0.0.10 on Node 20, 1 s of 16,000 samples:
#   bext of 602 bytes    16,000 samples in all four, 1.020 s in wav-file-info
#   bext of 603 bytes    no sample in wav, errors in wav-decoder and node-wav, 16,000 samples in wavefile
#   a LIST of 32,000 bytes behind the samples    2.001 s in wav-file-info
# Consequence: recordings of some reporters are silent. Read waves with wavefile.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" wav@1.0.2 wav-decoder@1.3.0 node-wav@0.0.2 wavefile@11.0.0 wav-file-info@0.0.10 >/dev/null
cat >show.js <<'SCRIPT'
const { writeFileSync } = require("fs");
const nodeWav = require("node-wav");
const { Reader } = require("wav");
const wavDecoder = require("wav-decoder");
const { infoByFilename } = require("wav-file-info");
const { WaveFile } = require("wavefile");

const chunk = (id, data) => {
  const head = Buffer.from(`${id}    `);
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
};
const format = chunk("fmt ", Buffer.from("01000100803e0000007d000002001000", "hex"));
const samples = chunk("data", Buffer.from(Int16Array.from({ length: 16000 }, (_, at) => 10000 * Math.sin(at / 10)).buffer));
const wave = (...chunks) => chunk("RIFF", Buffer.concat([Buffer.from("WAVE"), ...chunks]));
const read = (file) => new Promise((resolve) => {
  let bytes = 0;
  const reader = new Reader();
  reader.on("data", (data) => (bytes += data.length)).on("error", () => resolve("an error")).on("end", () => resolve(bytes / 2)).end(file);
});
const tried = (read) => {
  try {
    return read();
  } catch {
    return "an error";
  }
};

(async () => {
  for (const [name, file] of [
    ["bext of 602 bytes", wave(format, chunk("bext", Buffer.alloc(602)), samples)],
    ["bext of 603 bytes", wave(format, chunk("bext", Buffer.alloc(603)), samples)],
    ["LIST of 32000 bytes behind", wave(format, samples, chunk("LIST", Buffer.concat([Buffer.from("INFO"), chunk("ICMT", Buffer.alloc(31988, "a"))])))],
  ]) {
    writeFileSync("a.wav", file);
    const duration = await new Promise((resolve) => infoByFilename("a.wav", (_, info) => resolve(info.duration.toFixed(3))));
    const decoded = await wavDecoder.decode(file).then((wave) => wave.channelData[0].length, () => "an error");
    console.log(`${name}: wav ${await read(file)}, wav-decoder ${decoded}, node-wav ${tried(() => nodeWav.decode(file).channelData[0].length)}, ` +
      `wavefile ${tried(() => new WaveFile(file).getSamples().length)}, wav-file-info ${duration} s`);
  }
})();
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
bext of 602 bytes: wav 16000, wav-decoder 16000, node-wav 16000, wavefile 16000, wav-file-info 1.020 s
bext of 603 bytes: wav 0, wav-decoder an error, node-wav an error, wavefile 16000, wav-file-info 1.020 s
LIST of 32000 bytes behind: wav 16000, wav-decoder 16000, node-wav 16000, wavefile 16000, wav-file-info 2.001 s
EXPECTED
echo "as stated"
