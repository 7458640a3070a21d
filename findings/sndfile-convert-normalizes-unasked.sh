#!/usr/bin/env bash
# sndfile-convert has an option -normalize. Without it, sound of integers that becomes floats, Vorbis or Opus is still brought to full scale: each
# file by another factor. Between integers, and from floats to others, samples stay. The manual says nothing of this, and there is no message.
# Seen with sndfile-programs 1.2.0 of Debian 12, highest samples of a file, as parts of full scale:
#   16 bits to 24 bits    0.2500 -> 0.2500
#   16 bits to floats     0.2500 -> 1.0000 (right: 0.2500)
#   16 bits to floats     0.0100 -> 1.0000 (right: 0.0100)
#   16 bits to Vorbis     0.2500 -> 1.0
#   mu-law to floats      0.2500 -> 1.0000
# Consequence: levels of recordings are lost, quiet noise is as loud as speech, and parts of one recording no longer fit. Use sox, or go through
# sndfile-concat, which keeps the samples.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and sndfile-programs.)
apt-get --quiet=2 download sndfile-programs=1.2.0-1+deb12u1 libsndfile1=1.2.0-1+deb12u1 libflac12=1.4.2+ds-2 \
  sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
highest() { sox "$1" -n stat 2>&1 | awk '/^Maximum amplitude/ { printf "%.2f", $3 }'; }
{
  for volume in 0.25 0.01; do
    sox -R -r 16000 -n -b 16 speech.wav synth 1 sine 440 vol "$volume"
    sox speech.wav -e mu-law law.wav
    sox speech.wav -e float -b 32 floats.wav
    for encoding in pcm16 pcm24 ulaw float32 float64; do
      sndfile-convert "-$encoding" speech.wav result.wav
      echo "16 bits as $encoding: $(highest speech.wav) -> $(highest result.wav)"
    done
    sndfile-convert -vorbis speech.wav result.ogg
    sndfile-convert -pcm16 result.ogg result.wav
    echo "16 bits as vorbis: $(highest speech.wav) -> $(highest result.wav | cut -c 1-3)"
    sndfile-convert -float32 law.wav result.wav
    echo "mu-law as float32: $(highest law.wav) -> $(highest result.wav)"
    sndfile-convert -pcm16 floats.wav result.wav
    echo "floats as pcm16: $(highest floats.wav) -> $(highest result.wav)"
    sndfile-convert -pcm16 -normalize floats.wav result.wav
    echo "floats as pcm16 with -normalize: $(highest floats.wav) -> $(highest result.wav)"
  done
} | tee seen
diff seen - <<'EXPECTED'
16 bits as pcm16: 0.25 -> 0.25
16 bits as pcm24: 0.25 -> 0.25
16 bits as ulaw: 0.25 -> 0.25
16 bits as float32: 0.25 -> 1.00
16 bits as float64: 0.25 -> 1.00
16 bits as vorbis: 0.25 -> 1.0
mu-law as float32: 0.25 -> 1.00
floats as pcm16: 0.25 -> 0.25
floats as pcm16 with -normalize: 0.25 -> 1.00
16 bits as pcm16: 0.01 -> 0.01
16 bits as pcm24: 0.01 -> 0.01
16 bits as ulaw: 0.01 -> 0.01
16 bits as float32: 0.01 -> 1.00
16 bits as float64: 0.01 -> 1.00
16 bits as vorbis: 0.01 -> 1.0
mu-law as float32: 0.01 -> 1.00
floats as pcm16: 0.01 -> 0.01
floats as pcm16 with -normalize: 0.01 -> 1.00
EXPECTED
echo "as stated"
