#!/usr/bin/env bash
# FFmpeg, here by PyAV, ends Ogg Vorbis where a block ends: it leaves out the last samples of most files, and gives samples behind the end of
# others, though the file states its number of samples. The decoder of Vorbis itself (in soundfile) and miniaudio give the exact number. The
# start is right. It depends on the sound, since Vorbis has two lengths of blocks. ffmpeg 5.1 does the same. There is no message.
# Seen with av 18.1.0 (libavcodec 62.28), soundfile 0.14.0 (which writes the files), miniaudio 1.71, numpy 2.2.6 on Python 3.11 (x86_64):
#   sound, rate, samples           soundfile and miniaudio    PyAV
#   a tone, 16 kHz, 80,011         80,011                     79,755: the last 16 ms are missing
#   a tone, 16 kHz, 16,777         16,777                     17,280: 31 ms more
#   a tone, 44.1 kHz, 88,237       88,237                     88,109
#   noise, 16 kHz, 80,011          80,011                     80,011
# Consequence: a recording that is cut at a word's end loses some of it, and durations differ between tools. Pad with silence before encoding.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check av==18.1.0 soundfile==0.14.0 miniaudio==1.71 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import av
import miniaudio
import numpy as np
import soundfile


def pyav(name):
    with av.open(name) as container:
        return np.concatenate([frame.to_ndarray()[0] for frame in container.decode(container.streams.audio[0])])


for kind, rate, samples in (("tone", 16000, 80011), ("syllables", 16000, 32037), ("tone", 16000, 16777), ("tone", 44100, 88237),
                            ("noise", 16000, 80011)):
    times = np.arange(samples) / rate
    sound = {"tone": np.sin(800 * times), "syllables": np.sin(800 * times) * np.sin(8 * np.pi * times).clip(0),
             "noise": np.random.default_rng(0).normal(size=samples) / 5}[kind] / 2
    soundfile.write("a.ogg", sound, rate, format="OGG", subtype="VORBIS")
    right, other = soundfile.read("a.ogg", dtype="float32")[0], pyav("a.ogg")
    both = min(len(right), len(other))
    print(f"{kind}, {rate} Hz, {samples}: soundfile {len(right)}, miniaudio {miniaudio.vorbis_read_file('a.ogg').num_frames}, "
          f"PyAV {len(other)}: {1000 * (len(other) - samples) / rate:+.0f} ms,", "the rest is equal"
          if np.abs(right[:both] - other[:both]).max() < 1e-4 else "the rest differs")
PYTHON
diff seen - <<'EXPECTED'
tone, 16000 Hz, 80011: soundfile 80011, miniaudio 80011, PyAV 79755: -16 ms, the rest is equal
syllables, 16000 Hz, 32037: soundfile 32037, miniaudio 32037, PyAV 31781: -16 ms, the rest is equal
tone, 16000 Hz, 16777: soundfile 16777, miniaudio 16777, PyAV 17280: +31 ms, the rest is equal
tone, 44100 Hz, 88237: soundfile 88237, miniaudio 88237, PyAV 88109: -3 ms, the rest is equal
noise, 16000 Hz, 80011: soundfile 80011, miniaudio 80011, PyAV 80011: +0 ms, the rest is equal
EXPECTED
echo "as stated"
