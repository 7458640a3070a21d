#!/usr/bin/env bash
# spafe computes features of speech. Its dominant frequencies and its spectral centroid are twice the true ones, since it takes the half spectrum
# for the whole; dominant frequencies above a quarter of the sample rate are left out. extract_feats reads the first 512 samples of a recording
# alone. A lifter above 10, as 22 of HTK, does not change the cepstra; -22 does. "mvn" does not give each cepstrum the variance 1.
# Seen with spafe 0.3.3, numpy 2.4.6, scipy 1.17.1 on Python 3.11, 1 s at 16 kHz:
#   tone                  500 Hz   1000 Hz   5000 Hz
#   dominant frequency    996      1992      no value
#   spectral centroid     996      1992      6039
# Consequence: an octave error in each analysis of pitch or timbre. Halve the values, and take features of pieces.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check spafe==0.3.3 numpy==2.4.6 scipy==1.17.1
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import numpy as np
from spafe.features.mfcc import mfcc
from spafe.features.spfeats import extract_feats
from spafe.frequencies.dominant_frequencies import get_dominant_frequencies

times = np.arange(16000) / 16000
for frequency in (500, 1000, 2500, 5000):
    tone = np.sin(2 * np.pi * frequency * times)
    dominant = np.unique(np.round(get_dominant_frequencies(tone, 16000))).tolist()
    print(f"{frequency} Hz: dominant {dominant}, centroid {extract_feats(tone, 16000)['spectral_centroid']:.0f}")
both = np.concatenate((np.sin(2 * np.pi * 500 * times[:512]), np.sin(2 * np.pi * 2500 * times)))
print(f"500 Hz for 32 ms, then 2500 Hz for 1 s: centroid {extract_feats(both, 16000)['spectral_centroid']:.0f}")
noise = np.random.RandomState(0).randn(16000) * np.linspace(0.1, 2, 16000)
plain = mfcc(noise, fs=16000)
for lifter in (22, -22):
    print(f"lifter {lifter}: the cepstra change by up to {abs(mfcc(noise, fs=16000, lifter=lifter) - plain).max():.0f}")
print("deviations with mvn:", *mfcc(noise, fs=16000, normalize="mvn").std(axis=0)[:4].round(2).tolist())
PYTHON
diff seen - <<'EXPECTED'
500 Hz: dominant [996.0], centroid 996
1000 Hz: dominant [1992.0], centroid 1992
2500 Hz: dominant [4981.0], centroid 4981
5000 Hz: dominant [], centroid 6039
500 Hz for 32 ms, then 2500 Hz for 1 s: centroid 996
lifter 22: the cepstra change by up to 0
lifter -22: the cepstra change by up to 47
deviations with mvn: 1.68 0.13 0.14 0.13
EXPECTED
echo "as stated"
