#!/usr/bin/env bash
# lame and twolame bring waves of floats to full scale, each by another factor, and waves of integers not. The manuals do not say so: --scale is 1 by
# default. There is no message.
# Seen with lame 3.100 and twolame 0.4.0 of Debian 12, a tone at 16 kHz, its highest sample behind decoding by mpg123:
#   samples                  lame    twolame
#   16 bits, 0.50            0.48    0.5
#   floats, 0.50             0.95    1.0 (right: 0.5)
#   floats, 0.01             0.95    1.0 (right: 0.01)
# Consequence: faint noise becomes as loud as speech, and pieces of one recording have other levels. Convert to 16 or 24 bits first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and libsndfile1.)
apt-get --quiet=2 download lame=3.100-6 libmp3lame0=3.100-6 twolame=0.4.0-2 libtwolame0=0.4.0-2 mpg123=1.31.2-1+deb12u1 \
  libmpg123-0=1.31.2-1+deb12u1 libout123-0=1.31.2-1+deb12u1 libsyn123-0=1.31.2-1+deb12u1 libsndfile1=1.2.0-1+deb12u1 libflac12=1.4.2+ds-2 \
  sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
# The middle of the sound, where no encoder has overshoots.
highest() { sox -V1 "$1" -n trim 0.5 0.5 stat 2>&1 | awk '/^Maximum amplitude/ { printf "%.2f", $3 }'; }
for volume in 0.5 0.1 0.01; do
  for encoding in "signed-integer -b 16" "signed-integer -b 24" "float -b 32" "float -b 64"; do
    read -r -a words <<<"$encoding"
    sox -R -r 16000 -n -e "${words[@]}" tone.wav synth 1.5 sine 440 vol "$volume"
    lame --quiet -b 64 tone.wav tone.mp3
    mpg123.bin -q -w lame.wav tone.mp3
    twolame --quiet tone.wav tone.mp2
    mpg123.bin -q -w twolame.wav tone.mp2
    echo "$encoding, $(highest tone.wav): lame $(highest lame.wav), twolame $(highest twolame.wav)"
  done
done | tee seen
diff seen - <<'EXPECTED'
signed-integer -b 16, 0.50: lame 0.48, twolame 0.50
signed-integer -b 24, 0.50: lame 0.48, twolame 0.50
float -b 32, 0.50: lame 0.95, twolame 1.00
float -b 64, 0.50: lame 0.95, twolame 1.00
signed-integer -b 16, 0.10: lame 0.10, twolame 0.10
signed-integer -b 24, 0.10: lame 0.10, twolame 0.10
float -b 32, 0.10: lame 0.95, twolame 1.00
float -b 64, 0.10: lame 0.95, twolame 1.00
signed-integer -b 16, 0.01: lame 0.01, twolame 0.01
signed-integer -b 24, 0.01: lame 0.01, twolame 0.01
float -b 32, 0.01: lame 0.95, twolame 1.00
float -b 64, 0.01: lame 0.95, twolame 1.00
EXPECTED
echo "as stated"
