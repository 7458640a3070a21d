#!/usr/bin/env bash
# dsp-audio-metrics measures loudness "per ITU-R BS.1770-4". The standard adds the powers of the channels; the package takes their mean. Stereo is
# 3 dB too quiet, a speaker on one of two channels too, and 5.1 channels are 7.7 dB too quiet. Mono is right, as it counts as two equal channels.
# normalize_loudness() makes stereo 3 dB louder than asked. pyloudnorm and FFmpeg measure by the standard. There is no message.
# Seen with dsp-audio-metrics 0.1.1, pyloudnorm 0.2.0, numpy 2.2.6, scipy 1.17.1 on Python 3.11, FFmpeg 5.1.9 of Debian 12, 997 Hz at 48 kHz:
#                          dsp-audio-metrics    pyloudnorm   FFmpeg
#   mono                   -9.0                 -9.1         -9.0
#   stereo                 -9.0                 -6.1         -6.0
#   left channel alone     -12.0                -9.1         -9.0
# Consequence: recordings of two channels are too loud, and may clip, beside mono ones. Use pyloudnorm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check dsp-audio-metrics==0.1.1 pyloudnorm==0.2.0 soundfile==0.14.0 \
  numpy==2.2.6 scipy==1.17.1
"$work/env/bin/python" - <<'PYTHON' | tee seen
import re
import subprocess

import dsp_audio_metrics
import numpy as np
import pyloudnorm
import soundfile

tone = 0.5 * np.sin(2 * np.pi * 997 * np.arange(240000) / 48000)
meter = pyloudnorm.Meter(48000)


def by_ffmpeg(samples):
    soundfile.write("a.wav", samples, 48000, subtype="FLOAT")
    log = subprocess.run(["ffmpeg", "-nostats", "-i", "a.wav", "-af", "ebur128", "-f", "null", "-"], capture_output=True, text=True).stderr
    return float(re.findall(r"I: +(\S+) LUFS", log)[-1])


def show(name, samples, measured):
    loud = [dsp_audio_metrics.integrated_lufs(samples, 48000), by_ffmpeg(samples)]
    loud += [meter.integrated_loudness(samples)] if measured else []
    print(f"{name}: dsp-audio-metrics {loud[0]:.1f}, FFmpeg {loud[1]:.1f}" + "".join(f", pyloudnorm {value:.1f}" for value in loud[2:]))


stereo = np.stack([tone, tone], 1)
show("mono", tone, True)
show("stereo", stereo, True)
show("left channel alone", np.stack([tone, 0 * tone], 1), True)
show("5.1", 0.3 * np.stack([tone] * 6, 1), False)
show("stereo, made -23", dsp_audio_metrics.normalize_loudness(stereo, 48000, -23), True)
PYTHON
diff seen - <<'EXPECTED'
mono: dsp-audio-metrics -9.0, FFmpeg -9.0, pyloudnorm -9.1
stereo: dsp-audio-metrics -9.0, FFmpeg -6.0, pyloudnorm -6.1
left channel alone: dsp-audio-metrics -12.0, FFmpeg -9.0, pyloudnorm -9.1
5.1: dsp-audio-metrics -19.5, FFmpeg -11.8
stereo, made -23: dsp-audio-metrics -23.0, FFmpeg -20.0, pyloudnorm -20.0
EXPECTED
echo "as stated"
