#!/usr/bin/env bash
# soundstretch of SoundTouch changes tempo and pitch of waves. It takes floats, mu-law and A-law for integers, and writes them as integers: noise that
# is louder than the speech. There is no message, and the return code is 0. Waves of 8, 16, 24 and 32 bits are right.
# Seen with soundstretch 2.3.2 of Debian 12, -tempo=+50, a tone of 440 Hz of RMS 0.354, 1 s at 16 kHz:
#   16, 24 or 32 bits    RMS 0.354
#   8 bits               RMS 0.357
#   floats of 32 bits    RMS 0.499, 32-bit integers
#   mu-law               RMS 0.586, 8-bit integers
#   A-law                RMS 0.554, 8-bit integers
# (sox reads RMS 0.353 to 0.355 in each file. Floats of 64 bits are an error.)
# Consequence: speech for augmentation becomes noise, and telephone speech too. Convert to 16-bit linear samples with sox first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and soundstretch.)
apt-get --quiet=2 download soundstretch=2.3.2+ds1-1 libsoundtouch1=2.3.2+ds1-1 \
  sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
loudness() { sox -V1 "$1" -n stat 2>&1 | awk '/^RMS +amplitude/ { printf "%.3f", $3 }'; }
show() {
  sox -R -r 16000 -n "${@:2}" tone.wav synth 1 sine 440 vol 0.5
  soundstretch tone.wav faster.wav -tempo=+50 >messages 2>&1
  echo "$1: RMS $(loudness tone.wav), behind soundstretch $(loudness faster.wav)," \
    "$(soxi -V1 -b faster.wav) bits, $(soxi -V1 -e faster.wav), $(grep --count -i -E "warn|error|support" messages) messages"
}
{
  show "8 bits" -b 8
  show "16 bits" -b 16
  show "24 bits" -b 24
  show "32 bits" -b 32
  show "floats of 32 bits" -e float -b 32
  show "mu-law" -e mu-law
  show "A-law" -e a-law
} | tee seen
diff seen - <<'EXPECTED'
8 bits: RMS 0.354, behind soundstretch 0.357, 8 bits, Unsigned Integer PCM, 0 messages
16 bits: RMS 0.354, behind soundstretch 0.354, 16 bits, Signed Integer PCM, 0 messages
24 bits: RMS 0.354, behind soundstretch 0.354, 24 bits, Signed Integer PCM, 0 messages
32 bits: RMS 0.354, behind soundstretch 0.354, 32 bits, Signed Integer PCM, 0 messages
floats of 32 bits: RMS 0.354, behind soundstretch 0.499, 32 bits, Signed Integer PCM, 0 messages
mu-law: RMS 0.355, behind soundstretch 0.586, 8 bits, Unsigned Integer PCM, 0 messages
A-law: RMS 0.353, behind soundstretch 0.554, 8 bits, Unsigned Integer PCM, 0 messages
EXPECTED
echo "as stated"
