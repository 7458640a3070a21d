#!/usr/bin/env bash
# sphfile says that it reads SPHERE files of the ulaw encoding, as those of telephone corpora are. It does not decode them: content has the
# bytes of the file (0 is the most negative sample, 255 is silence), and write_wav() writes these bytes as linear samples of 8 bits. The wave
# plays as loud noise in which speech can be made out, so a look at its length and rate does not show it.
# Seen with sphfile 1.0.3, its last release, numpy 1.26.4, soundfile 0.13.1 on Python 3.11, a sine of 100 Hz of a quarter of full scale, as
# mu-law in a SPHERE file with 8,000 samples a second, the first 5 samples:
#   decoded  0, 652, 1308, 1884, 2492
#   content  255, 215, 201, 192, 187
#   wave     127, 87, 73, 64, 59 of 128: silence is full scale, and all of it is three times as loud
# Consequence: decode content, or convert such files with sox.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check sphfile==1.0.3 numpy==1.26.4 soundfile==0.13.1
venv/bin/python - <<'PYTHON' | tee seen
import io

import numpy as np
import soundfile
import sphfile

sine = (8192 * np.sin(2 * np.pi * 100 * np.arange(800) / 8000)).astype("<i2")
codes = io.BytesIO()
soundfile.write(codes, sine, 8000, format="RAW", subtype="ULAW")
codes.seek(0)
decoded = soundfile.read(codes, dtype="int16", format="RAW", subtype="ULAW", samplerate=8000, channels=1)[0]
header = ["NIST_1A", "   1024", "sample_count -i 800", "sample_n_bytes -i 1", "channel_count -i 1", "sample_rate -i 8000"]
header += ["sample_coding -s4 ulaw", "end_head", ""]
with open("a.sph", "wb") as sphere:
    sphere.write("\n".join(header).encode().ljust(1024) + codes.getvalue())
sound = sphfile.SPHFile("a.sph")
sound.write_wav("a.wav")
print("decoded", *decoded[:5].tolist())
print("content", *sound.content[:5].tolist(), "as", sound.content.dtype)
wave, _ = soundfile.read("a.wav", dtype="float64")
print("wave", soundfile.info("a.wav").subtype, *(int(sample * 128) for sample in wave[:5]))
print("loudness of the sine and of the wave", *(round(float(np.sqrt(np.mean(x**2))), 2) for x in (decoded / 32768, wave)))
PYTHON
diff seen - <<'EXPECTED'
decoded 0 652 1308 1884 2492
content 255 215 201 192 187 as uint8
wave PCM_U8 127 87 73 64 59
loudness of the sine and of the wave 0.18 0.55
EXPECTED
echo "as stated"
