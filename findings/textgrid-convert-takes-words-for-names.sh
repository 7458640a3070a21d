#!/usr/bin/env bash
# textgrid-convert makes TextGrids of subtitles, SBV of YouTube and SRT, and of Rev's JSON. In SBV a word in capitals before a colon is the name of
# the speaker, also in the middle of a text. Later captions that begin with the letters of the name lose them. The speaker whom to_darla_textgrid
# is told to keep is not the only one: it writes the words of all. Quotation marks are not doubled, so labels end at the first.
# Seen with textgrid-convert 1.2.0, which wants pytest without saying so, and pytest 9.2.0 on Python 3.11:
#   ANN: hello            speaker ANN, "hello"
#   ANNA left early       speaker ANN, "A left early"
#   see RULE: one         speaker RULE, "see RULE: one"
#   RULES are rules       speaker RULE, "S are rules"
# Consequence: words are missing or in the tier of someone else. Compare the words of the TextGrid with those of the captions.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check textgrid-convert==1.2.0 pytest==9.2.0
venv/bin/python -W ignore - 2>/dev/null <<'PYTHON' | tee seen
import json

from textgrid_convert.revParser import revParser
from textgrid_convert.sbvParser import sbvParser
from textgrid_convert.srtParser import srtParser

texts = ("ANN: hello", "ANNA left early", "see RULE: one", "RULES are rules")
sbv = "".join(f"0:00:0{at}.000,0:00:0{at}.900\n{text}\n\n" for at, text in enumerate(texts))
for caption in sbvParser(sbv).transcription_dict.values():
    print(f"{caption['speaker_name']}: {caption['text']}")


def monologue(speaker, name, word, second):
    element = {"type": "text", "value": word, "timestamp": f"00:00:0{second},000", "end_timestamp": f"00:00:0{second},900"}
    return {"speaker": speaker, "speaker_id": speaker, "speaker_name": name, "elements": [element]}


rev = {"speakers": [{"id": 0, "name": "Ann"}, {"id": 1, "name": "Bob"}],
       "monologues": [monologue(0, "Ann", "hello", 1), monologue(1, "Bob", "bye", 3)]}
grids = {"speaker 0 of Rev": revParser(json.dumps(rev)).to_darla_textgrid(speaker_id=0),
         "quotes": srtParser('1\n00:00:01,000 --> 00:00:02,000\nthe "q" key\n').to_textgrid()}
for name, grid in grids.items():
    print(f"{name}:", *(line.strip() for line in grid.splitlines() if "text =" in line))
PYTHON
diff seen - <<'EXPECTED'
ANN: hello
ANN: A left early
RULE: see RULE: one
RULE: S are rules
speaker 0 of Rev: text = "hello" text = "bye"
quotes: text = "the "q" key"
EXPECTED
echo "as stated"
