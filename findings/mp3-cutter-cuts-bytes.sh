#!/usr/bin/env bash
# The npm package mp3-cutter cuts MP3 files "by seconds". It takes the same share of the bytes as of the time, and counts half of the frames at
# 16, 22.05 and 24 kHz, which speech has. There a piece begins twice as late as asked and is twice as long, up to the end of the file. With a
# variable bit rate pieces are seconds off at all sample rates, as silence has few bytes. There is no message.
# Seen with mp3-cutter 1.0.6 on Node 20, FFmpeg 5.1.9 of Debian 12, 20 s, of which the first 10 are noise and the others silence:
#   asked           16 kHz, constant bit rate   44.1 kHz, variable bit rate     right
#   0 s to 10 s     19.9 s, 10.0 s noise        7.2 s, 7.1 s noise              10 s, 10 s noise
#   5 s to 15 s     10.1 s, no noise            8.2 s, 6.4 s noise              10 s, 5 s noise
#   10 s to 20 s    0.1 s                       12.8 s, 2.8 s noise             10 s, no noise
# Consequence: cut with ffmpeg -ss and -to.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" mp3-cutter@1.0.6 >/dev/null
show() {
  sox "$3" loud.wav silence 1 0.1 1% reverse silence 1 0.1 1% 2>/dev/null
  printf '%s, %s: %.1f s, of which %.1f s are noise\n' "$1" "$2" "$(soxi -D "$3")" "$(soxi -D loud.wav)"
}
for kind in "16000 -b:a 64k" "44100 -b:a 64k" "44100 -q:a 4"; do
  read -r rate option value <<<"$kind"
  ffmpeg -v error -y -f lavfi -i "aevalsrc=if(lt(t\,10)\,0.3*(random(0)*2-1)\,0):s=$rate:d=20" -c:a libmp3lame "$option" "$value" noise.mp3
  for times in "0 10" "5 15" "10 20"; do
    read -r start end <<<"$times"
    node -e 'require("mp3-cutter").cut({ src: "noise.mp3", target: "cut.mp3", start: +process.argv[1], end: +process.argv[2] })' "$start" "$end"
    ffmpeg -v quiet -y -i cut.mp3 cut.wav
    show "$rate Hz $option $value" "from $start s to $end s" cut.wav
  done
  ffmpeg -v quiet -y -ss 5 -to 15 -i noise.mp3 cut.wav
  show "$rate Hz $option $value" "from 5 s to 15 s by ffmpeg" cut.wav
done | tee seen
diff seen - <<'EXPECTED'
16000 Hz -b:a 64k, from 0 s to 10 s: 19.9 s, of which 10.0 s are noise
16000 Hz -b:a 64k, from 5 s to 15 s: 10.1 s, of which 0.0 s are noise
16000 Hz -b:a 64k, from 10 s to 20 s: 0.1 s, of which 0.0 s are noise
16000 Hz -b:a 64k, from 5 s to 15 s by ffmpeg: 10.0 s, of which 5.0 s are noise
44100 Hz -b:a 64k, from 0 s to 10 s: 10.0 s, of which 10.0 s are noise
44100 Hz -b:a 64k, from 5 s to 15 s: 10.0 s, of which 5.0 s are noise
44100 Hz -b:a 64k, from 10 s to 20 s: 10.0 s, of which 0.0 s are noise
44100 Hz -b:a 64k, from 5 s to 15 s by ffmpeg: 10.0 s, of which 4.9 s are noise
44100 Hz -q:a 4, from 0 s to 10 s: 7.2 s, of which 7.1 s are noise
44100 Hz -q:a 4, from 5 s to 15 s: 8.2 s, of which 6.4 s are noise
44100 Hz -q:a 4, from 10 s to 20 s: 12.8 s, of which 2.8 s are noise
44100 Hz -q:a 4, from 5 s to 15 s by ffmpeg: 10.0 s, of which 4.9 s are noise
EXPECTED
echo "as stated"
