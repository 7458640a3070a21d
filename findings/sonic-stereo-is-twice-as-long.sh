#!/usr/bin/env bash
# The program sonic makes speech faster or slower. Stereo becomes a mono file of both channels' samples in turn: twice as long, an octave lower, also
# with -s 1. Tags behind the sound become sound: a title of 400 bytes is a crack of 13 ms at the end. There is no message. (Waves with tags before
# the sound become empty, with a message.)
# Seen with sonic 0.2.0 of Debian 12, a tone of 440 Hz, 3 s at 16 kHz, height 0.30:
#   mono, -s 1                    1 channel, 3.000 s, 440 Hz
#   stereo, -s 1                  1 channel, 6.000 s, 220 Hz
#   stereo, -s 2                  1 channel, 3.000 s
#   mono, tags behind it, -s 1    1 channel, 3.013 s, height 0.93
# Consequence: stereo with -s 2 lasts as long as before. Take one channel, and leave out all tags, with sox and --comment "" before sonic.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and sonic.)
apt-get --quiet=2 download sonic=0.2.0-12 libsonic0=0.2.0-12 sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
sox -D -R -r 16000 -n -b 16 mono.wav synth 3 sine 440 vol 0.3
sox -D mono.wav mono22.wav rate 22050
sox -D mono.wav stereo.wav remix 1 1
cat >tag.py <<'PYTHON'
import struct

with open("mono.wav", "rb") as file:
    wave = file.read()
tags = b"LIST" + struct.pack("<I", 412) + b"INFOINAM" + struct.pack("<I", 400) + b"An interview, " * 28 + bytes(8)
head, data = wave[12:36], wave[36:]
assert data[:4] == b"data"
body = b"WAVE" + head + data + tags
with open("behind.wav", "wb") as file:
    file.write(b"RIFF" + struct.pack("<I", len(body)) + body)
PYTHON
python3 tag.py
show() {
  sox -V1 "$2" -n stat 2>statistics
  echo "$1: $(soxi -V1 -c "$2") channels, $(LC_ALL=C printf %.3f "$(soxi -V1 -D "$2")") s," \
    "$(awk '/^Maximum amplitude/ { printf "height %.2f", $3 }' statistics)"
}
frequency() { sox -V1 "$1" -n sinc -1000 stat 2>&1 | awk '/^Rough/ { print "about", int($3 / 20 + 0.5) * 20, "Hz" }'; }
{
  for name in mono mono22 stereo behind; do
    show "$name" "$name.wav"
    for speed in 1 1.5 2; do
      sonic -s "$speed" "$name.wav" changed.wav >messages 2>&1
      show "$name, -s $speed" changed.wav
      grep --invert-match "^Setting speed to" messages || true
    done
  done
  sonic -s 1 mono.wav changed.wav >/dev/null 2>&1
  echo "mono, -s 1: $(frequency changed.wav)"
  sonic -s 1 stereo.wav changed.wav >/dev/null 2>&1
  echo "stereo, -s 1: $(frequency changed.wav)"
} | tee seen
diff seen - <<'EXPECTED'
mono: 1 channels, 3.000 s, height 0.30
mono, -s 1: 1 channels, 3.000 s, height 0.30
mono, -s 1.5: 1 channels, 2.000 s, height 0.30
mono, -s 2: 1 channels, 1.500 s, height 0.30
mono22: 1 channels, 3.000 s, height 0.30
mono22, -s 1: 1 channels, 3.000 s, height 0.30
mono22, -s 1.5: 1 channels, 1.999 s, height 0.30
mono22, -s 2: 1 channels, 1.500 s, height 0.30
stereo: 2 channels, 3.000 s, height 0.30
stereo, -s 1: 1 channels, 6.000 s, height 0.30
stereo, -s 1.5: 1 channels, 4.000 s, height 0.30
stereo, -s 2: 1 channels, 3.000 s, height 0.30
behind: 1 channels, 3.000 s, height 0.30
behind, -s 1: 1 channels, 3.013 s, height 0.93
behind, -s 1.5: 1 channels, 2.009 s, height 0.93
behind, -s 2: 1 channels, 1.507 s, height 0.93
mono, -s 1: about 440 Hz
stereo, -s 1: about 220 Hz
EXPECTED
echo "as stated"
