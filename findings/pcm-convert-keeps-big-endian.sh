#!/usr/bin/env bash
# The npm package pcm-convert converts samples between formats, which have "be" and "le". The bytes of big-endian samples are never turned: as
# "le", or as floats, they are the numbers of the wrong order. From "le" to "be" bytes are turned. Between integers of other lengths silence is not
# silence: 128 of 8 bits is 128 of 16 bits, and 0 of 16 bits is 32,768 of 32 bits. There is no message.
# Seen with pcm-convert 3.3.0 on Node 20:
#   256, -2, 1000 in big-endian bytes, "int16 be" to "int16 le"     1, -257, -6141
#   the same, to "float32"                                          0.00003, -0.00784, -0.18741 (right: 0.00781, -0.00006, 0.03052)
#   128, 129, 0 of "uint8" to "int16"                               128, 385, -32768 (right: 0, 256, -32768)
# Consequence: L16 of RTP, AIFF and AU are noise. Turn the bytes with Buffer.swap16() before, and go by way of floats.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" pcm-convert@3.3.0 >/dev/null
cat >show.mjs <<'SCRIPT'
import convert from "pcm-convert";

const samples = [0, 256, -2, 1000];
const bytes = (order) => {
  const buffer = Buffer.alloc(8);
  samples.forEach((sample, at) => buffer[`writeInt16${order}`](sample, 2 * at));
  return buffer;
};
const show = (name, result) => console.log(`${name}:`, ...Array.from(result, (sample) => (Number.isInteger(sample) ? sample : sample.toFixed(5))));
show("be to le", convert(bytes("BE"), "int16 be", "int16 le"));
show("be to float32", convert(bytes("BE"), "int16 be", "float32"));
show("be to float32 le", convert(bytes("BE"), "int16 be", "float32 le"));
show("le to float32", convert(bytes("LE"), "int16 le", "float32"));
show("turned, then to float32", convert(bytes("BE").swap16(), "int16", "float32"));
const turned = convert(bytes("LE"), "int16 le", "int16 be");
console.log(`le to be: bytes are turned: ${Buffer.from(turned.buffer).equals(bytes("BE"))}`);
show("uint8 to int16", convert(Uint8Array.of(128, 129, 0), "uint8", "int16"));
show("uint8 to float32 to int16", convert(convert(Uint8Array.of(128, 129, 0), "uint8", "float32"), "float32", "int16"));
show("int16 to int32", convert(Int16Array.of(0, 1, -32768), "int16", "int32"));
SCRIPT
node show.mjs | tee seen
diff seen - <<'EXPECTED'
be to le: 0 1 -257 -6141
be to float32: 0 0.00003 -0.00784 -0.18741
be to float32 le: 0 0.00003 -0.00784 -0.18741
le to float32: 0 0.00781 -0.00006 0.03052
turned, then to float32: 0 0.00781 -0.00006 0.03052
le to be: bytes are turned: true
uint8 to int16: 128 385 -32768
uint8 to float32 to int16: 0 256 -32768
int16 to int32: 32768 98305 -2147483648
EXPECTED
echo "as stated"
