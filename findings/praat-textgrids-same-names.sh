#!/usr/bin/env bash
# A TextGrid may have several tiers of the same name, as Praat itself, textgrid and tgt show. praat-textgrids keeps them in a dictionary: of
# two tiers named "words" it has the last, and the first is lost, when it is read and so in what is written. Of Praat's binary files it
# returns the beginning and the end as 8 bytes in place of numbers. There is no message.
# Seen with praat-textgrids 1.4.0, its last release, praat-parselmouth 0.4.7 (Praat 6.1.38), textgrid 1.6.1 on Python 3.11:
#   2 tiers of one name   praat 2, textgrid 2, praat-textgrids 1, written again 1
#   end of a binary file  b'@\x08\x00\x00\x00\x00\x00\x00' for 3 s
# Consequence: compare the number of tiers with the line "size =" of the file, and name tiers by speaker.
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

grid = call("Create TextGrid", 0, 3, "words words", "")
call(grid, "Set interval text", 1, 1, "good morning")
call(grid, "Set interval text", 2, 1, "hello")
for command, name in (("Save as text file", "long"), ("Save as short text file", "short"), ("Save as binary file", "binary")):
    call(grid, command, f"{name}.TextGrid")
    read = textgrids.TextGrid(f"{name}.TextGrid")
    print(name, "praat", call(grid, "Get number of tiers"), "praat-textgrids", len(read), "from", read.xmin, "to", read.xmax,
          {tier: [interval.text for interval in intervals] for tier, intervals in read.items()})
    if name != "binary":
        read.write("again.TextGrid")
        print("  written again", call(parselmouth.read("again.TextGrid"), "Get number of tiers"))
print("textgrid", len(textgrid.TextGrid.fromFile("long.TextGrid").tiers))
PYTHON
diff seen - <<'EXPECTED'
long praat 2 praat-textgrids 1 from 0.0 to 3.0 {'words': ['hello']}
  written again 1
short praat 2 praat-textgrids 1 from 0.0 to 3.0 {'words': ['hello']}
  written again 1
binary praat 2 praat-textgrids 1 from 0.0 to 3.0 {'words': ['hello']}
textgrid 2
EXPECTED
echo "as stated"
