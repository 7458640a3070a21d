#!/usr/bin/env bash
# SpeechRecognition reads a file in buffers of 4,096 samples. record(duration=1) reads the buffer that would pass 1 s, and throws it away:
# the piece is too short, and the next call begins behind the lost buffer. An offset is rounded down to a whole buffer. A program that cuts
# a long recording into pieces with this call, one after another, loses a quarter of the sound, without a message.
# Seen with SpeechRecognition 3.17.0, numpy 2.2.6 on Python 3.11, 4 s at 16 kHz, whose sample number i has the value i / 4:
#   record(duration=1), five times   0.768 s, 0.768 s, 0.768 s, 0.768 s, 0 s: between them 0.256 s each are lost
#   record(offset=1, duration=1)     0.768 s that begin at 0.768 s
# Consequence: read the whole file and cut its samples (AudioData.get_segment cuts where it is told).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check SpeechRecognition==3.17.0 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import wave

import numpy as np
import speech_recognition

with wave.open("a.wav", "wb") as sound:
    sound.setnchannels(1)
    sound.setsampwidth(2)
    sound.setframerate(16000)
    sound.writeframes((np.arange(64000) // 4).astype("<i2").tobytes())
recognizer = speech_recognition.Recognizer()


def show(what, data):
    samples = np.frombuffer(data.get_raw_data(), "<i2").astype(int) * 4
    print(what, f"{len(samples)} samples" + (f" from {samples[0]} to {samples[-1] + 4}" if len(samples) else ""))


with speech_recognition.AudioFile("a.wav") as source:
    for number in range(5):
        show(f"piece {number}", recognizer.record(source, duration=1))
with speech_recognition.AudioFile("a.wav") as source:
    show("offset 1 s", recognizer.record(source, offset=1, duration=1))
with speech_recognition.AudioFile("a.wav") as source:
    whole = recognizer.record(source)
show("whole", whole)
show("cut", whole.get_segment(1000, 2000))
PYTHON
diff seen - <<'EXPECTED'
piece 0 12288 samples from 0 to 12288
piece 1 12288 samples from 16384 to 28672
piece 2 12288 samples from 32768 to 45056
piece 3 12288 samples from 49152 to 61440
piece 4 0 samples
offset 1 s 12288 samples from 12288 to 24576
whole 64000 samples from 0 to 64000
cut 16000 samples from 16000 to 32000
EXPECTED
echo "as stated"
