#!/usr/bin/env bash
# extractor of Csound's utilities cuts a piece out of a recording. The piece begins 4096 samples of all channels later than asked: 4096 in mono, 2048 in
# stereo. A piece that reaches the end is as much too short; other pieces have the right length. extractor itself prints the right times. The
# usage text and the manual page do not tell of it.
# Seen with csound-utils 6.18.1 of Debian 12, a sweep of 10 s at 16 kHz and 16 bits:
#   asked                   mono                            stereo
#   0 s to 10 s             155904 samples from 4096 on     157952 samples from 2048 on
#   0.25 s to 0.75 s        8000 samples from 8096 on       8000 samples from 6048 on
#   1 s to 2 s              16000 samples from 20096 on     16000 samples from 18048 on
#   9.5 s to 10 s           3904 samples from 156096 on     5952 samples from 154048 on
# Consequence: pieces of speech at 16 kHz are 256 ms late and do not match their texts. Cut with another program.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian package csound-utils.)
version=6.18.1+dfsg-1
apt-get --quiet=2 download csound-utils=1:$version libcsound64-6.0=1:$version 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
cat >pieces.py <<'PYTHON'
import math
import re
import struct
import subprocess
import wave

RATE, SECONDS = 16000, 10


def write(name, channels):
    # A sweep from 300 to 5,000 Hz: each part occurs once.
    with wave.open(name, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(RATE)
        for i in range(RATE * SECONDS):
            t = i / RATE
            sample = round(16000 * math.sin(2 * math.pi * (300 * t + 235 * t * t)))
            file.writeframes(struct.pack("<h", sample) * channels)


def read(name):
    with wave.open(name) as file:
        width = file.getsampwidth() * file.getnchannels()
        return file.readframes(file.getnframes()), width


for name, channels in (("mono", 1), ("stereo", 2)):
    write(f"{name}.wav", channels)
    whole, width = read(f"{name}.wav")
    for begin, end in ((0, 10), (0.25, 0.75), (1, 2), (9.5, 10)):
        command = ["extractor", "-T", str(begin), "-E", str(end), "-o", "piece.wav", f"{name}.wav"]
        result = subprocess.run(command, capture_output=True, check=True)
        said = re.search(rb"from sample (\d+) for (\d+) samples", result.stderr + result.stdout)
        piece, _ = read("piece.wav")
        place = whole.find(piece) // width
        print(f"{name} {begin} to {end} s: {len(piece) // width} samples from {place} on, said {int(said[2])} from {int(said[1])}")
PYTHON
python3 pieces.py | tee seen
diff seen - <<'EXPECTED'
mono 0 to 10 s: 155904 samples from 4096 on, said 160000 from 0
mono 0.25 to 0.75 s: 8000 samples from 8096 on, said 8000 from 4000
mono 1 to 2 s: 16000 samples from 20096 on, said 16000 from 16000
mono 9.5 to 10 s: 3904 samples from 156096 on, said 8000 from 152000
stereo 0 to 10 s: 157952 samples from 2048 on, said 160000 from 0
stereo 0.25 to 0.75 s: 8000 samples from 6048 on, said 8000 from 4000
stereo 1 to 2 s: 16000 samples from 18048 on, said 16000 from 16000
stereo 9.5 to 10 s: 5952 samples from 154048 on, said 8000 from 152000
EXPECTED
echo "as stated"
