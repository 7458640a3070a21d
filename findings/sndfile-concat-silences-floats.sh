#!/usr/bin/env bash
# sndfile-concat appends files to each other. Files of floats that come behind a file of integers become silence. Files of another sample rate become
# slower or faster: "The only restriction is that the files must have the same number of channels", says the manual. sndfile-interleave takes sample
# rate and bits of the last file; the manual says, the highest sample rate, and a format for all. There is no message.
# Seen with sndfile-programs 1.2.0 of Debian 12:
#   sndfile-concat of 16 bits and floats         the second half is 0.00 (right: 0.50)
#   sndfile-concat of 16 kHz and 8 kHz, 1 s each 1.5 s at 16 kHz (right: 2 s)
#   sndfile-interleave of 16 kHz and 8 kHz       2 s at 8 kHz (right: 1 s at 16 kHz)
#   sndfile-interleave of 24 bits and 8 bits     8 bits (right: 24)
# Consequence: joined recordings lose whole parts, or have them at another speed. Give all files one encoding and one rate first, with sox.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and sndfile-programs.)
apt-get --quiet=2 download sndfile-programs=1.2.0-1+deb12u1 libsndfile1=1.2.0-1+deb12u1 libflac12=1.4.2+ds-2 \
  sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
tone() { sox -R -r "$1" -n "${@:3}" "$2.wav" synth 1 sine 440 vol 0.5; }
tone 16000 floats -e float -b 32
tone 16000 bits16 -b 16
tone 16000 bits24 -b 24
tone 16000 bits8 -b 8
tone 8000 slow -b 16
highest() { sox -V1 "$@" stat 2>&1 | awk '/^Maximum amplitude/ { printf "%.2f", $3 }'; }
{
  for pair in "bits16 bits24" "bits24 bits16" "bits16 floats" "bits24 floats" "bits8 floats" "floats bits16" "bits16 slow" "slow bits16"; do
    read -r first second <<<"$pair"
    sndfile-concat "$first.wav" "$second.wav" joined.wav
    echo "concat $pair: highest $(highest joined.wav -n trim 0 0.9), then $(highest joined.wav -n trim 1.1)," \
      "$(soxi -V1 -D joined.wav) s at $(soxi -V1 -r joined.wav) Hz"
  done
  for pair in "bits16 slow" "slow bits16" "bits24 bits8" "bits8 bits24"; do
    read -r first second <<<"$pair"
    sndfile-interleave "$first.wav" "$second.wav" -o joined.wav
    echo "interleave $pair: $(soxi -V1 -D joined.wav) s at $(soxi -V1 -r joined.wav) Hz, $(soxi -V1 -b joined.wav) bits"
  done
} | tee seen
diff seen - <<'EXPECTED'
concat bits16 bits24: highest 0.50, then 0.50, 2.000000 s at 16000 Hz
concat bits24 bits16: highest 0.50, then 0.50, 2.000000 s at 16000 Hz
concat bits16 floats: highest 0.50, then 0.00, 2.000000 s at 16000 Hz
concat bits24 floats: highest 0.50, then 0.00, 2.000000 s at 16000 Hz
concat bits8 floats: highest 0.51, then 0.00, 2.000000 s at 16000 Hz
concat floats bits16: highest 0.50, then 0.50, 2.000000 s at 16000 Hz
concat bits16 slow: highest 0.50, then 0.50, 1.500000 s at 16000 Hz
concat slow bits16: highest 0.50, then 0.50, 3.000000 s at 8000 Hz
interleave bits16 slow: 2.000000 s at 8000 Hz, 16 bits
interleave slow bits16: 1.000000 s at 16000 Hz, 16 bits
interleave bits24 bits8: 1.000000 s at 16000 Hz, 8 bits
interleave bits8 bits24: 1.000000 s at 16000 Hz, 24 bits
EXPECTED
echo "as stated"
