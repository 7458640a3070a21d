#!/usr/bin/env bash
# miniaudio converts samples between formats. Waves of floats, read as 16-bit numbers, which is its default, come out a step too low: silence is
# -1, and 0.25 is 8191. Waves of 8 bits, read as floats, have silence at 0.0039, -48 dB, and 255 is 1. Read as 16-bit
# numbers their silence is 0. libsndfile reads 0 in these files. There is no message.
# Seen with miniaudio 1.71, soundfile 0.14.0, numpy 2.4.6 on Python 3.11, samples 0, 0.25 and -0.25:
#   file           read as   miniaudio                  soundfile
#   floats         16 bits   -1 8191 -8193
#   8 bits         floats    0.0039 0.2549 -0.2471      0.0000 0.2500 -0.2500
# Consequence: digital silence is not found, and detectors of energy see a constant. Subtract the mean, or read with libsndfile.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check miniaudio==1.71 soundfile==0.14.0 numpy==2.4.6
venv/bin/python - <<'PYTHON' | tee seen
import miniaudio
import numpy as np
import soundfile

samples = np.array([0, 0.25, -0.25, 0.5, -1])
for subtype in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT"):
    soundfile.write("a.wav", samples, 16000, subtype=subtype)
    integers = miniaudio.decode_file("a.wav", nchannels=1, sample_rate=16000).samples
    floats = miniaudio.decode_file("a.wav", nchannels=1, sample_rate=16000, output_format=miniaudio.SampleFormat.FLOAT32).samples
    print(subtype, "| 16 bits", *integers, "| floats", *(f"{sample:.4f}" for sample in floats),
          "| soundfile", *(f"{sample:.4f}" for sample in soundfile.read("a.wav")[0]))
noise = np.random.RandomState(0).uniform(-0.5, 0.5, 160000)
soundfile.write("a.wav", noise, 16000, subtype="FLOAT")
read = np.array(miniaudio.decode_file("a.wav", nchannels=1, sample_rate=16000).samples)
print(f"noise of floats: 16-bit samples are {(read - noise * 32768).mean():.2f} steps off on average")
PYTHON
diff seen - <<'EXPECTED'
PCM_U8 | 16 bits 0 8192 -8192 16384 -32768 | floats 0.0039 0.2549 -0.2471 0.5059 -1.0000 | soundfile 0.0000 0.2500 -0.2500 0.5000 -1.0000
PCM_16 | 16 bits 0 8192 -8192 16384 -32768 | floats 0.0000 0.2500 -0.2500 0.5000 -1.0000 | soundfile 0.0000 0.2500 -0.2500 0.5000 -1.0000
PCM_24 | 16 bits 0 8192 -8192 16384 -32768 | floats 0.0000 0.2500 -0.2500 0.5000 -1.0000 | soundfile 0.0000 0.2500 -0.2500 0.5000 -1.0000
PCM_32 | 16 bits 0 8192 -8192 16384 -32768 | floats 0.0000 0.2500 -0.2500 0.5000 -1.0000 | soundfile 0.0000 0.2500 -0.2500 0.5000 -1.0000
FLOAT | 16 bits -1 8191 -8193 16383 -32768 | floats 0.0000 0.2500 -0.2500 0.5000 -1.0000 | soundfile 0.0000 0.2500 -0.2500 0.5000 -1.0000
noise of floats: 16-bit samples are -1.00 steps off on average
EXPECTED
echo "as stated"
