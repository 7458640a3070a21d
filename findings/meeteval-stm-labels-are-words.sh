#!/usr/bin/env bash
# A line of an STM file may have a label in angle brackets in front of its words, such as <o,f0,male>, and many published ones have it.
# MeetEval takes it for a word, so each turn of the reference has one deletion more. A region that STM excludes by
# IGNORE_TIME_SEGMENT_IN_SCORING is scored, with that name as a word. The signs of alternatives, { a / b }, and optional words, (uh), are
# words. MeetEval's description of the format has none of these, but links that of NIST, which has all. There is no message.
# Seen with meeteval 0.4.3 on Python 3.11, a hypothesis that says what the reference says, cpWER:
#   without labels                                0 errors of 7 words
#   with labels                                   2 errors of 9 words
#   music in an excluded region, 2 words in it    2 errors of 8 words
#   { so / well } we (uh) began                   5 errors of 8 words
# Consequence: remove labels and excluded regions before, or error rates depend on the number of turns.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check meeteval==0.4.3
venv/bin/python -W ignore - 2>/dev/null <<'PYTHON' | tee seen
import meeteval
from meeteval.io import STM

SAID = "rec 1 A 0.0 2.0 so we began\nrec 1 B 2.0 4.0 yes we did indeed\n"
for name, reference, hypothesis in (
        ("without labels", SAID, SAID),
        ("labels", "rec 1 A 0.0 2.0 <o,f0,female> so we began\nrec 1 B 2.0 4.0 <o,f0,male> yes we did indeed\n", SAID),
        ("excluded region", SAID + "rec 1 B 4.0 9.0 IGNORE_TIME_SEGMENT_IN_SCORING\n", SAID + "rec 1 B 5.0 8.0 la la\n"),
        ("alternatives", "rec 1 A 0.0 2.0 { so / well } we (uh) began\n", "rec 1 A 0.0 2.0 so we began\n")):
    score = meeteval.wer.cpwer(STM.parse(reference), STM.parse(hypothesis))["rec"]
    print(f"{name}: {score.errors} errors of {score.length} words, {score.insertions} inserted, {score.deletions} deleted")
PYTHON
diff seen - <<'EXPECTED'
without labels: 0 errors of 7 words, 0 inserted, 0 deleted
labels: 2 errors of 9 words, 0 inserted, 2 deleted
excluded region: 2 errors of 8 words, 1 inserted, 0 deleted
alternatives: 5 errors of 8 words, 0 inserted, 5 deleted
EXPECTED
echo "as stated"
