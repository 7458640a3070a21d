#!/usr/bin/env bash
# soundfile.read(file, start=...) of an MP3 with a variable bit rate may begin with silence. A frame of an MP3 uses bits of frames before it,
# and libsndfile goes back too few of them. Of the tone below, 0.28 s are nearly silent where a part begins, and of syllables as much. The
# whole file, parts from its beginning, constant bit rates and loud noise are right, and so is miniaudio's stream from the same sample.
# There is no exception; libmpg123 writes a line to the standard error for some parts.
# Seen with soundfile 0.14.0 (libsndfile 1.2.2, which writes the files), miniaudio 1.71, numpy 2.2.6 on Python 3.11 (x86_64), 10 s at 16 kHz,
# parts of 1 s:
#   start                      0        16,000                            80,000
#   tone, variable rate        right    4,423 samples, level 0.06 of 0.35    4,382 samples, level 0.10 of 0.36
#   syllables, variable rate   right    4,227 samples, level 0.01 of 0.17    1,981 samples, level 0.00 of 0.25
#   tone, constant rate        right    right                             right
# Consequence: programs that cut utterances out of long MP3s lose their first words. Read the whole file, or begin 0.5 s earlier and cut.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.14.0 miniaudio==1.71 numpy==2.2.6
venv/bin/python - 2>messages <<'PYTHON' | tee seen
import miniaudio
import numpy as np
import soundfile

RATE = 16000
times = np.arange(10 * RATE) / RATE
tone = np.sin(800 * times) / 2


def wrong(part, right):
    different = np.flatnonzero(np.abs(part - right) > 0.01)
    return different[-1] + 1 if len(different) else 0


def stream(start):
    return np.array(next(miniaudio.stream_file("a.mp3", miniaudio.SampleFormat.FLOAT32, 1, RATE, frames_to_read=RATE, seek_frame=start)))


for name, sound, mode in (("tone", tone, "VARIABLE"), ("tone", tone, "CONSTANT"),
                          ("syllables", tone * np.sin(8 * np.pi * times).clip(0), "VARIABLE"),
                          ("noise", np.random.default_rng(0).normal(size=len(times)) / 10, "VARIABLE")):
    soundfile.write("a.mp3", sound, RATE, format="MP3", bitrate_mode=mode, compression_level=0.5)
    whole = soundfile.read("a.mp3", dtype="float32")[0]
    seen = []
    for start in (0, 16000, 80000):
        part = soundfile.read("a.mp3", start=start, frames=RATE, dtype="float32")[0]
        right = whole[start:start + RATE]
        count = wrong(part, right)
        level = f"level {part[:count].std():.2f} for {right[:count].std():.2f}" if count else "right"
        seen.append(f"{start}: {count} wrong, {level}; miniaudio {wrong(stream(start), right)}")
    print(name, mode, "|", " | ".join(seen))
PYTHON
diff seen - <<'EXPECTED'
tone VARIABLE | 0: 0 wrong, right; miniaudio 0 | 16000: 4423 wrong, level 0.06 for 0.35; miniaudio 0 | 80000: 4382 wrong, level 0.10 for 0.36; miniaudio 0
tone CONSTANT | 0: 0 wrong, right; miniaudio 0 | 16000: 0 wrong, right; miniaudio 0 | 80000: 0 wrong, right; miniaudio 0
syllables VARIABLE | 0: 0 wrong, right; miniaudio 0 | 16000: 4227 wrong, level 0.01 for 0.17; miniaudio 0 | 80000: 1981 wrong, level 0.00 for 0.25; miniaudio 0
noise VARIABLE | 0: 0 wrong, right; miniaudio 0 | 16000: 0 wrong, right; miniaudio 0 | 80000: 0 wrong, right; miniaudio 0
EXPECTED
echo "as stated"
