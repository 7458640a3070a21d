#!/usr/bin/env bash
# online-fbank makes stacked features for models of FunASR: rows of 7 frames of 10 ms, a row for each 6 frames. FunASR repeats the first frame three
# times before the first row, and the last one behind the last row, so that T frames make ceil(T / 6) rows. get_lfr_frames() of
# online-fbank does neither, also once is_last is set: up to 50 ms of sound are in no row, and each row begins 2 frames later than in
# asrfront, which follows FunASR. An utterance of less than 70 ms has no row at all. There is no message.
# Seen with online-fbank 0.0.4, kaldi-native-fbank 1.22.4, asrfront 0.2.2 on Python 3.11, 1 s at 16 kHz:
#                          online-fbank      asrfront
#   rows                   16                17
#   a click at 985 ms      in no row         in row 17
# Consequence: last consonants are lost, and the model sees another beginning than in training. Repeat the first and the last frame before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check online-fbank==0.0.4 kaldi-native-fbank==1.22.4 asrfront==0.2.2 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import asrfront
import numpy as np
from online_fbank import OnlineFbank


def stacked(samples):
    features = OnlineFbank(window_type="hamming")
    features.accept_waveform((samples * 32768).tolist(), is_last=True)
    frames = features.num_frames_ready()
    return frames, features.get_lfr_frames().reshape(-1, 7, 80)


def click_in(rows):
    energy = rows.mean(axis=2)
    loudest = np.argwhere(energy > energy.max() - 0.01)[0] + 1
    return f"row {loudest[0]}, frame {loudest[1]}" if energy.max() > np.median(energy) + 3 else "no row"


for milliseconds in (60, 100, 300, 500, 980, 990, 1000, 1010):
    noise = np.random.default_rng(1).standard_normal(16 * milliseconds).astype("float32") * 0.1
    frames, rows = stacked(noise)
    print(f"{milliseconds} ms: online-fbank {frames} frames, {len(rows)} rows; asrfront {len(asrfront.sensevoice.fbank(noise))} rows")
for click in (500, 985):
    sound = np.random.default_rng(1).standard_normal(16000).astype("float32") * 0.0001
    sound[16 * click:16 * click + 32] = 0.5
    print(f"click at {click} ms: online-fbank {click_in(stacked(sound)[1])}; "
          f"asrfront {click_in(asrfront.sensevoice.fbank(sound).reshape(-1, 7, 80))}")
PYTHON
diff seen - <<'EXPECTED'
60 ms: online-fbank 6 frames, 0 rows; asrfront 1 rows
100 ms: online-fbank 10 frames, 1 rows; asrfront 2 rows
300 ms: online-fbank 30 frames, 4 rows; asrfront 5 rows
500 ms: online-fbank 50 frames, 8 rows; asrfront 8 rows
980 ms: online-fbank 98 frames, 16 rows; asrfront 16 rows
990 ms: online-fbank 99 frames, 16 rows; asrfront 17 rows
1000 ms: online-fbank 100 frames, 16 rows; asrfront 17 rows
1010 ms: online-fbank 101 frames, 16 rows; asrfront 17 rows
click at 500 ms: online-fbank row 9, frame 3; asrfront row 9, frame 5
click at 985 ms: online-fbank no row; asrfront row 17, frame 5
EXPECTED
echo "as stated"
