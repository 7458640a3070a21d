#!/usr/bin/env bash
# ch_wave of the Edinburgh Speech Tools resamples with -F. All sound becomes 1.9 dB quieter (four fifths). It becomes 9 to 28 ms longer, and up to
# 13 ms late. The manual says only "resampling will occur", and there is no message. Other operations, as -scale 1, keep level and place.
# Seen with speech-tools 2.5.0 of Debian 12, a wave of 1 s at 16 kHz with a pulse of height 16,000 at 0.5 s:
#   -F 8000     height 12,787, 0.0 ms late, 1.0101 s
#   -F 11025    height 12,798, 2.1 ms late, 1.0094 s
#   -F 22050    height 12,799, 4.4 ms late, 1.0114 s
#   -F 44100    height 12,799, 11.4 ms late, 1.0253 s
#   (sox: height 15,967 to 16,000, 0.0 ms late, 1 s)
# Consequence: labels no longer fit the sound, and parts of a corpus with other sample rates are quieter. Resample with sox.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and speech-tools.)
apt-get --quiet=2 download speech-tools=1:2.5.0-13 libestools2.5=1:2.5.0-13 \
  sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
cat >show.py <<'PYTHON'
import math
import struct
import sys
import wave

if sys.argv[1] == "make":
    pulse = [round(16000 * math.exp(-(((at - 8000) / 16) ** 2))) for at in range(16000)]
    with wave.open("pulse.wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(struct.pack("<16000h", *pulse))
else:
    with wave.open("changed.wav") as file:
        rate, data = file.getframerate(), file.readframes(file.getnframes())
    samples = struct.unpack(f"<{len(data) // 2}h", data)
    power = sum(sample ** 2 for sample in samples)
    place = sum(at * sample ** 2 for at, sample in enumerate(samples)) / power / rate
    late = round((place - 0.5) * 1000, 1) + 0
    print(f"{sys.argv[1]}: height {max(samples)}, {late:.1f} ms late, {len(samples) / rate:.4f} s")
PYTHON
python3 show.py make
{
  ch_wave pulse.wav -scale 1 -otype riff -o changed.wav
  python3 show.py "16000 Hz, ch_wave -scale 1"
  for rate in 8000 11025 22050 44100 48000; do
    ch_wave pulse.wav -F "$rate" -otype riff -o changed.wav
    python3 show.py "$rate Hz, ch_wave"
    sox -D pulse.wav -r "$rate" changed.wav
    python3 show.py "$rate Hz, sox"
  done
} | tee seen
diff seen - <<'EXPECTED'
16000 Hz, ch_wave -scale 1: height 16000, 0.0 ms late, 1.0000 s
8000 Hz, ch_wave: height 12787, 0.0 ms late, 1.0101 s
8000 Hz, sox: height 16000, 0.0 ms late, 1.0000 s
11025 Hz, ch_wave: height 12798, 2.1 ms late, 1.0094 s
11025 Hz, sox: height 15967, 0.0 ms late, 1.0000 s
22050 Hz, ch_wave: height 12799, 4.4 ms late, 1.0114 s
22050 Hz, sox: height 16000, 0.0 ms late, 1.0000 s
44100 Hz, ch_wave: height 12799, 11.4 ms late, 1.0253 s
44100 Hz, sox: height 16000, 0.0 ms late, 1.0000 s
48000 Hz, ch_wave: height 12798, 12.6 ms late, 1.0278 s
48000 Hz, sox: height 16000, 0.0 ms late, 1.0000 s
EXPECTED
echo "as stated"
