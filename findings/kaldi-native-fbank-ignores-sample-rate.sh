#!/usr/bin/env bash
# Features in kaldi-native-fbank are computed by an object that has a sample rate, and each call that gives it samples names their rate. Kaldi ends
# with an error if the two differ. The published wheels check neither this nor negative rates: a recording at 8 kHz has the features of one that
# is half as long, and an octave higher. Samples after input_finished, an error in Kaldi too, are added. There is no message.
# Seen with kaldi-native-fbank 1.22.4, numpy 2.2.6 on Python 3.11, 2 s of a tone of 1 kHz, 23 mel filters:
#   options    accept_waveform   frames   loudest filter
#   8000 Hz    8000 Hz           198      10
#   16000 Hz   8000 Hz           98       12, that of 2 kHz
#   16000 Hz   -1 Hz             98       12
# Consequence: telephone recordings in a recogniser of 16 kHz are noise to it. Compare the rates yourself, and resample.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check kaldi-native-fbank==1.22.4 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import kaldi_native_fbank
import numpy as np


def computer(rate):
    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.dither = 0
    options.frame_opts.samp_freq = rate
    options.mel_opts.num_bins = 23
    return kaldi_native_fbank.OnlineFbank(options)


def show(name, fbank):
    frames = np.array([fbank.get_frame(frame) for frame in range(fbank.num_frames_ready)])
    print(f"{name}: {len(frames)} frames, loudest filter {frames.mean(axis=0).argmax()}")


def tone(frequency, rate):
    return np.sin(2 * np.pi * frequency * np.arange(2 * rate) / rate).tolist()


for frequency, sound, option, argument in (
        (1000, 8000, 8000, 8000), (1000, 16000, 16000, 16000), (2000, 16000, 16000, 16000),
        (1000, 8000, 16000, 8000), (1000, 8000, 16000, -1)):
    fbank = computer(option)
    fbank.accept_waveform(argument, tone(frequency, sound))
    fbank.input_finished()
    show(f"{frequency} Hz at {sound} Hz, samp_freq {option}, accept_waveform({argument})", fbank)
fbank.accept_waveform(16000, tone(1000, 8000))
show("more samples behind input_finished", fbank)
PYTHON
diff seen - <<'EXPECTED'
1000 Hz at 8000 Hz, samp_freq 8000, accept_waveform(8000): 198 frames, loudest filter 10
1000 Hz at 16000 Hz, samp_freq 16000, accept_waveform(16000): 198 frames, loudest filter 7
2000 Hz at 16000 Hz, samp_freq 16000, accept_waveform(16000): 198 frames, loudest filter 12
1000 Hz at 8000 Hz, samp_freq 16000, accept_waveform(8000): 98 frames, loudest filter 12
1000 Hz at 8000 Hz, samp_freq 16000, accept_waveform(-1): 98 frames, loudest filter 12
more samples behind input_finished: 198 frames, loudest filter 12
EXPECTED
echo "as stated"
