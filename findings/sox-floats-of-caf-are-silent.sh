#!/usr/bin/env bash
# SoX reads CAF and W64 files by libsndfile. It makes the loudest sample of 32-bit floats full scale, so that quiet recordings are as loud as
# loud ones, and reads 64-bit floats as silence. 64-bit floats that it writes are 2,147,483,648 times too loud for FFmpeg and libsndfile. WAV and
# AIFF are right, as are integers in CAF and W64. There is no message.
# Seen with SoX 14.4.2 and libsox-fmt-base 14.4.2+git20190427 of Debian 12, soundfile 0.14.0, numpy 2.2.6 on Python 3.11, samples 0.1, -0.2, 0.05:
#                                 CAF and W64                          WAV
#   32-bit floats, read by SoX    0.5, -1, 0.25                        0.1, -0.2, 0.05
#   64-bit floats, read by SoX    0, 0, 0                              0.1, -0.2, 0.05
#   64-bit floats, written        214748365, -429496730, 107374182     0.1, -0.2, 0.05
# Consequence: sessions in these formats are silent, or lose their levels. Convert them to WAV with FFmpeg before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check soundfile==0.14.0 numpy==2.2.6
"$work/env/bin/python" - <<'PYTHON' | tee seen
import subprocess

import numpy as np
import soundfile

samples = [0.1, -0.2, 0.05]


def sox(*arguments):
    return np.frombuffer(subprocess.run(["sox", "-D", *arguments], check=True, capture_output=True).stdout)


def show(name, read):
    print(f"  {name}:", *(f"{sample:.4f}" if abs(sample) < 2 else f"{sample:.0f}" for sample in read))


soundfile.write("samples.wav", samples, 16000, subtype="DOUBLE")
for kind in ("WAV", "AIFF", "CAF", "W64"):
    print(kind)
    for subtype, bits in (("PCM_24", 24), ("FLOAT", 32), ("DOUBLE", 64)):
        soundfile.write(f"a.{kind}", samples, 16000, format=kind, subtype=subtype)
        show(f"{subtype}, read by SoX", sox("-t", kind.lower(), f"a.{kind}", "-t", "f64", "-"))
    sox("samples.wav", "-e", "float", "-b", "64", "-t", kind.lower(), f"b.{kind}")
    show("DOUBLE, written by SoX", soundfile.read(f"b.{kind}")[0])
PYTHON
diff seen - <<'EXPECTED'
WAV
  PCM_24, read by SoX: 0.1000 -0.2000 0.0500
  FLOAT, read by SoX: 0.1000 -0.2000 0.0500
  DOUBLE, read by SoX: 0.1000 -0.2000 0.0500
  DOUBLE, written by SoX: 0.1000 -0.2000 0.0500
AIFF
  PCM_24, read by SoX: 0.1000 -0.2000 0.0500
  FLOAT, read by SoX: 0.1000 -0.2000 0.0500
  DOUBLE, read by SoX: 0.1000 -0.2000 0.0500
  DOUBLE, written by SoX: 0.1000 -0.2000 0.0500
CAF
  PCM_24, read by SoX: 0.1000 -0.2000 0.0500
  FLOAT, read by SoX: 0.5000 -1.0000 0.2500
  DOUBLE, read by SoX: 0.0000 0.0000 0.0000
  DOUBLE, written by SoX: 214748365 -429496730 107374182
W64
  PCM_24, read by SoX: 0.1000 -0.2000 0.0500
  FLOAT, read by SoX: 0.5000 -1.0000 0.2500
  DOUBLE, read by SoX: 0.0000 0.0000 0.0000
  DOUBLE, written by SoX: 214748365 -429496730 107374182
EXPECTED
echo "as stated"
