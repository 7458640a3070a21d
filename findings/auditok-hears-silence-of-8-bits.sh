#!/usr/bin/env bash
# auditok finds sound by its energy, in waves of "8/16-bit PCM and 32-bit float". Samples of 8 bits in a wave have silence at 128; auditok takes
# them for signed numbers: silence is -128, the loudest there is, and energies are 48 dB below those of 16 bits. With the default threshold there
# is no speech at all, and with a lower one the pauses are speech, and the speech is not. 16 bits and floats are right. There is no message.
# Seen with auditok 0.5.2, soundfile 0.14.0, numpy 2.2.6 on Python 3.11, 4 s with a tone from 1 s to 2 s:
#   threshold       16 bits        8 bits
#   50 (default)    1.0 to 2.1     none
#   42              1.0 to 2.1     0 to 1.1, 2.0 to 4
#   20              1.0 to 2.1     0 to 4
# Consequence: telephone recordings are empty, or lose their words. Convert them to 16 bits before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check auditok==0.5.2 soundfile==0.14.0 numpy==2.2.6
"$work/env/bin/python" - <<'PYTHON' | tee seen
import auditok
import numpy as np
import soundfile

samples = np.zeros(64000)
samples[16000:32000] = 0.3 * np.sin(np.arange(16000) / 8)
for subtype in ("PCM_16", "FLOAT", "PCM_U8"):
    soundfile.write("tone.wav", samples, 16000, subtype=subtype)
    for threshold in (50, 42, 20):
        found = auditok.split("tone.wav", energy_threshold=threshold, min_dur=0.1, max_silence=0.1)
        print(f"{subtype}, threshold {threshold}:", ", ".join(f"{region.start:.1f} to {region.end:.1f}" for region in found) or "none")
    print(f"  the first sample is {auditok.load('tone.wav').numpy()[0][0]:.0f}")
PYTHON
diff seen - <<'EXPECTED'
PCM_16, threshold 50: 1.0 to 2.1
PCM_16, threshold 42: 1.0 to 2.1
PCM_16, threshold 20: 1.0 to 2.1
  the first sample is 0
FLOAT, threshold 50: 1.0 to 2.1
FLOAT, threshold 42: 1.0 to 2.1
FLOAT, threshold 20: 1.0 to 2.1
  the first sample is 0
PCM_U8, threshold 50: none
PCM_U8, threshold 42: 0.0 to 1.1, 2.0 to 4.0
PCM_U8, threshold 20: 0.0 to 4.0
  the first sample is -128
EXPECTED
echo "as stated"
