#!/usr/bin/env bash
# To lower a sample rate, all above half of the new one must be filtered out, or it comes back mirrored. pydub's set_frame_rate and
# SpeechRecognition's get_raw_data(convert_rate=...), which prepares recordings for most of its recognizers, draw lines between samples without
# such a filter, and say so nowhere. The npm package @purinton/resampler has a filter, for the old rate. sox has one for the new rate.
# Seen with pydub 0.25.1, SpeechRecognition 3.17.0, numpy 2.2.6 on Python 3.11, @purinton/resampler 1.0.4 on Node 20, sox 14.4.2, a tone of
# 15 kHz at 48 kHz that is brought to 16 kHz:
#   pydub, SpeechRecognition and @purinton/resampler   a tone of 1 kHz that is as loud as the original
#   sox                                                below -60 dB
# Consequence: "s" becomes noise among the formants, and recognition is worse. Convert with sox or ffmpeg.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pydub==0.25.1 SpeechRecognition==3.17.0 numpy==2.2.6
npm install --silent --no-fund --no-audit --prefix "$work" @purinton/resampler@1.0.4 >/dev/null
sox -D -n -r 48000 -b 16 -c 1 tone.wav synth 1 sine 15000 vol 0.5
sox -D tone.wav -t raw tone.raw
sox -D tone.wav -t raw sox.raw rate 16000
cat >resample.mjs <<'SCRIPT'
import fs from "fs";
import { Resampler } from "@purinton/resampler";
const resampler = new Resampler({ inRate: 48000, outRate: 16000 });
fs.createReadStream("tone.raw").pipe(resampler).pipe(fs.createWriteStream("purinton.raw"));
SCRIPT
node resample.mjs
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import numpy as np
import pydub
import speech_recognition

original = np.fromfile("tone.raw", "<i2")
results = {"pydub": pydub.AudioSegment.from_wav("tone.wav").set_frame_rate(16000).raw_data,
           "SpeechRecognition": speech_recognition.AudioData(original.tobytes(), 48000, 2).get_raw_data(convert_rate=16000)}
for name in ("purinton", "sox"):
    with open(f"{name}.raw", "rb") as file:
        results[name] = file.read()
for name, result in results.items():
    samples = np.frombuffer(result, "<i2")[1000:15000].astype(float)
    level = 20 * np.log10(max(samples.std(), 0.5) / original.std())
    loudest = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))).argmax() * 16000 / len(samples)
    print(name, f"{loudest:.0f} Hz at {abs(level):.0f} dB" if level > -60 else "below -60 dB")
PYTHON
diff seen - <<'EXPECTED'
pydub 1000 Hz at 0 dB
SpeechRecognition 1000 Hz at 0 dB
purinton 1000 Hz at 0 dB
sox below -60 dB
EXPECTED
echo "as stated"
