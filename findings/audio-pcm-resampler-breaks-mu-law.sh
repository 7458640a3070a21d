#!/usr/bin/env bash
# audio-pcm-resampler converts 16-bit samples to mu-law and back, as its README says. To mu-law it drops the lower byte of each sample, and encodes
# two of the bytes that are left as one sample: half as many samples come, which are half of the higher bytes. From mu-law it multiplies the
# decoded samples, which have 16 bits, by 258, and what is above 32,767 begins again at -32,768. There is no message.
# Seen with audio-pcm-resampler 0.1.0, numpy 2.2.6 on Python 3.11, a tone of 440 Hz at 8 kHz, 8,000 samples that begin 0, 2709, 5099:
#   16-bit samples to mu-law    4,000 samples that begin 2620, 6652, 7676, correlation with the tone 0
#   mu-law to 16-bit samples    8,000 samples that begin 0, -11891, 9248 (right: 0, 2748, 5116)
# Consequence: telephone speech is not to be understood. Use audioop-lts, or sox.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check audio-pcm-resampler==0.1.0 numpy==2.2.6
"$work/env/bin/python" -W ignore - <<'PYTHON' | tee seen
import audioop

import numpy as np
from audio_pcm_resampler.audio_format import BitDepth, PCMFormat, ULAWFormat
from audio_pcm_resampler.audio_resampler import AudioResampler, AudioResamplerConfig

pcm = PCMFormat(sample_rate=8000, bit_depth=BitDepth.INT16)
tone = (8000 * np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)).astype("int16")


def show(name, samples):
    alike = np.corrcoef(samples, tone[:len(samples)])[0, 1]
    print(f"{name}: {len(samples)} samples, correlation with the tone {alike:.2f}, first", *samples[:6])


def of_mu_law(data):
    return np.frombuffer(audioop.ulaw2lin(bytes(data), 2), "int16")


show("tone", tone)
codes = audioop.lin2ulaw(tone.tobytes(), 2)
show("audioop to mu-law and back", of_mu_law(codes))
to_mu_law = AudioResampler(AudioResamplerConfig(input_format=pcm, output_format=ULAWFormat()))
of_codes = AudioResampler(AudioResamplerConfig(input_format=ULAWFormat(), output_format=pcm))
show("audio-pcm-resampler to mu-law", of_mu_law(to_mu_law.process(tone)))
show("audio-pcm-resampler from mu-law", of_codes.process(codes))
PYTHON
diff seen - <<'EXPECTED'
tone: 8000 samples, correlation with the tone 1.00, first 0 2709 5099 6885 7858 7901
audioop to mu-law and back: 8000 samples, correlation with the tone 1.00, first 0 2748 5116 6908 7932 7932
audio-pcm-resampler to mu-law: 4000 samples, correlation with the tone -0.00, first 2620 6652 7676 5116 8 -4604
audio-pcm-resampler from mu-law: 8000 samples, correlation with the tone 0.81, first 0 -11891 9248 12846 14902 14902
EXPECTED
echo "as stated"
