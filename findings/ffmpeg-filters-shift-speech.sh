#!/usr/bin/env bash
# Filters of FFmpeg for denoising and equalizing give the sound later than they take it. The output is as long as the input: silence is at its
# beginning, and the end of the sound is lost. Their documentation does not say so, and there is no message. dynaudnorm does not shift.
# Seen with FFmpeg 5.1.9 of Debian 12, a click at 1 s and one 2 ms before the end, which is lost in all four:
#                      8 kHz          16 kHz         48 kHz
#   afftdn             25 ms late     25 ms late     25 ms late
#   anlmdn             8 ms           8 ms           8 ms
#   dialoguenhance     192 ms         96 ms          32 ms
#   superequalizer     512 ms         256 ms         85 ms
# Consequence: words that are recognized in the filtered sound are later than in the recording, and the last one is cut. Put apad before the
# filter, and atrim behind it.
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
samples = array.array("f", open("out.raw", "rb").read())
loud = max(range(len(samples) - rate // 10), key=lambda at: abs(samples[at]))
end = max(map(abs, samples[-rate // 10:]))
late = 1000 * loud / rate - 1000
print(f"{name}, {rate} Hz: {len(samples)} samples, click at 1 s is {late:.0f} ms late, that at the end is {'there' if end > 0.05 else 'lost'}")
SCRIPT
for rate in 8000 16000 48000; do
  clicks="0.0001*(random(0)-0.5)+if(between(t\,1\,1.0001)+between(t\,2.998\,2.9981)\,0.5\,0)"
  ffmpeg -v error -y -f lavfi -i "aevalsrc=$clicks:s=$rate:d=3" -c:a pcm_f32le click.wav
  for filter in afftdn anlmdn dialoguenhance superequalizer dynaudnorm; do
    ffmpeg -v error -y -i click.wav -af "$filter" -ac 1 -f f32le out.raw
    python3 show.py "$filter" "$rate"
  done
  ffmpeg -v error -y -i click.wav -af apad=pad_dur=0.6,afftdn,atrim=start=0.025:end=3.025 -f f32le out.raw
  python3 show.py "with apad and atrim" "$rate"
done | tee seen
diff seen - <<'EXPECTED'
afftdn, 8000 Hz: 24000 samples, click at 1 s is 25 ms late, that at the end is lost
anlmdn, 8000 Hz: 24000 samples, click at 1 s is 8 ms late, that at the end is lost
dialoguenhance, 8000 Hz: 24000 samples, click at 1 s is 192 ms late, that at the end is lost
superequalizer, 8000 Hz: 24000 samples, click at 1 s is 512 ms late, that at the end is lost
dynaudnorm, 8000 Hz: 24000 samples, click at 1 s is 0 ms late, that at the end is there
with apad and atrim, 8000 Hz: 24000 samples, click at 1 s is 0 ms late, that at the end is there
afftdn, 16000 Hz: 48000 samples, click at 1 s is 25 ms late, that at the end is lost
anlmdn, 16000 Hz: 48000 samples, click at 1 s is 8 ms late, that at the end is lost
dialoguenhance, 16000 Hz: 48000 samples, click at 1 s is 96 ms late, that at the end is lost
superequalizer, 16000 Hz: 48000 samples, click at 1 s is 256 ms late, that at the end is lost
dynaudnorm, 16000 Hz: 48000 samples, click at 1 s is 0 ms late, that at the end is there
with apad and atrim, 16000 Hz: 48000 samples, click at 1 s is 0 ms late, that at the end is there
afftdn, 48000 Hz: 144000 samples, click at 1 s is 25 ms late, that at the end is lost
anlmdn, 48000 Hz: 144000 samples, click at 1 s is 8 ms late, that at the end is lost
dialoguenhance, 48000 Hz: 144000 samples, click at 1 s is 32 ms late, that at the end is lost
superequalizer, 48000 Hz: 144000 samples, click at 1 s is 85 ms late, that at the end is lost
dynaudnorm, 48000 Hz: 144000 samples, click at 1 s is 0 ms late, that at the end is there
with apad and atrim, 48000 Hz: 144000 samples, click at 1 s is 0 ms late, that at the end is there
EXPECTED
echo "as stated"
