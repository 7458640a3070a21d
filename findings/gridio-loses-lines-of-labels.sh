#!/usr/bin/env bash
# A label of a TextGrid may have several lines, and quotation marks in it are written twice. gridio keeps the first line of a label in a long
# TextGrid, and drops the others. It leaves doubled marks as they are, but takes all marks off the ends of a label. It writes marks with
# backslashes, as JSON has them: Praat refuses such files, and gridio reads the backslashes as text. There is no message.
# Seen with gridio 1.0.5, praat-parselmouth 0.4.7 (Praat 6.1.38, which writes the file) on Python 3.11:
#   label in Praat            label in gridio
#   say "q"                   say ""q
#   one, line break, two      one
#   "why"                     why
#   say "q" now               say ""q"" now, written as \"\"q\"\"
# Consequence: words are missing, and texts change with each reading and writing. Read TextGrids with Praat itself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check gridio==1.0.5 praat-parselmouth==0.4.7
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import gridio
import parselmouth
from parselmouth.praat import call

grid = call("Create TextGrid", 0, 4, "words tones", "tones")
for at, label in enumerate(['say "q"', "one\ntwo", '"why"', 'say "q" now']):
    if at:
        call(grid, "Insert boundary", 1, at)
    call(grid, "Set interval text", 1, at + 1, label)
call(grid, "Insert point", 2, 0.5, 'high "H*"')
call(grid, "Save as text file", "a.TextGrid")
read = parselmouth.read("a.TextGrid")
print("Praat:", [call(read, "Get label of interval", 1, at) for at in range(1, 5)], [call(read, "Get label of point", 2, 1)])
data = gridio.textgrid_to_data("a.TextGrid")
print("gridio:", *([item[2] for item in items] for _, _, items in data[2]))
gridio.data_to_textgrid((0.0, 1.0, [("words", True, [(0.0, 1.0, 'say "q" now')])]), "b.TextGrid")
with open("b.TextGrid") as file:
    print("written:", next(line.strip() for line in file if "text =" in line))
print("gridio:", gridio.textgrid_to_data("b.TextGrid")[2][0][2][0][2])
try:
    parselmouth.read("b.TextGrid")
except parselmouth.PraatError as error:
    print("Praat:", str(error).splitlines()[0])
PYTHON
diff seen - <<'EXPECTED'
Praat: ['say "q"', 'one\ntwo', '"why"', 'say "q" now'] ['high "H*"']
gridio: ['say ""q', 'one', 'why', 'say ""q"" now'] ['high ""H*']
written: text = "say \"q\" now"
gridio: say \"q\" now
Praat: Character q following quote (line 18). End of string or undoubled quote?
EXPECTED
echo "as stated"
