#!/usr/bin/env bash
# soundfile (libsndfile) reads a wave of floats as 16-bit numbers without scaling, so speech becomes zeros and a few ones, which is silence
# to any recogniser. Waves of 24 bits are cut to their upper 16 (downwards, not to the nearest), and 32-bit numbers that are
# written to 16 bits lose their lower half: 100000 becomes 1. Nothing warns. Seen with soundfile 0.14.0, numpy 2.2.6 on Python 3.11:
#   the same sine, half of full scale   as float64: 0.5   as int16 from a 16-bit wave: 16384   from a float wave: 0
# Consequence: read as floats and scale, or look at the subtype first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.14.0 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import numpy as np
import soundfile

sine = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(8000) / 8000)
for subtype in ("PCM_16", "FLOAT"):
    soundfile.write("a.wav", sine, 8000, subtype=subtype)
    print(subtype, soundfile.read("a.wav", dtype="float64")[0].max().round(3), soundfile.read("a.wav", dtype="int16")[0].max())
soundfile.write("a.wav", np.array([0x1FF, 0x180, -0x180], np.int32) << 8, 8000, subtype="PCM_24")
print("24 bits", soundfile.read("a.wav", dtype="int16")[0].tolist())
soundfile.write("a.wav", np.array([100000, -100000], np.int32), 8000, subtype="PCM_16")
print("32 bits", soundfile.read("a.wav", dtype="int16")[0].tolist())
PYTHON
diff seen - <<'EXPECTED'
PCM_16 0.5 16384
FLOAT 0.5 0
24 bits [1, 1, -2]
32 bits [1, -2]
EXPECTED
echo "as stated"
