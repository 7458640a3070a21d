#!/usr/bin/env bash
# A TextGrid may have several tiers of the same name, as Praat itself and textgrid show. praat-textgrids keeps them in a dictionary: of two
# tiers named "words" it has the last, and the first is lost, when it is read and so in what is written. A tier of points that it writes
# has the class "PointTier" in place of Praat's "TextTier", and Praat refuses the whole file. Of a binary file with such a tier it returns the
# beginning and the end as 8 bytes in place of numbers. It has no message.
# Seen with praat-textgrids 1.4.0, its last release, praat-parselmouth 0.4.7 (Praat 6.1.38), textgrid 1.6.1 on Python 3.11:
#   2 tiers of one name    praat and textgrid 2, praat-textgrids 1, written again 1
#   a tier of points       written again: Class "PointTier" not recognized
#   end of a binary file   b'@\x08\x00\x00\x00\x00\x00\x00' for 3 s
# Consequence: compare the number of tiers with the line "size =" of the file, and replace PointTier in what was written.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check praat-textgrids==1.4.0 praat-parselmouth==0.4.7 textgrid==1.6.1
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import parselmouth
import textgrid
import textgrids
from parselmouth.praat import call

for kind, names, points in (("two of a name", "words words", ""), ("points", "words marks", "marks")):
    grid = call("Create TextGrid", 0, 3, names, points)
    call(grid, "Set interval text", 1, 1, "good morning")
    if points:
        call(grid, "Insert point", 2, 1.5, "click")
    else:
        call(grid, "Set interval text", 2, 1, "hello")
    for command in ("Save as text file", "Save as binary file"):
        call(grid, command, "a.TextGrid")
        read = textgrids.TextGrid("a.TextGrid")
        print(kind, command, "| praat", call(grid, "Get number of tiers"), "| praat-textgrids", len(read), "to", read.xmax,
              {tier: [part.text for part in parts] for tier, parts in read.items()})
        if "text" in command:
            print("  textgrid", len(textgrid.TextGrid.fromFile("a.TextGrid").tiers))
            read.write("again.TextGrid")
            try:
                print("  written again", call(parselmouth.read("again.TextGrid"), "Get number of tiers"))
            except parselmouth.PraatError as error:
                print("  written again", str(error).split("\n", maxsplit=1)[0])
PYTHON
diff seen - <<'EXPECTED'
two of a name Save as text file | praat 2 | praat-textgrids 1 to 3.0 {'words': ['hello']}
  textgrid 2
  written again 1
two of a name Save as binary file | praat 2 | praat-textgrids 1 to 3.0 {'words': ['hello']}
points Save as text file | praat 2 | praat-textgrids 2 to 3.0 {'words': ['good morning'], 'marks': ['click']}
  textgrid 2
  written again Class "PointTier" not recognized.
points Save as binary file | praat 2 | praat-textgrids 2 to b'@\x08\x00\x00\x00\x00\x00\x00' {'words': ['good morning'], 'marks': ['click']}
EXPECTED
echo "as stated"
