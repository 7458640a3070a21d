#!/usr/bin/env bash
# In a TextGrid a quotation mark within a label is written twice. praatio reads both as they stand in the labels of points in the long format,
# the one that Praat writes by default, and writes each of them twice again: a file that is read and written n times has 2 to the power of n
# marks for each. Labels of intervals, and both kinds in the short format, are right. There is no message.
# Seen with praatio 6.2.2, praat-parselmouth 0.4.7 (Praat 6.1.38, which writes the file) on Python 3.11, the label: the "q" key
#   interval, read 3 times   the "q" key    the "q" key      the "q" key
#   point, read 3 times      the ""q"" key   the """"q"""" key  the """"""""q"""""""" key
# Consequence: labels of points do not compare equal with what Praat shows. Save as short_textgrid, or replace "" by " behind the reader.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check praatio==6.2.2 praat-parselmouth==0.4.7
venv/bin/python - <<'PYTHON' | tee seen
import parselmouth
from parselmouth.praat import call
from praatio import textgrid

LABEL = 'the "q" key'
grid = call("Create TextGrid", 0, 2, "words marks", "marks")
call(grid, "Set interval text", 1, 1, LABEL)
call(grid, "Insert point", 2, 1.5, LABEL)
for command, form in (("Save as text file", "long_textgrid"), ("Save as short text file", "short_textgrid")):
    call(grid, command, "a.TextGrid")
    for turn in range(3):
        read = textgrid.openTextgrid("a.TextGrid", includeEmptyIntervals=True)
        print(form, *(f"{tier.name}: {tier.entries[0].label}" for tier in read.tiers), sep=" | ")
        read.save("a.TextGrid", format=form, includeBlankSpaces=True)
    print("praat:", call(parselmouth.read("a.TextGrid"), "Get label of point", 2, 1))
PYTHON
diff seen - <<'EXPECTED'
long_textgrid | words: the "q" key | marks: the ""q"" key
long_textgrid | words: the "q" key | marks: the """"q"""" key
long_textgrid | words: the "q" key | marks: the """"""""q"""""""" key
praat: the """"""""q"""""""" key
short_textgrid | words: the "q" key | marks: the "q" key
short_textgrid | words: the "q" key | marks: the "q" key
short_textgrid | words: the "q" key | marks: the "q" key
praat: the "q" key
EXPECTED
echo "as stated"
