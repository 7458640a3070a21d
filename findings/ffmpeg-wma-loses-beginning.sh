#!/usr/bin/env bash
# FFmpeg's encoders of WMA and its decoders do not agree on where the sound begins. Of a file that FFmpeg makes FFmpeg reads the sound without its
# first 32 to 64 ms, and all later sound that much earlier. There is no message. Opus loses nothing.
# Seen with FFmpeg 5.1.9 of Debian 12, clicks at 0.02 s and 1 s, wmav1 and wmav2:
#   8 kHz               64 ms lost
#   16 kHz              32 ms
#   22.05, 44.1 kHz     46 ms
# Consequence: the first sounds of short commands are gone, and times of words are early. Take Opus.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ffmpeg_version=7:5.1.9-0+deb12u1
# (apt-get update before; other libraries are those of the Debian package ffmpeg.)
apt-get --quiet=2 download "ffmpeg=$ffmpeg_version" "libavcodec59=$ffmpeg_version" "libavdevice59=$ffmpeg_version" \
  "libavfilter8=$ffmpeg_version" "libavformat59=$ffmpeg_version" "libavutil57=$ffmpeg_version" "libpostproc56=$ffmpeg_version" \
  "libswresample4=$ffmpeg_version" "libswscale6=$ffmpeg_version" 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
cat >show.py <<'SCRIPT'
import array
import sys

name, rate = sys.argv[1], int(sys.argv[2])
samples = array.array("h", open("out.raw", "rb").read())
first = max(map(abs, samples[:rate // 10]))
late = max(range(rate // 2, len(samples)), key=lambda at: abs(samples[at])) - rate
print(f"{name}, {rate} Hz: the click at 0.02 s is {'there' if first > 3000 else 'lost'}, that at 1 s is {round(-1000 * late / rate)} ms early")
SCRIPT
for rate in 8000 16000 22050 44100; do
  ffmpeg -v error -y -f lavfi -i "aevalsrc=0.001*(random(0)-0.5)+if(between(t\,0.02\,0.0201)+between(t\,1\,1.0001)\,0.5\,0):s=$rate:d=2" click.wav
  for encoder in wmav1 wmav2; do
    ffmpeg -v error -y -i click.wav -c:a "$encoder" click.wma
    ffmpeg -v error -y -i click.wma -f s16le out.raw
    python3 show.py "$encoder" "$rate"
  done
  ffmpeg -v error -y -i click.wav -c:a libopus click.opus
  ffmpeg -v error -y -i click.opus -ar "$rate" -f s16le out.raw
  python3 show.py opus "$rate"
done | tee seen
diff seen - <<'EXPECTED'
wmav1, 8000 Hz: the click at 0.02 s is lost, that at 1 s is 64 ms early
wmav2, 8000 Hz: the click at 0.02 s is lost, that at 1 s is 64 ms early
opus, 8000 Hz: the click at 0.02 s is there, that at 1 s is 0 ms early
wmav1, 16000 Hz: the click at 0.02 s is lost, that at 1 s is 32 ms early
wmav2, 16000 Hz: the click at 0.02 s is lost, that at 1 s is 32 ms early
opus, 16000 Hz: the click at 0.02 s is there, that at 1 s is 0 ms early
wmav1, 22050 Hz: the click at 0.02 s is lost, that at 1 s is 46 ms early
wmav2, 22050 Hz: the click at 0.02 s is lost, that at 1 s is 46 ms early
opus, 22050 Hz: the click at 0.02 s is there, that at 1 s is 0 ms early
wmav1, 44100 Hz: the click at 0.02 s is lost, that at 1 s is 46 ms early
wmav2, 44100 Hz: the click at 0.02 s is lost, that at 1 s is 46 ms early
opus, 44100 Hz: the click at 0.02 s is there, that at 1 s is 0 ms early
EXPECTED
echo "as stated"
