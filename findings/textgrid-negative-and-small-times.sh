#!/usr/bin/env bash
# Praat writes a time below 0.0001 s as 1e-05, and times may be negative (a grid that starts before its sound). pympi reads digits and points
# only: 1e-05 becomes 5 s, and -0.5 becomes 0.5. praatio drops the minus in the long format and keeps it in the short one; in the long format
# an exponent is a ParsingError. textgrid and tgt read both. Seen with pympi-ling 1.71, praatio 6.2.2, textgrid 1.6.1, tgt 1.5,
# praat-parselmouth 0.4.7 (Praat 6.1.38, which writes the files) on Python 3.11. Consequence: intervals lie elsewhere without a message.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check \
  pympi-ling==1.71 praatio==6.2.2 textgrid==1.6.1 tgt==1.5 praat-parselmouth==0.4.7
venv/bin/python - <<'PYTHON' | tee seen
import parselmouth
import pympi
import textgrid
import tgt
from praatio import textgrid as praatio
from praatio.utilities.errors import ParsingError

call = parselmouth.praat.call
readers = {
    "praat": lambda name: [call(parselmouth.read(name), f"Get {end} time of interval", 1, 1) for end in ("start", "end")],
    "pympi": lambda name: list(next(iter(pympi.Praat.TextGrid(name).tiers)).get_all_intervals())[0][:2],
    "praatio": lambda name: praatio.openTextgrid(name, includeEmptyIntervals=True).tiers[0].entries[0][:2],
    "tgt": lambda name: [getattr(tgt.io.read_textgrid(name).tiers[0].intervals[0], end) for end in ("start_time", "end_time")],
    "textgrid": lambda name: [getattr(textgrid.TextGrid.fromFile(name)[0][0], end) for end in ("minTime", "maxTime")],
}
for begin, boundary in ((-0.5, 1), (0, 0.00001)):
    grid = call("Create TextGrid", begin, 2.5, "words", "")
    call(grid, "Insert boundary", 1, boundary)
    call(grid, "Set interval text", 1, 1, "a")
    call(grid, "Set interval text", 1, 2, "b")
    call(grid, "Save as text file...", "long.TextGrid")
    call(grid, "Save as short text file...", "short.TextGrid")
    for name, form in (("praat", "long"), ("pympi", "long"), ("pympi", "short"), ("praatio", "long"), ("praatio", "short"), ("tgt", "long"),
                       ("textgrid", "long")):
        try:
            print(name, form, *(float(time) for time in readers[name](f"{form}.TextGrid")))
        except ParsingError as error:
            print(name, form, type(error).__name__)
PYTHON
diff seen - <<'EXPECTED'
praat long -0.5 1.0
pympi long 0.5 1.0
pympi short 0.5 1.0
praatio long 0.5 1.0
praatio short -0.5 1.0
tgt long -0.5 1.0
textgrid long -0.5 1.0
praat long 0.0 1e-05
pympi long 0.0 5.0
pympi short 0.0 5.0
praatio long ParsingError
praatio short 0.0 1e-05
tgt long 0.0 1e-05
textgrid long 0.0 1e-05
EXPECTED
echo "as stated"
