#!/usr/bin/env bash
# ch_wave of the Edinburgh Speech Tools takes other codes for samples. A-law waves and AIFF files of 8 bits become loud noise. SPHERE files of 8 and
# 32 bits and waves of 24 bits become noise, too. There is no message. Waves of floats are noise with a line "unknown sample format", and 8 bits that
# it writes with -ostype byte are noise with a warning; the return code is 0. Mu-law and waves of 8 bits are right.
# Seen with speech-tools 2.5.0 of Debian 12, a tone of 440 Hz, RMS 0.354, which sox reads so in each file:
#   wave of 16 bits, 8 bits, mu-law   RMS 0.354 or 0.355
#   wave of A-law                     RMS 0.866
#   AIFF of 8 bits                    RMS 0.699
#   SPHERE of 8 bits                  RMS 0.249
#   SPHERE of 32 bits                 RMS 0.485
#   wave of 24 bits                   RMS 0.503
#   written with -ostype byte         RMS 0.702
# Consequence: telephone speech becomes noise in corpora of synthesis. Convert all files to 16-bit linear samples with sox first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and speech-tools.)
apt-get --quiet=2 download speech-tools=1:2.5.0-13 libestools2.5=1:2.5.0-13 \
  sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
loudness() { sox -V1 "$1" -n stat 2>&1 | awk '/^RMS +amplitude/ { printf "%.3f", $3 }'; }
read_tone() {
  sox -R -r 16000 -n "${@:3}" "tone.$2" synth 1 sine 440 vol 0.5
  ch_wave "tone.$2" -otype riff -o read.wav >messages 2>&1
  echo "$1: sox $(loudness "tone.$2"), ch_wave $(loudness read.wav), $(soxi -V1 -s read.wav) samples, $(wc -l <messages) lines of messages"
}
write_tone() {
  ch_wave tone.wav -otype riff -ostype "$1" -o written.wav >messages 2>&1
  echo "written as $1: sox $(loudness written.wav), $(wc -l <messages) lines of messages"
}
{
  read_tone "wave of 8 bits" wav -b 8
  read_tone "wave of mu-law" wav -e mu-law
  read_tone "wave of A-law" wav -e a-law
  read_tone "AIFF of 16 bits" aiff -b 16
  read_tone "AIFF of 8 bits" aiff -b 8
  read_tone "SPHERE of 16 bits" sph -b 16
  read_tone "SPHERE of mu-law" sph -e mu-law
  read_tone "SPHERE of 8 bits" sph -b 8
  read_tone "SPHERE of 32 bits" sph -b 32
  read_tone "wave of 24 bits" wav -t wavpcm -b 24
  read_tone "wave of floats" wav -e float -b 32
  read_tone "wave of 16 bits" wav -b 16
  write_tone short
  write_tone mulaw
  write_tone alaw
  write_tone byte
} | tee seen
diff seen - <<'EXPECTED'
wave of 8 bits: sox 0.354, ch_wave 0.354, 16000 samples, 0 lines of messages
wave of mu-law: sox 0.355, ch_wave 0.355, 16000 samples, 0 lines of messages
wave of A-law: sox 0.353, ch_wave 0.866, 16000 samples, 0 lines of messages
AIFF of 16 bits: sox 0.354, ch_wave 0.354, 16000 samples, 0 lines of messages
AIFF of 8 bits: sox 0.354, ch_wave 0.699, 16000 samples, 0 lines of messages
SPHERE of 16 bits: sox 0.354, ch_wave 0.354, 16000 samples, 0 lines of messages
SPHERE of mu-law: sox 0.355, ch_wave 0.355, 16000 samples, 0 lines of messages
SPHERE of 8 bits: sox 0.354, ch_wave 0.249, 16000 samples, 0 lines of messages
SPHERE of 32 bits: sox 0.354, ch_wave 0.485, 16000 samples, 0 lines of messages
wave of 24 bits: sox 0.354, ch_wave 0.503, 16000 samples, 0 lines of messages
wave of floats: sox 0.354, ch_wave 0.530, 16000 samples, 1 lines of messages
wave of 16 bits: sox 0.354, ch_wave 0.354, 16000 samples, 0 lines of messages
written as short: sox 0.354, 0 lines of messages
written as mulaw: sox 0.355, 0 lines of messages
written as alaw: sox 0.358, 0 lines of messages
written as byte: sox 0.702, 3 lines of messages
EXPECTED
echo "as stated"
