#!/usr/bin/env bash
# audioread says that its bytes are signed samples of 16 bits. For AIFF and AU files of 24 and 32 bits it takes the lowest 16 bits of each
# sample, which is noise at full level. For those of 8 bits and for 8-bit waves it takes other numbers too: silence of such a wave is
# -32768. mu-law of AU is a square wave, and A-law has half as many samples. Only 16 bits, and waves of 24 and 32 bits, are right.
# It reads these formats by itself, also where ffmpeg is there. There is no message.
# Seen with audioread 3.1.0, soundfile 0.14.0 (which writes the files), numpy 2.2.6 on Python 3.11, a sine of half of full scale:
#   right            0, 11585, 16384, 11585, 0, -11586, -16384, -11586
#   AIFF of 24 bits  0, 16700, 0, 16700, 0, -16701, 0, -16701
#   AU of mu-law     0, 31788, 31809, 31788, 0, -31533, -31554, -31533
#   8-bit silence    -32768, -32768, ...
# Consequence: features of such files are of noise. Let soundfile read them, or pass backends=[audioread.ffdec.FFmpegAudioFile].
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check audioread==3.1.0 soundfile==0.14.0 numpy==2.2.6
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import audioread
import numpy as np
import soundfile

sine = np.sin(np.arange(8) * np.pi / 4) * 0.5
silence = np.zeros(8)
for name, form, subtype, samples in (
        ("AIFF of 16 bits", "AIFF", "PCM_16", sine), ("AIFF of 24 bits", "AIFF", "PCM_24", sine),
        ("AIFF of 32 bits", "AIFF", "PCM_32", sine), ("AIFF of 8 bits", "AIFF", "PCM_S8", sine),
        ("AU of 24 bits", "AU", "PCM_24", sine), ("AU of mu-law", "AU", "ULAW", sine), ("AU of A-law", "AU", "ALAW", sine),
        ("wave of 24 bits", "WAV", "PCM_24", sine), ("wave of 8 bits, silence", "WAV", "PCM_U8", silence)):
    soundfile.write("a", samples, 8000, format=form, subtype=subtype)
    with audioread.audio_open("a") as sound:
        read = np.frombuffer(b"".join(sound), "<i2")
    print(f"{name:24}", *read)
PYTHON
diff seen - <<'EXPECTED'
AIFF of 16 bits          0 11585 16384 11585 0 -11586 -16384 -11586
AIFF of 24 bits          0 16700 0 16700 0 -16701 0 -16701
AIFF of 32 bits          0 15565 0 15565 0 -15565 0 -15565
AIFF of 8 bits           0 45 64 45 0 210 192 210
AU of 24 bits            0 16700 0 16700 0 -16701 0 -16701
AU of mu-law             0 31788 31809 31788 0 -31533 -31554 -31533
AU of A-law              -10829 -23117 -10957 9523
wave of 24 bits          0 11585 16384 11585 0 -11586 -16384 -11586
wave of 8 bits, silence  -32768 -32768 -32768 -32768 -32768 -32768 -32768 -32768
EXPECTED
echo "as stated"
