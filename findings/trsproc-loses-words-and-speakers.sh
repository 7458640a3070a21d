#!/usr/bin/env bash
# trsproc gives all speakers of a TextGrid the id spk1 when it writes a Transcriber file: its turns are all of one speaker. Of a Transcriber
# file it loses the words before a change of language within a segment, and all words in the other language. Tags of background noise and
# comments are words, and &amp; stays. There is no message.
# Seen with trsproc 2.1.1 on Python 3.11:
#   TextGrid with Ann, Bob, Carol                                spk1, spk1, spk1
#   he said <Event desc="fr" ...> bonjour <Event ...> to all     "[-lang=fr]to all", 2 tokens
#   <Background time="2" type="music" level="high"/> good        "<Background ... level="high"/> good", 4 tokens
# Consequence: statistics of corpora count tags as words and lose words, and who spoke is lost. Read Transcriber files with an XML reader.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check trsproc==2.1.1
cat >talk.trs <<'TRS'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE Trans SYSTEM "trans-14.dtd">
<Trans scribe="a" audio_filename="talk" version="1" version_date="260101">
<Speakers>
<Speaker id="spk1" name="Ann" check="no" type="female" dialect="native" accent="" scope="local"/>
</Speakers>
<Episode>
<Section type="report" startTime="0" endTime="6">
<Turn speaker="spk1" startTime="0" endTime="6">
<Sync time="0"/>
he said
<Event desc="fr" type="language" extent="begin"/>
bonjour
<Event desc="fr" type="language" extent="end"/>
to all
<Sync time="2"/>
<Background time="2" type="music" level="high"/>
good
<Sync time="4"/>
<Comment desc="not clear"/>
research &amp; development
</Turn>
</Section>
</Episode>
</Trans>
TRS
cat >show.py <<'PYTHON'
import re

from trsproc.parser import TRSParser, textgrid_to_trs


def tier(number, name, labels):
    intervals = "".join(
        f'        intervals [{i + 1}]:\n            xmin = {i} \n            xmax = {i + 1} \n            text = "{label}" \n'
        for i, label in enumerate(labels)
    )
    return (
        f'    item [{number}]:\n        class = "IntervalTier" \n        name = "{name}" \n        xmin = 0 \n        xmax = 3 \n'
        f"        intervals: size = {len(labels)} \n{intervals}"
    )


with open("grid.TextGrid", "w") as file:
    file.write('File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0 \nxmax = 3 \ntiers? <exists> \nsize = 3 \nitem []: \n')
    file.write(tier(1, "transcription", ("how are you", "fine", "good")))
    file.write(tier(2, "speaker", ("Ann", "Bob", "Carol")) + tier(3, "sex", ("female", "male", "female")))
textgrid_to_trs("./grid.TextGrid")
with open("grid.trs") as file:
    text = file.read()
print("ids of Ann, Bob, Carol:", *(re.search(f'id="(.*?)" name="{name}"', text)[1] for name in ("Ann", "Bob", "Carol")))
print("speakers of the turns:", *re.findall('<Turn speaker="(.*?)"', text))
contents = TRSParser("talk.trs").contents
for number in (1, 2, 3):
    print(f"segment {number}: {contents[number]['content']!r}, {contents[number]['tokens']} tokens")
PYTHON
venv/bin/python show.py | grep -v Writing | tee seen
diff seen - <<'EXPECTED'
ids of Ann, Bob, Carol: spk1 spk1 spk1
speakers of the turns: spk1 spk1 spk1
segment 1: '[-lang=fr]to all', 2 tokens
segment 2: '<Background time="2" type="music" level="high"/> good', 4 tokens
segment 3: '<Comment desc="not clear"/> research &amp; development', 5 tokens
EXPECTED
echo "as stated"
