#!/usr/bin/env bash
# pylangacq writes CHAT transcripts as ELAN files and TextGrids. CHAT marks the times of an utterance between two control characters (0x15),
# and pylangacq leaves them in ELAN's texts, where XML does not allow them: no file of a transcript with times can be read. In TextGrids the
# intervals have holes between utterances. Praat wants them without holes: it finds a moment of silence in the next utterance. The
# texts, in SubRip too, have CHAT's codes, where words() has words. There is no message.
# Seen with pylangacq 0.23.0, praat-parselmouth 0.4.7 (Praat 6.1.38) on Python 3.11, CHI speaks from 0 to 1.5 s and from 62.5 to 63 s:
#   ELAN       not well-formed (invalid token)
#   TextGrid   2 intervals; Praat finds 30 s in the second, which begins at 62.5 s
# Consequence: remove each pair of 0x15 and the times between them from ELAN's files, and put empty intervals into TextGrids.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pylangacq==0.23.0 praat-parselmouth==0.4.7
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import xml.etree.ElementTree as ElementTree

import parselmouth
import pylangacq
from parselmouth.praat import call

with open("a.cha", "w", encoding="utf-8") as transcript:
    transcript.write("""@UTF8
@Begin
@Languages:\teng
@Participants:\tCHI Target_Child
@ID:\teng|corpus|CHI|2;03.15||||Target_Child|||
@Media:\ta, audio
*CHI:\tthe <dog dog> [/] dog . \x150_1500\x15
*CHI:\t(be)cause . \x1562500_63000\x15
@End
""")
chat = pylangacq.read_chat("a.cha")
print("words", *chat.words(), [utterance.time_marks for utterance in chat.utterances()])
try:
    ElementTree.fromstring(chat.to_elan_strs()[0])
except ElementTree.ParseError as error:
    print("ELAN", str(error).split(":")[0])
with open("a.TextGrid", "w", encoding="utf-8") as grid:
    grid.write(chat.to_textgrid_strs()[0])
grid = parselmouth.read("a.TextGrid")
for number in range(1, call(grid, "Get number of intervals", 1) + 1):
    times = [call(grid, f"Get {end} time of interval", 1, number) for end in ("start", "end")]
    print("TextGrid", *times, call(grid, "Get label of interval", 1, number))
print("Praat finds 30 s in interval", call(grid, "Get interval at time", 1, 30.0))
PYTHON
diff seen - <<'EXPECTED'
words the dog . because . [(0, 1500), (62500, 63000)]
ELAN not well-formed (invalid token)
TextGrid 0.0 1.5 the <dog dog> [/] dog .
TextGrid 62.5 63.0 (be)cause .
Praat finds 30 s in interval 2
EXPECTED
echo "as stated"
