#!/usr/bin/env bash
# lame writes into the first frame of an MP3 where the sound begins and ends, so that decoders leave out its delay. At the bit rates that it takes
# by itself for 8 to 24 kHz the frame is too small, and it writes nothing: the sound begins 1,105 samples late, and ends later still. At 44.1 kHz, or
# with a higher bit rate, it begins at 0. Its manual does not say so, and there is no message. FFmpeg, with lame's library, begins at 0 at any rate.
# Seen with LAME 3.100-6, FFmpeg 5.1.9 of Debian 12, 1 s of sound:
#   lame,          8 kHz        138 ms late, 152 ms longer
#   lame,          16 kHz       69 ms late, 80 ms longer
#   lame,          44.1 kHz     0
#   lame -V 4,     all          0
# Consequence: times of words are late in telephone speech, and right in other recordings. Take -b 64 or -V 4.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get --quiet=2 download lame=3.100-6 2>/dev/null # needs apt-get update before, and the libraries of FFmpeg and SoX
dpkg --extract lame_*.deb "$work"
cat >show.py <<'SCRIPT'
import array
import sys

name, rate = sys.argv[1], int(sys.argv[2])
samples = array.array("h", open("out.raw", "rb").read())
late = max(range(len(samples)), key=lambda at: samples[at]) - rate // 2
late = 0 if abs(late) < 20 else late
print(f"{name}: {1000 * late / rate:.0f} ms late, {1000 * (len(samples) - rate) / rate:.0f} ms longer")
SCRIPT
show() {
  ffmpeg -v error -y -i pulse.mp3 -f s16le out.raw
  python3 show.py "$1" "$2"
}
for rate in 8000 16000 22050 24000 44100; do
  ffmpeg -v error -y -f lavfi -i "aevalsrc=0.5*exp(-pow((t-0.5)*1000\,2))+0.001*(random(0)-0.5):s=$rate:d=1" pulse.wav
  for options in "" "-b 64" "-V 4"; do
    # shellcheck disable=SC2086 # the options are words
    usr/bin/lame --quiet $options pulse.wav pulse.mp3
    show "$rate Hz, lame${options:+ $options}" "$rate"
  done
  ffmpeg -v error -y -i pulse.wav -c:a libmp3lame -b:a 24k pulse.mp3
  show "$rate Hz, FFmpeg 24 kbit/s" "$rate"
done | tee seen
diff seen - <<'EXPECTED'
8000 Hz, lame: 138 ms late, 152 ms longer
8000 Hz, lame -b 64: 0 ms late, 0 ms longer
8000 Hz, lame -V 4: 0 ms late, 0 ms longer
8000 Hz, FFmpeg 24 kbit/s: 0 ms late, 0 ms longer
16000 Hz, lame: 69 ms late, 80 ms longer
16000 Hz, lame -b 64: 0 ms late, 0 ms longer
16000 Hz, lame -V 4: 0 ms late, 0 ms longer
16000 Hz, FFmpeg 24 kbit/s: 0 ms late, 0 ms longer
22050 Hz, lame: 50 ms late, 71 ms longer
22050 Hz, lame -b 64: 0 ms late, 0 ms longer
22050 Hz, lame -V 4: 0 ms late, 0 ms longer
22050 Hz, FFmpeg 24 kbit/s: 0 ms late, 0 ms longer
24000 Hz, lame: 46 ms late, 56 ms longer
24000 Hz, lame -b 64: 0 ms late, 0 ms longer
24000 Hz, lame -V 4: 0 ms late, 0 ms longer
24000 Hz, FFmpeg 24 kbit/s: 0 ms late, 0 ms longer
44100 Hz, lame: 0 ms late, 0 ms longer
44100 Hz, lame -b 64: 0 ms late, 0 ms longer
44100 Hz, lame -V 4: 0 ms late, 0 ms longer
44100 Hz, FFmpeg 24 kbit/s: 0 ms late, 0 ms longer
EXPECTED
echo "as stated"
