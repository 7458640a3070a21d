#!/usr/bin/env bash
# sphinx_fe makes features of waves (-mswav) and SPHERE files (-nist). It takes all bytes behind the header for 16-bit samples. Waves of 8, 24 and
# 32 bits, of floats and of mu-law, SPHERE files of mu-law, and metadata before the sound become features of noise. Recordings of up to about 1,900
# samples have no features. There is no message, and the return code is 0.
# Seen with sphinxbase-utils 0.8+5prealpha of Debian 12, 2 s of two tones at 16 kHz, -remove_silence no -remove_noise no:
#   wave of 16 bits     199 frames, mean of c0 7.2
#   wave of 24 bits     299 frames, 19.4 (right: 199 frames, 7.2, as below)
#   wave of floats      399 frames, 19.7
#   wave of 8 bits       99 frames, 20.2
#   mu-law, wave or SPHERE  99 frames, 19
#   wave of 16 bits, 1,600 samples (100 ms)  0 frames (right: 8)
# Consequence: models are trained and run on noise without an error. Convert all files to 16-bit linear samples first, without metadata.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox and sphinxbase-utils.)
apt-get --quiet=2 download sphinxbase-utils=0.8+5prealpha+1-16 libsphinxbase3=0.8+5prealpha+1-16 \
  sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
cat >show.py <<'PYTHON'
import struct
import sys

data = open(sys.argv[1], "rb").read()
values = struct.unpack(f"<{len(data) // 4 - 1}f", data[4:])
frames = [values[at:at + 13] for at in range(0, len(values), 13)]
mean = [sum(frame[at] for frame in frames) / len(frames) for at in range(2)] if frames else []
print(len(frames), "frames, mean of c0 and c1:", *(f"{value:.1f}" for value in mean))
PYTHON
features() {
  local name=$1
  shift
  sphinx_fe "$@" -o features -remove_silence no -remove_noise no >messages 2>&1
  echo "$name: $(python3 show.py features), $(grep --count -E "WARN|ERROR|FATAL" messages) warnings"
}
tone() { sox -R -r 16000 -n "$@" synth 2 sine 440 sine 1000 remix 1,2 gain -20; }
{
  tone -b 16 -t wavpcm tone.wav
  features "wave of 16 bits" -i tone.wav -mswav yes
  tone -b 16 tone.sph
  features "SPHERE of 16 bits" -i tone.sph -nist yes
  tone -e mu-law tone.sph
  features "SPHERE of mu-law" -i tone.sph -nist yes
  tone -e mu-law tone.wav
  features "wave of mu-law" -i tone.wav -mswav yes
  tone -b 8 tone.wav
  features "wave of 8 bits" -i tone.wav -mswav yes
  tone -b 24 -t wavpcm tone.wav
  features "wave of 24 bits" -i tone.wav -mswav yes
  tone -b 32 -e float tone.wav
  features "wave of floats" -i tone.wav -mswav yes
  tone -b 16 long.wav
  for samples in 1600 1800 2000 8000; do
    sox long.wav -t wavpcm tone.wav trim 0 "${samples}s"
    features "wave of 16 bits, $samples samples, whole windows $(((samples - 410) / 160 + 1))" -i tone.wav -mswav yes
  done
} | tee seen
diff seen - <<'EXPECTED'
wave of 16 bits: 199 frames, mean of c0 and c1: 7.2 1.7, 0 warnings
SPHERE of 16 bits: 199 frames, mean of c0 and c1: 7.2 1.7, 0 warnings
SPHERE of mu-law: 99 frames, mean of c0 and c1: 19.1 -1.3, 0 warnings
wave of mu-law: 99 frames, mean of c0 and c1: 19.0 -1.3, 0 warnings
wave of 8 bits: 99 frames, mean of c0 and c1: 20.2 -1.4, 0 warnings
wave of 24 bits: 299 frames, mean of c0 and c1: 19.4 -1.6, 0 warnings
wave of floats: 399 frames, mean of c0 and c1: 19.7 -1.2, 0 warnings
wave of 16 bits, 1600 samples, whole windows 8: 0 frames, mean of c0 and c1:, 0 warnings
wave of 16 bits, 1800 samples, whole windows 9: 1 frames, mean of c0 and c1: 8.8 1.6, 0 warnings
wave of 16 bits, 2000 samples, whole windows 10: 11 frames, mean of c0 and c1: 7.2 1.7, 0 warnings
wave of 16 bits, 8000 samples, whole windows 48: 49 frames, mean of c0 and c1: 7.2 1.7, 0 warnings
EXPECTED
echo "as stated"
