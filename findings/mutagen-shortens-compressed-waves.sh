#!/usr/bin/env bash
# mutagen computes the length of a wave as if each block of the file were a sample. For compressed waves, as telephone systems and dictation
# devices make them, a block is many samples: 10 s of IMA or Microsoft ADPCM last 10 ms, and 10 s of GSM 6.10 last 31 ms. tinytag is right
# there. For IMA ADPCM in AIFF both are wrong by a factor of 64, since the file counts packets. Of plain waves and mu-law all is right.
# tinytag counts the silence that an encoder puts around an MP3, and mutagen does not. There is no message.
# Seen with mutagen 1.48.1, tinytag 2.3.2, soundfile 0.14.0, numpy 2.2.6 on Python 3.11, 10 s at 16 kHz (GSM at 8 kHz):
#   IMA ADPCM   soundfile 10.043   mutagen 0.010   tinytag 10.043
#   GSM 6.10    soundfile 10.000   mutagen 0.031   tinytag 10.000
#   IMA, AIFF   soundfile 10.000   mutagen 0.156   tinytag 0.156
# Consequence: hours of a corpus, and limits on the length of a recording, are wrong. Ask a decoder for the number of samples.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check mutagen==1.48.1 tinytag==2.3.2 soundfile==0.14.0 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import mutagen
import numpy as np
import soundfile
import tinytag

for name, form, subtype, rate in (
        ("a.wav", "WAV", "PCM_16", 16000), ("a.wav", "WAV", "ULAW", 16000), ("a.wav", "WAV", "IMA_ADPCM", 16000),
        ("a.wav", "WAV", "MS_ADPCM", 16000), ("a.wav", "WAV", "GSM610", 8000), ("a.aiff", "AIFF", "IMA_ADPCM", 16000),
        ("a.mp3", "MP3", "MPEG_LAYER_III", 16000)):
    soundfile.write(name, np.sin(np.arange(10 * rate) * 0.1) * 0.5, rate, format=form, subtype=subtype)
    lengths = soundfile.info(name).duration, mutagen.File(name).info.length, tinytag.TinyTag.get(name).duration
    print(f"{form} {subtype}", *(f"{length:.3f}" for length in lengths))
PYTHON
diff seen - <<'EXPECTED'
WAV PCM_16 10.000 10.000 10.000
WAV ULAW 10.000 10.000 10.000
WAV IMA_ADPCM 10.043 0.010 10.043
WAV MS_ADPCM 10.057 0.010 10.000
WAV GSM610 10.000 0.031 10.000
AIFF IMA_ADPCM 10.000 0.156 0.156
MP3 MPEG_LAYER_III 10.000 10.000 10.080
EXPECTED
echo "as stated"
