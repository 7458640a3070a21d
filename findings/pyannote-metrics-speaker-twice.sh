#!/usr/bin/env bash
# Turns of one speaker may overlap each other in an RTTM file, as those of utterances with padding do. pyannote.metrics then counts the
# speaker as two who speak at once: the total is longer than the speech, and a hypothesis that has the same speech in one turn misses the
# second one. skip_overlap=True leaves such places out. spy-der takes the turns together. There is no message.
# Seen with pyannote-metrics 4.2.0, pyannote-core 6.1.0, spy-der 0.4.1 on Python 3.11, a speaker from 0 to 4 s in turns 0 to 3 s and 2 to 4 s:
#                                  pyannote.metrics    spy-der
#   found: one turn from 0 to 4 s  20 % of 5 s         0 % of 4 s
#   found: the same two turns      0 % of 5 s          0 % of 4 s
# Consequence: error rates depend on how turns are cut. Compute with annotation.support() of both sides.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pyannote-metrics==4.2.0 pyannote-core==6.1.0 pyannote-database==6.1.1 \
  spy-der==0.4.1
cat >a.rttm <<'RTTM'
SPEAKER a 1 0.0 3.0 <NA> <NA> ann <NA> <NA>
SPEAKER a 1 2.0 2.0 <NA> <NA> ann <NA> <NA>
RTTM
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import spyder
from pyannote.core import Annotation, Segment
from pyannote.database.util import load_rttm
from pyannote.metrics.diarization import DiarizationErrorRate

reference = load_rttm("a.rttm")["a"]
one = Annotation()
one[Segment(0, 4)] = "x"


def turns(annotation):
    return [(label, turn.start, turn.end) for turn, _, label in annotation.itertracks(yield_label=True)]


for name, left, right in (("one turn", reference, one), ("two turns", reference, reference), ("support", reference.support(), one)):
    result = DiarizationErrorRate()(left, right, detailed=True)
    other = spyder.DER(turns(left), turns(right))
    print(f"{name}: pyannote.metrics {100 * result['diarization error rate']:.0f} % of {result['total']:.0f} s, "
          f"spy-der {100 * other.der:.0f} % of {other.duration:.0f} s")
PYTHON
diff seen - <<'EXPECTED'
one turn: pyannote.metrics 20 % of 5 s, spy-der 0 % of 4 s
two turns: pyannote.metrics 0 % of 5 s, spy-der 0 % of 4 s
support: pyannote.metrics 0 % of 4 s, spy-der 0 % of 4 s
EXPECTED
echo "as stated"
