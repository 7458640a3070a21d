#!/usr/bin/env bash
# Files of speexenc begin 10 to 14 ms late in speexdec if they are short (0.5 s, and 2 s at 8 kHz and lower quality), and last 5 ms longer. Longer
# ones begin and end as the recording did. There is no message.
# Seen with speex 1.2.1 of Debian 12, noise of 0.3 to 0.7 kHz:
#   8 kHz, 0.5 s          80 samples late, 40 samples longer
#   8 kHz, 3 s            at its place, same length
#   16 kHz, 0.5 s         222 samples late, 80 samples longer
# Consequence: times of words in short commands and in long recordings differ. Cut the beginning of short ones by 80 samples at 8 kHz, or let the
# recording end in 3 s of silence.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and speex.)
apt-get --quiet=2 download speex=1.2.1-2 libspeex1=1.2.1-2 libspeexdsp1=1.2.1-1 sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
cat >show.py <<'PYTHON'
import struct
import sys
import wave


def samples(name):
    with wave.open(name) as file:
        data = file.readframes(file.getnframes())
        return struct.unpack(f"<{len(data) // 2}h", data), file.getframerate()


before, rate = samples("speech.wav")
after, _ = samples("decoded.wav")
begin = rate // 10
part = before[begin:begin + rate // 50]
late = max(range(-300, 300), key=lambda late: sum(one * other for one, other in zip(part, after[begin + late:])))
print(f"{sys.argv[1]}: {late} samples late, {len(after) - len(before)} samples longer")
PYTHON
for rate in 8000 16000; do
  for seconds in 0.5 3; do
    sox -R -r "$rate" -n -b 16 speech.wav synth "$seconds" whitenoise band 700 500 gain -n -6
    speexenc --quiet --quality 10 speech.wav speech.spx 2>/dev/null
    speexdec --quiet speech.spx decoded.wav 2>/dev/null
    python3 show.py "$rate Hz, $seconds s"
  done
done | tee seen
diff seen - <<'EXPECTED'
8000 Hz, 0.5 s: 80 samples late, 40 samples longer
8000 Hz, 3 s: 0 samples late, 0 samples longer
16000 Hz, 0.5 s: 222 samples late, 80 samples longer
16000 Hz, 3 s: -1 samples late, 0 samples longer
EXPECTED
echo "as stated"
