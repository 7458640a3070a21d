#!/usr/bin/env bash
# The npm package audio-decode reads mu-law in CAF, Apple's format, as a quarter of its level, and A-law as an eighth and upside down. GSM 6.10
# in AIFF becomes noise, unlike in ffmpeg and libsndfile. mu-law and A-law in waves and AIFF are right. There is no message.
# Seen with audio-decode 3.12.0 on Node 20, files of soundfile 0.14.0, numpy 2.2.6 on Python 3.11, a sine of half of full scale:
#   CAF of 16 bits   0.500    AIFF of A-law   0.516   correlation with soundfile 1
#   CAF of mu-law    0.128    right: 0.512            correlation 1
#   CAF of A-law     0.064    right: 0.516            correlation -1
#   AIFF of GSM      1.000    right: 0.831            correlation 0.1
# Consequence: detectors of speech hear silence. Convert such files with ffmpeg before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.14.0 numpy==2.2.6
npm install --silent --no-fund --no-audit --prefix "$work" audio-decode@3.12.0 >/dev/null
venv/bin/python - <<'PYTHON'
import numpy as np
import soundfile

for name, form, subtype in (("plain.caf", "CAF", "PCM_16"), ("mulaw.caf", "CAF", "ULAW"), ("alaw.caf", "CAF", "ALAW"),
                            ("mulaw.aiff", "AIFF", "ULAW"), ("alaw.aiff", "AIFF", "ALAW"), ("gsm.aiff", "AIFF", "GSM610")):
    soundfile.write(name, np.sin(np.arange(8000) * 0.3) * 0.5, 8000, format=form, subtype=subtype)
PYTHON
cat >decode.mjs <<'SCRIPT'
import fs from "fs";
import decode from "audio-decode";
for (const name of process.argv.slice(2)) {
  const sound = await decode(fs.readFileSync(name));
  fs.writeFileSync(`${name}.raw`, Buffer.from(Float32Array.from(sound.channelData[0]).buffer));
}
SCRIPT
node decode.mjs plain.caf mulaw.caf alaw.caf mulaw.aiff alaw.aiff gsm.aiff
venv/bin/python - <<'PYTHON' | tee seen
import numpy as np
import soundfile

for name in ("plain.caf", "mulaw.caf", "alaw.caf", "mulaw.aiff", "alaw.aiff", "gsm.aiff"):
    right, read = soundfile.read(name, dtype="float32")[0], np.fromfile(f"{name}.raw", "float32")
    print(f"{name}: highest {read.max():.3f} for {right.max():.3f}, correlation {round(np.corrcoef(right, read)[0, 1], 1) + 0:.1f}")
PYTHON
diff seen - <<'EXPECTED'
plain.caf: highest 0.500 for 0.500, correlation 1.0
mulaw.caf: highest 0.128 for 0.512, correlation 1.0
alaw.caf: highest 0.064 for 0.516, correlation -1.0
mulaw.aiff: highest 0.512 for 0.512, correlation 1.0
alaw.aiff: highest 0.516 for 0.516, correlation 1.0
gsm.aiff: highest 1.000 for 0.831, correlation 0.1
EXPECTED
echo "as stated"
