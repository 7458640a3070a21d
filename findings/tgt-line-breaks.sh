#!/usr/bin/env bash
# The Python package tgt cannot read a TextGrid whose label has a line break, which Praat writes when a person presses Enter in a label:
# it raises IndexError and names neither file nor line. praatio, textgrid and Praat itself read it. Seen with tgt 1.5, textgrid 1.6.1,
# praatio 6.2.2, praat-parselmouth 0.4.7 (Praat 6.1.38) on Python 3.11:
#   tgt IndexError   textgrid, praatio, praat: 'one\ntwo'
# Consequence: a program that writes TextGrids does well to replace line breaks in labels by blanks.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check tgt==1.5 textgrid==1.6.1 praatio==6.2.2 praat-parselmouth==0.4.7
cat >words.TextGrid <<'GRID'
File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 1
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 1
        intervals: size = 1
        intervals [1]:
            xmin = 0
            xmax = 1
            text = "one
two"
GRID
venv/bin/python - <<'PYTHON' | tee seen
import parselmouth
import textgrid
import tgt
from praatio import textgrid as praatio

name = "words.TextGrid"
try:
    print("tgt", repr(tgt.io.read_textgrid(name).tiers[0].intervals[0].text))
except IndexError as error:
    print("tgt", type(error).__name__)
print("textgrid", repr(textgrid.TextGrid.fromFile(name)[0][0].mark))
print("praatio", repr(praatio.openTextgrid(name, includeEmptyIntervals=True).getTier("words").entries[0].label))
print("praat", repr(parselmouth.praat.call(parselmouth.read(name), "Get label of interval", 1, 1)))
PYTHON
diff seen - <<'EXPECTED'
tgt IndexError
textgrid 'one\ntwo'
praatio 'one\ntwo'
praat 'one\ntwo'
EXPECTED
echo "as stated"
