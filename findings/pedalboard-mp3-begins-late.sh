#!/usr/bin/env bash
# pedalboard reads an MP3 with the delay of the encoder in front and its filling at the end: all words are 1,105 samples late, which is 69 ms
# at 16 kHz, and its frames are more than there are. The file states both numbers, and soundfile and miniaudio take them off. pedalboard does
# not do so for MP3s that it wrote itself either. Ogg Vorbis and FLAC have the right times.
# Seen with pedalboard 0.9.26, soundfile 0.14.0, miniaudio 1.71, numpy 2.2.6 on Python 3.11 (x86_64), 1 s of silence with a click at 0.5 s:
#   16 kHz     soundfile and miniaudio 16,000 samples, click at 8,000     pedalboard 17,280 samples, click at 9,105
#   44.1 kHz   soundfile and miniaudio 44,100 samples, click at 22,050    pedalboard 46,080 samples, click at 23,155
# Consequence: alignments made by way of one library are off by some frames for a reader of the other.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pedalboard==0.9.26 soundfile==0.14.0 miniaudio==1.71 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import miniaudio
import numpy as np
import soundfile
from pedalboard.io import AudioFile


def show(what, samples):
    print(what, len(samples), "samples, click at", int(np.abs(np.asarray(samples, dtype="float64")).argmax()))


for rate in (16000, 44100):
    click = np.zeros(rate, dtype="float32")
    click[rate // 2] = 0.9
    soundfile.write("soundfile.mp3", click, rate, format="MP3")
    soundfile.write("soundfile.ogg", click, rate, format="OGG", subtype="VORBIS")
    with AudioFile("pedalboard.mp3", "w", samplerate=rate, num_channels=1, quality=160) as sound:
        sound.write(click)
    for name in ("soundfile.mp3", "pedalboard.mp3", "soundfile.ogg"):
        show(f"{rate} {name} read by soundfile:", soundfile.read(name)[0])
        show(f"{rate} {name} read by miniaudio:", miniaudio.decode_file(name, nchannels=1, sample_rate=rate).samples)
        with AudioFile(name) as sound:
            show(f"{rate} {name} read by pedalboard:", sound.read(sound.frames)[0])
PYTHON
diff seen - <<'EXPECTED'
16000 soundfile.mp3 read by soundfile: 16000 samples, click at 8000
16000 soundfile.mp3 read by miniaudio: 16000 samples, click at 8000
16000 soundfile.mp3 read by pedalboard: 17280 samples, click at 9105
16000 pedalboard.mp3 read by soundfile: 16000 samples, click at 8000
16000 pedalboard.mp3 read by miniaudio: 16000 samples, click at 8000
16000 pedalboard.mp3 read by pedalboard: 17280 samples, click at 9105
16000 soundfile.ogg read by soundfile: 16000 samples, click at 8000
16000 soundfile.ogg read by miniaudio: 16000 samples, click at 8000
16000 soundfile.ogg read by pedalboard: 16000 samples, click at 8000
44100 soundfile.mp3 read by soundfile: 44100 samples, click at 22050
44100 soundfile.mp3 read by miniaudio: 44100 samples, click at 22050
44100 soundfile.mp3 read by pedalboard: 46080 samples, click at 23155
44100 pedalboard.mp3 read by soundfile: 44100 samples, click at 22050
44100 pedalboard.mp3 read by miniaudio: 44100 samples, click at 22050
44100 pedalboard.mp3 read by pedalboard: 46080 samples, click at 23155
44100 soundfile.ogg read by soundfile: 44100 samples, click at 22050
44100 soundfile.ogg read by miniaudio: 44100 samples, click at 22050
44100 soundfile.ogg read by pedalboard: 44100 samples, click at 22050
EXPECTED
echo "as stated"
