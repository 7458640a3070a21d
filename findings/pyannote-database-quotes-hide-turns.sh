#!/usr/bin/env bash
# pyannote.database reads STM, RTTM and LAB files as tables of pandas, in which quotation marks and the name NA have a meaning. A quotation
# that goes over several turns of an STM file makes one turn of them. A speaker with the name NA (initials, say) or null becomes a number that
# is not a number, and a recording of that name is missing. A short comment in front of the turns loses them all. There is no message.
# Seen with pyannote-database 6.1.1, pandas 3.1.1 on Python 3.11, three turns of two speakers:
#   as they are                                       3 turns
#   the first begins a quotation, the last ends it    1 turn
#   behind the comment ";; draft"                     no turn
#   RTTM with the speakers NA, null and ben           nan, nan, ben
# Consequence: count the turns; read such files line by line.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pyannote-database==6.1.1 pandas==3.1.1
cat >plain.stm <<'STM'
rec 1 ann 0.0 2.0 <o> so we began
rec 1 ben 2.0 4.0 <o> yes
rec 1 ann 4.0 6.0 <o> and went on
STM
sed 's/so we/"so we/; s/went on/went on"/' plain.stm >quoted.stm
(echo ';; draft' && cat plain.stm) >comment.stm
cat >speakers.rttm <<'RTTM'
SPEAKER rec 1 0.0 2.0 <NA> <NA> NA <NA> <NA>
SPEAKER rec 1 2.0 2.0 <NA> <NA> null <NA> <NA>
SPEAKER rec 1 4.0 2.0 <NA> <NA> ben <NA> <NA>
SPEAKER NA 1 0.0 2.0 <NA> <NA> ann <NA> <NA>
RTTM
printf '0 1 NA\n1 2 speech\n' >a.lab
venv/bin/python - <<'PYTHON' | tee seen
from pyannote.database.util import load_lab, load_rttm, load_stm


def turns(annotation):
    return [(turn.start, turn.end, label) for turn, _, label in annotation.itertracks(yield_label=True)]


for name in ("plain", "quoted", "comment"):
    print(name, {recording: turns(annotation) for recording, annotation in load_stm(f"{name}.stm").items()})
print("rttm", {recording: turns(annotation) for recording, annotation in load_rttm("speakers.rttm").items()})
print("lab", turns(load_lab("a.lab")))
PYTHON
diff seen - <<'EXPECTED'
plain {'rec': [(0.0, 2.0, 'ann'), (2.0, 4.0, 'ben'), (4.0, 6.0, 'ann')]}
quoted {'rec': [(0.0, 2.0, 'ann')]}
comment {';;': [], 'rec': []}
rttm {'rec': [(0.0, 2.0, nan), (2.0, 4.0, nan), (4.0, 6.0, 'ben')]}
lab [(0.0, 1.0, nan), (1.0, 2.0, 'speech')]
EXPECTED
echo "as stated"
