#!/usr/bin/env bash
# G.722 is a code of speech at 16 kHz. FFmpeg's encoder takes samples of any rate as they are, and a .g722 file has no header: it is read as 16 kHz.
# Telephone speech of 8 kHz becomes twice as fast and an octave higher, and 44.1 kHz 2.8 times as slow. There is no message.
# Seen with FFmpeg 5.1.9, SoX 14.4.2 of Debian 12, 1 s of a tone of 440 Hz:
#   8 kHz        0.5 s, 875 Hz
#   16 kHz       1 s, 439 Hz
#   44.1 kHz     2.76 s, 159 Hz
# Consequence: write -ar 16000 for each .g722 file.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ffmpeg_version=7:5.1.9-0+deb12u1
# (apt-get update before; other libraries are those of the Debian packages ffmpeg and sox.)
apt-get --quiet=2 download sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 \
  "ffmpeg=$ffmpeg_version" "libavcodec59=$ffmpeg_version" "libavdevice59=$ffmpeg_version" \
  "libavfilter8=$ffmpeg_version" "libavformat59=$ffmpeg_version" "libavutil57=$ffmpeg_version" "libpostproc56=$ffmpeg_version" \
  "libswresample4=$ffmpeg_version" "libswscale6=$ffmpeg_version" 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
show() {
  ffmpeg -v error -y -i "$2" tone.wav
  echo "$1: $(soxi -D tone.wav) s, $(sox tone.wav -n stat 2>&1 | awk '/Rough/ { print $3 }') Hz"
}
for rate in 8000 16000 44100; do
  ffmpeg -v error -y -f lavfi -i "sine=f=440:r=$rate:d=1" tone.g722
  show "$rate Hz" tone.g722
  ffmpeg -v error -y -f lavfi -i "sine=f=440:r=$rate:d=1" -ar 16000 tone.g722
  show "$rate Hz, with -ar 16000" tone.g722
done | tee seen
diff seen - <<'EXPECTED'
8000 Hz: 0.500000 s, 875 Hz
8000 Hz, with -ar 16000: 1.000000 s, 439 Hz
16000 Hz: 1.000000 s, 439 Hz
16000 Hz, with -ar 16000: 1.000000 s, 439 Hz
44100 Hz: 2.756250 s, 159 Hz
44100 Hz, with -ar 16000: 1.000000 s, 439 Hz
EXPECTED
echo "as stated"
