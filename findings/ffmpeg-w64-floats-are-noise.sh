#!/usr/bin/env bash
# W64 holds recordings above 4 GB. libsndfile, and so soundfile, reads the 32-bit floats of a W64 file that FFmpeg writes as integers: 0.01
# becomes 0.47, and all sound is noise around it. FFmpeg also counts the bytes that fill the file up to a multiple of 8 as sound: up to 7 samples
# of silence, or of full scale in mu-law, follow for all readers. Floats that soundfile writes are right in both, and so is RF64. There is no
# message.
# Seen with FFmpeg 5.1.9 of Debian 12, soundfile 0.14.0, numpy 2.2.6 on Python 3.11, 11 samples 0.01 to 0.11:
#   FFmpeg's floats, read by soundfile       0.47, 0.47, 0.48 ..., 12 samples
#   FFmpeg's 16 bits, read by both           0.01, 0.02, 0.03 ..., 12 samples
#   FFmpeg's mu-law, read by both            16 samples, the last 5 are -0.98
#   soundfile's floats, read by FFmpeg       0.01, 0.02, 0.03 ..., 11 samples
# Consequence: long sessions are noise. Take RF64 (ffmpeg -rf64 auto).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check soundfile==0.14.0 numpy==2.2.6
"$work/env/bin/python" - <<'PYTHON' | tee seen
import subprocess

import numpy as np
import soundfile

samples = np.arange(1, 12) / 100
soundfile.write("a.wav", samples, 16000, subtype="FLOAT")


def show(name, read):
    print(f"{name}: {len(read)} samples:", *(f"{sample:.2f}" for sample in read[:3]), "...", *(f"{sample:.2f}" for sample in read[10:]))


def by_ffmpeg(*arguments):
    return subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True, capture_output=True).stdout


for codec in ("pcm_s16le", "pcm_s24le", "pcm_f32le", "pcm_mulaw"):
    by_ffmpeg("-i", "a.wav", "-c:a", codec, "a.w64")
    show(f"FFmpeg's {codec}, read by soundfile", soundfile.read("a.w64")[0])
    show(f"FFmpeg's {codec}, read by FFmpeg", np.frombuffer(by_ffmpeg("-i", "a.w64", "-f", "f64le", "-")))
soundfile.write("b.w64", samples, 16000, subtype="FLOAT")
show("soundfile's FLOAT, read by soundfile", soundfile.read("b.w64")[0])
show("soundfile's FLOAT, read by FFmpeg", np.frombuffer(by_ffmpeg("-i", "b.w64", "-f", "f64le", "-")))
by_ffmpeg("-i", "a.wav", "-c:a", "pcm_f32le", "-rf64", "always", "c.wav")
show("FFmpeg's RF64, read by soundfile", soundfile.read("c.wav")[0])
PYTHON
diff seen - <<'EXPECTED'
FFmpeg's pcm_s16le, read by soundfile: 12 samples: 0.01 0.02 0.03 ... 0.11 0.00
FFmpeg's pcm_s16le, read by FFmpeg: 12 samples: 0.01 0.02 0.03 ... 0.11 0.00
FFmpeg's pcm_s24le, read by soundfile: 13 samples: 0.01 0.02 0.03 ... 0.11 0.00 0.00
FFmpeg's pcm_s24le, read by FFmpeg: 13 samples: 0.01 0.02 0.03 ... 0.11 0.00 0.00
FFmpeg's pcm_f32le, read by soundfile: 12 samples: 0.47 0.47 0.48 ... 0.48 0.00
FFmpeg's pcm_f32le, read by FFmpeg: 12 samples: 0.01 0.02 0.03 ... 0.11 0.00
FFmpeg's pcm_mulaw, read by soundfile: 16 samples: 0.01 0.02 0.03 ... 0.11 -0.98 -0.98 -0.98 -0.98 -0.98
FFmpeg's pcm_mulaw, read by FFmpeg: 16 samples: 0.01 0.02 0.03 ... 0.11 -0.98 -0.98 -0.98 -0.98 -0.98
soundfile's FLOAT, read by soundfile: 11 samples: 0.01 0.02 0.03 ... 0.11
soundfile's FLOAT, read by FFmpeg: 11 samples: 0.01 0.02 0.03 ... 0.11
FFmpeg's RF64, read by soundfile: 11 samples: 0.01 0.02 0.03 ... 0.11
EXPECTED
echo "as stated"
