#!/usr/bin/env bash
# mixer of Csound's utilities puts recordings into one file, each from a time on (-T, or -S in samples). Where no recording sounds, it writes no
# samples: pauses are left out, and later recordings move towards the beginning. A first recording from 0.5 s on begins at 0. The usage text and the
# manual page call it the time at which to insert a file, or to start to mix it in. There is no message.
# Seen with csound-utils 6.18.1 of Debian 12, recordings of one second at 16 kHz:
#   times asked           samples, times of the recordings
#   0.5 s                 16000, 0 s
#   0 s, 3 s              32000, 0 s and 1 s (3 s asked)
#   0.5 s, 3 s            32000, 0 s and 1 s
#   0 s, 0.5 s            24000, 0 s and 0.5 s (right)
#   0 s, 3 s, with 5 s of silence from 0 s on    80000, 0 s and 3 s (right)
# Consequence: a mix of a dialogue has other times than its labels. Mix silence of the whole length with the recordings.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian package csound-utils.)
version=6.18.1+dfsg-1
apt-get --quiet=2 download csound-utils=1:$version libcsound64-6.0=1:$version 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
cat >mix.py <<'PYTHON'
import struct
import subprocess
import wave

RATE = 16000


def write(name, seed, seconds):
    # Noise of small numbers, so that each part occurs once; seed 0 is silence.
    samples = []
    for _ in range(RATE * seconds):
        seed = seed * 1103515245 % 2**31
        samples.append((seed >> 16) % 8192 - 4096 if seed else 0)
    with wave.open(name, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))


def mix(*inputs):
    command = ["mixer", "-W", "-o", "mix.wav"]
    for name, time in inputs:
        command += ["-T", str(time), name]
    subprocess.run(command, capture_output=True, check=True)
    with wave.open("mix.wav") as file:
        data = file.readframes(file.getnframes())
    places = []
    for name, time in inputs:
        if name == "silence.wav":
            continue
        with wave.open(name) as file:
            sound = file.readframes(file.getnframes())
        # The first and the last half second, in which the other one may not sound.
        half = len(sound) // 2
        begin, end = data.find(sound[:half]), data.find(sound[half:])
        place = begin if begin >= 0 else end - half
        places.append(f"{name} {place / 2 / RATE} s")
    asked = ", ".join(f"{name} {time} s" for name, time in inputs)
    print(f"asked {asked}: {len(data) // 2} samples, {', '.join(places)}")


write("a.wav", 1, 1)
write("b.wav", 3, 1)
write("silence.wav", 0, 5)
mix(("a.wav", 0.5))
mix(("a.wav", 0), ("b.wav", 3))
mix(("a.wav", 0.5), ("b.wav", 3))
mix(("a.wav", 0), ("b.wav", 0.5))
mix(("silence.wav", 0), ("a.wav", 0), ("b.wav", 3))
PYTHON
python3 mix.py | tee seen
diff seen - <<'EXPECTED'
asked a.wav 0.5 s: 16000 samples, a.wav 0.0 s
asked a.wav 0 s, b.wav 3 s: 32000 samples, a.wav 0.0 s, b.wav 1.0 s
asked a.wav 0.5 s, b.wav 3 s: 32000 samples, a.wav 0.0 s, b.wav 1.0 s
asked a.wav 0 s, b.wav 0.5 s: 24000 samples, a.wav 0.0 s, b.wav 0.5 s
asked silence.wav 0 s, a.wav 0 s, b.wav 3 s: 80000 samples, a.wav 0.0 s, b.wav 3.0 s
EXPECTED
echo "as stated"
