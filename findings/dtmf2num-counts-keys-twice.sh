#!/usr/bin/env bash
# dtmf2num reads the keys of a telephone (DTMF) in a wave. Of clean tones it counts a key twice or three times, if the tone lasts 0.2 s or longer. Other
# keys are doubled when the tones begin 3 ms later. Tones of 0.1 s are right here. Its manual says that it has been tested with noisy and dirty sound, and
# names no limit of lengths. There is no message.
# Seen with dtmf2num 0.1.1 of Debian 12, keys 0 to 9 at 8 kHz and 16 bits, each tone of two equal sines, then a pause:
#   tone 0.1 s, pause 0.1 s             0123456789
#   tone 0.2 s, pause 0.1 s             01233456789
#   tone 0.2 s, pause 0.1 s, 3 ms late  00123456789
#   tone 0.5 s, pause 0.5 s             01234456789
#   tone 0.5 s, pause 0.5 s, 3 ms late  001234567899
#   tone 1 s, pause 0.5 s, 7 ms late    01233456789
# Consequence: numbers that callers type in recordings of telephone calls are other numbers. Test a program with long tones before you
# take it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download dtmf2num=0.1.1-2 2>/dev/null
dpkg --extract dtmf2num_*.deb "$work"
export PATH=$work/usr/bin:$PATH
cat >keys.py <<'PYTHON'
import math
import struct
import subprocess
import wave

KEYS = "123A456B789C*0#D"
LOW, HIGH = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
RATE = 8000


def read(tone, pause, late):
    samples = [0] * (RATE * late // 1000)
    for key in "0123456789":
        row, column = divmod(KEYS.index(key), 4)
        for i in range(int(RATE * tone)):
            angle = 2 * math.pi * i / RATE
            samples.append(round(8000 * (math.sin(LOW[row] * angle) + math.sin(HIGH[column] * angle))))
        samples += [0] * int(RATE * pause)
    with wave.open("keys.wav", "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    lines = subprocess.run(["dtmf2num", "keys.wav"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [line.split()[-1] for line in lines if line.startswith("- DTMF numbers:")]
    print(f"tone {tone} s, pause {pause} s, {late} ms late: {', '.join(found)}")


for tone, pause in ((0.1, 0.1), (0.2, 0.1), (0.5, 0.5), (1.0, 0.5)):
    for late in (0, 3, 7, 50):
        read(tone, pause, late)
PYTHON
python3 keys.py | tee seen
diff seen - <<'EXPECTED'
tone 0.1 s, pause 0.1 s, 0 ms late: 0123456789
tone 0.1 s, pause 0.1 s, 3 ms late: 0123456789
tone 0.1 s, pause 0.1 s, 7 ms late: 0123456789
tone 0.1 s, pause 0.1 s, 50 ms late: 0123456789
tone 0.2 s, pause 0.1 s, 0 ms late: 01233456789
tone 0.2 s, pause 0.1 s, 3 ms late: 00123456789
tone 0.2 s, pause 0.1 s, 7 ms late: 01233456789
tone 0.2 s, pause 0.1 s, 50 ms late: 0123456789
tone 0.5 s, pause 0.5 s, 0 ms late: 01234456789
tone 0.5 s, pause 0.5 s, 3 ms late: 001234567899
tone 0.5 s, pause 0.5 s, 7 ms late: 0123456789
tone 0.5 s, pause 0.5 s, 50 ms late: 0012334567899
tone 1.0 s, pause 0.5 s, 0 ms late: 01234567789
tone 1.0 s, pause 0.5 s, 3 ms late: 0001234566789
tone 1.0 s, pause 0.5 s, 7 ms late: 01233456789
tone 1.0 s, pause 0.5 s, 50 ms late: 00123456789
EXPECTED
echo "as stated"
