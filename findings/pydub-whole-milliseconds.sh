#!/usr/bin/env bash
# pydub counts in whole milliseconds: any slice, even [:], has silence added until its last millisecond is full, and the last
# millisecond of a recording cannot be had by [-1]. A recording that is cut and put together again is longer. Seen with pydub 0.25.1, its
# last release, on Python 3.11:
#   8,005 samples at 8 kHz   [:] 8,008 samples, the last 3 are 0   [-1] 0 samples   in pieces of 0.1 s and together: 8,008 samples
# Consequence: times of an alignment do not survive; cut by samples.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pydub==0.25.1 'audioop-lts==0.2.2; python_version >= "3.13"'
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import array

from pydub import AudioSegment

sound = AudioSegment(array.array("h", [1000] * 8005).tobytes(), frame_rate=8000, sample_width=2, channels=1)
whole = sound[:].get_array_of_samples()
print(len(sound.get_array_of_samples()), len(whole), list(whole[-4:]), len(sound[-1].get_array_of_samples()))
joined = sound[:0]
for begin in range(0, 1100, 100):
    joined += sound[begin : begin + 100]
print(len(joined.get_array_of_samples()))
PYTHON
diff seen - <<'EXPECTED'
8005 8008 [1000, 0, 0, 0] 0
8008
EXPECTED
echo "as stated"
