#!/usr/bin/env bash
# kaldiio returns the samples of 8-bit waves as they lie in the file, from 0 to 255 with silence at 128, beside signed numbers for 16
# bits. Features of such samples have a huge constant part. Waves of 24 bits and of floats raise ValueError, where soundfile reads them.
# Seen with kaldiio 2.18.1, soundfile 0.14.0, numpy 2.2.6 on Python 3.11:
#   silence of 16 bits: [0, 0]   silence of 8 bits: [128, 128]
# Consequence: subtract 128 from what is uint8, or let soundfile read.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check kaldiio==2.18.1 soundfile==0.14.0 numpy==2.2.6
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import kaldiio
import soundfile

with open("wav.scp", "w") as file:
    for subtype in ("PCM_16", "PCM_U8", "PCM_24", "FLOAT"):
        soundfile.write(f"{subtype}.wav", [0.0, 0.0], 8000, subtype=subtype)
        print(subtype, f"{subtype}.wav", file=file)
for key in kaldiio.load_scp("wav.scp"):
    try:
        rate, samples = kaldiio.load_scp("wav.scp")[key]
        print(key, samples.dtype, samples.tolist())
    except ValueError as error:
        print(key, type(error).__name__)
PYTHON
diff seen - <<'EXPECTED'
PCM_16 int16 [0, 0]
PCM_U8 uint8 [128, 128]
PCM_24 ValueError
FLOAT ValueError
EXPECTED
echo "as stated"
