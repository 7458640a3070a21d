#!/usr/bin/env bash
# The Python package textgrid rounds all times of a TextGrid to five digits behind the point as it reads, so the last interval ends behind
# the end of the sound, and a file that is read and written has other times. tgt leaves out empty intervals. praatio and Praat itself keep
# both. Seen with textgrid 1.6.1, tgt 1.5, praatio 6.2.0, praat-parselmouth 0.4.5 (Praat 6.1.38) on Python 3.11:
#   textgrid  2.92669    2 intervals, the first ends at 1.23457
#   tgt       2.9266875  1 interval,  the first ends at 1.2345678
#   praatio   2.9266875  2 intervals, the first ends at 1.2345678
#   praat     2.9266875  2 intervals, the first ends at 1.2345678
# Consequence: a program that writes TextGrids must not expect its times back from these readers, nor compare them exactly.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check textgrid==1.6.1 tgt==1.5 praatio==6.2.0 praat-parselmouth==0.4.5
cat >words.TextGrid <<'GRID'
File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.9266875
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 2.9266875
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 1.2345678
            text = "a"
        intervals [2]:
            xmin = 1.2345678
            xmax = 2.9266875
            text = ""
GRID
venv/bin/python - <<'PYTHON' | tee seen
import parselmouth
import textgrid
import tgt
from praatio import textgrid as praatio

name = "words.TextGrid"
grid = textgrid.TextGrid.fromFile(name)
print("textgrid", grid.maxTime, len(grid[0]), grid[0][0].maxTime)
grid = tgt.io.read_textgrid(name)
print("tgt", grid.end_time, len(grid.tiers[0].intervals), grid.tiers[0].intervals[0].end_time)
grid = praatio.openTextgrid(name, includeEmptyIntervals=True)
print("praatio", grid.maxTimestamp, len(grid.getTier("words").entries), grid.getTier("words").entries[0].end)
grid = parselmouth.read(name)
call = parselmouth.praat.call
print("praat", grid.xmax, call(grid, "Get number of intervals", 1), call(grid, "Get end time of interval", 1, 1))
PYTHON
diff seen - <<'EXPECTED'
textgrid 2.92669 2 1.23457
tgt 2.9266875 1 1.2345678
praatio 2.9266875 2 1.2345678
praat 2.9266875 2 1.2345678
EXPECTED
echo "as stated"
