#!/usr/bin/env bash
# A label of a TextGrid may have several lines, and quotation marks in it are written twice. mytextgrid takes the mark at the end of such a label for
# a part of its text if a quotation ends there, and reads on until the end of another label. The lines of the file are the text then: the
# next interval is no more, and its words stand behind numbers. In the last interval of a tier that is an error. There is no message otherwise.
# Seen with mytextgrid 0.10.0, praat-parselmouth 0.4.7 (Praat 6.1.38, which writes the file) on Python 3.11, the intervals of the tier "words":
#   say "q", two, three                  3 intervals in both
#   say, a line break, "q", two, three   2 intervals in mytextgrid, the first until 2 s, and its text has 6 lines; 3 in Praat
# Consequence: intervals are missing, and times are wrong. Remove line breaks from labels before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check mytextgrid==0.10.0 praat-parselmouth==0.4.7
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import mytextgrid
import parselmouth
from parselmouth.praat import call

for labels in (['say "q"', "two", "three"], ['say\n"q"', "two", "three"], ["one", 'say\n"q" he', "three"]):
    grid = call("Create TextGrid", 0, 3, "words speakers", "")
    for at, label in enumerate(labels):
        if at:
            call(grid, "Insert boundary", 1, at)
        call(grid, "Set interval text", 1, at + 1, label)
    call(grid, "Set interval text", 2, 1, "ann")
    call(grid, "Save as text file", "a.TextGrid")
    read = parselmouth.read("a.TextGrid")
    print("Praat", [call(read, "Get label of interval", 1, at + 1) for at in range(call(read, "Get number of intervals", 1))])
    for tier in mytextgrid.read_textgrid("a.TextGrid"):
        print("mytextgrid", tier.name, [(float(interval.xmin), float(interval.xmax), interval.text) for interval in tier])
PYTHON
diff seen - <<'EXPECTED'
Praat ['say "q"', 'two', 'three']
mytextgrid words [(0.0, 1.0, 'say "q"'), (1.0, 2.0, 'two'), (2.0, 3.0, 'three')]
mytextgrid speakers [(0.0, 3.0, 'ann')]
Praat ['say\n"q"', 'two', 'three']
mytextgrid words [(0.0, 2.0, 'say\n"q"" \n        intervals [2]:\n            xmin = 1 \n            xmax = 2 \n            text = "two'), (2.0, 3.0, 'three')]
mytextgrid speakers [(0.0, 3.0, 'ann')]
Praat ['one', 'say\n"q" he', 'three']
mytextgrid words [(0.0, 1.0, 'one'), (1.0, 2.0, 'say\n"q" he'), (2.0, 3.0, 'three')]
mytextgrid speakers [(0.0, 3.0, 'ann')]
EXPECTED
echo "as stated"
