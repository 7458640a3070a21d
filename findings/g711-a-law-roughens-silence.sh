#!/usr/bin/env bash
# The npm package g711 encodes the samples -1 to -7 as the A-law code 0x5A, which is -248; it should be 0x55, -8. Other negative samples
# are at most a step off, and mu-law is right. In a quiet recording, where samples move between -7 and 7, each negative one becomes a
# click of -248: the pauses of a telephone recording are as loud as a whisper. There is no message.
# Seen with g711 1.0.1 on Node 20 beside soundfile 0.14.0, numpy 2.2.6 on Python 3.11, encoded and decoded:
#   samples     -8    -7     -1     0    7    8
#   g711        -8    -248   -248   8    8    8
#   soundfile   -8    -8     -8     8    8    8
# Consequence: detectors of speech hear sound in silence. Set samples from -7 to -1 to -8 before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.14.0 numpy==2.2.6
npm install --silent --no-fund --no-audit --prefix "$work" g711@1.0.1 >/dev/null
cat >show.js <<'SCRIPT'
const { alawFromPCM, alawToPCM } = require("g711");
const code = (samples) => Array.from(alawToPCM(alawFromPCM(Int16Array.from(samples))));
console.log("g711", code([-100, -9, -8, -7, -1, 0, 7, 8, 100]).join(" "));
const noise = Int16Array.from({ length: 8000 }, (_, i) => (i * 7919) % 15 - 7);
const level = (samples) => Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length).toFixed(0);
console.log("level of noise between -7 and 7:", level(Array.from(noise)), "encoded and decoded:", level(code(noise)));
SCRIPT
node show.js | tee seen
venv/bin/python - <<'PYTHON' | tee -a seen
import numpy as np
import soundfile

soundfile.write("a.wav", np.array([-100, -9, -8, -7, -1, 0, 7, 8, 100], "int16"), 8000, subtype="ALAW")
print("soundfile", *soundfile.read("a.wav", dtype="int16")[0])
PYTHON
diff seen - <<'EXPECTED'
g711 -88 -8 -8 -248 -248 8 8 8 104
level of noise between -7 and 7: 4 encoded and decoded: 169
soundfile -104 -8 -8 -8 -8 8 8 8 104
EXPECTED
echo "as stated"
