#!/usr/bin/env bash
# soundfile.read(file, start=...) of an Ogg Vorbis file returns other samples than those from start on, where start lies near the end of the
# file: they are up to 21 ms later in the sound than asked for. The whole file, and earlier parts, are right. Opus and FLAC are right
# everywhere. There is no message.
# Seen with soundfile 0.14.0 (libsndfile 1.2.2, which writes the files), numpy 2.2.6 on Python 3.11 (x86_64), parts from 100 places:
#   5 s at 16 kHz       14 of 100 wrong, from 4.1 s on, 117 samples (7 ms) too late
#   10 s at 16 kHz      19 of 100 wrong, from 8.0 s on, 245 samples (15 ms) too late
#   5 s at 44.1 kHz     32 of 100 wrong, from 2.7 s on, 225 samples (5 ms) too late
#   10 s at 44.1 kHz    19 of 100 wrong, from 7.6 s on, 909 samples (21 ms) too late
# Consequence: utterances near the end of a recording lack their beginning and have sound from behind their end. Read the whole file and cut.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.14.0 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import numpy as np
import soundfile


def later(part, whole, start):
    """Returns by how many samples the part is later in the sound than its start, from -1000 to 1000."""
    windows = np.lib.stride_tricks.sliding_window_view(whole[start - 1000:start + 3000], len(part))
    return int(np.argmin(np.abs(windows - part).max(axis=1))) - 1000


for seconds, rate, form, subtype in ((5, 16000, "OGG", "VORBIS"), (10, 16000, "OGG", "VORBIS"), (5, 44100, "OGG", "VORBIS"),
                                     (10, 44100, "OGG", "VORBIS"), (5, 16000, "OGG", "OPUS"), (5, 16000, "FLAC", "PCM_16")):
    times = np.arange(seconds * rate + 11) / rate
    soundfile.write("a", np.sin(800 * times ** 1.3) * np.sin(8 * np.pi * times).clip(0) / 2, rate, format=form, subtype=subtype)
    whole = soundfile.read("a", dtype="float32")[0]
    wrong = []
    for start in np.linspace(1000, len(whole) - 4000, 100).astype(int):
        part = soundfile.read("a", start=start, frames=2000, dtype="float32")[0]
        if np.abs(part - whole[start:start + 2000]).max() > 0.01:
            wrong.append((start / rate, later(part, whole, start)))
    print(f"{subtype}, {seconds} s at {rate} Hz: {len(wrong)} of 100 parts are wrong" +
          (f", from {wrong[0][0]:.1f} s on, later by {sorted({shift for _, shift in wrong})} samples" if wrong else ""))
PYTHON
diff seen - <<'EXPECTED'
VORBIS, 5 s at 16000 Hz: 14 of 100 parts are wrong, from 4.1 s on, later by [117] samples
VORBIS, 10 s at 16000 Hz: 19 of 100 parts are wrong, from 8.0 s on, later by [245] samples
VORBIS, 5 s at 44100 Hz: 32 of 100 parts are wrong, from 2.7 s on, later by [225] samples
VORBIS, 10 s at 44100 Hz: 19 of 100 parts are wrong, from 7.6 s on, later by [909] samples
OPUS, 5 s at 16000 Hz: 0 of 100 parts are wrong
PCM_16, 5 s at 16000 Hz: 0 of 100 parts are wrong
EXPECTED
echo "as stated"
