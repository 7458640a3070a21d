#!/usr/bin/env bash
# fairy-subtitle reads ASS subtitles up to the first comma of each text, and takes hundredths of a second for thousandths: 0:00:01.05 to
# 0:00:02.50 is 1.005 to 2.05 s. Comments are captions. In all formats that it writes, many times are a millisecond early, because it cuts
# off digits. There is no message. pysubs2 reads the same file right.
# Seen with fairy-subtitle 1.1.0, pysubs2 1.8.0 on Python 3.11, a dialogue from 0:00:01.05 to 0:00:02.50, "Well, I think so":
#   fairy-subtitle    1.005 to 2.050    Well
#   pysubs2           1.050 to 2.500    Well, I think so
#   YouTube's SBV 0:00:03.490 to 0:00:07.430 as SubRip: 00:00:03,490 --> 00:00:07,429
# Consequence: most words of subtitles are lost, and captions come up to 0.9 s early. Read ASS with pysubs2.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check fairy-subtitle==1.1.0 pysubs2==1.8.0
cat >talk.ass <<'ASS'
[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,20

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.05,0:00:02.50,Default,,0,0,0,,Well, I think so
Comment: 0,0:00:02.50,0:00:03.00,Default,,0,0,0,,check this
Dialogue: 0,0:00:03.50,0:00:04.10,Default,,0,0,0,,No
ASS
printf '0:00:03.490,0:00:07.430\nhello\n\n0:00:08.050,0:00:11.600\nthere\n' >talk.sbv
venv/bin/python - <<'PYTHON' | tee seen
import pysubs2
from fairy_subtitle import SubtitleLoader

for caption in SubtitleLoader.load("talk.ass"):
    print(f"fairy-subtitle: {caption.start:.3f} to {caption.end:.3f} {caption.text}")
for event in pysubs2.load("talk.ass"):
    if not event.is_comment:
        print(f"pysubs2: {event.start / 1000:.3f} to {event.end / 1000:.3f} {event.plaintext}")
print(SubtitleLoader.load("talk.sbv").to_srt().strip())
PYTHON
diff seen - <<'EXPECTED'
fairy-subtitle: 1.005 to 2.050 Well
fairy-subtitle: 2.050 to 3.000 check this
fairy-subtitle: 3.050 to 4.010 No
pysubs2: 1.050 to 2.500 Well, I think so
pysubs2: 3.500 to 4.100 No
1
00:00:03,490 --> 00:00:07,429
hello

2
00:00:08,050 --> 00:00:11,599
there
EXPECTED
echo "as stated"
