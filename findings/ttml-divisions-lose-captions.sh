#!/usr/bin/env bash
# The body of a TTML file may have several divisions, and a division may have a time that those of its paragraphs count from. pycaption keeps
# the captions of the last division alone, and ignores its time. ttconv leaves out all captions of a division that has a begin and no end,
# though it then lasts as long as what is in it. Neither has a message. pysubs2 reads both.
# Seen with pycaption 2.3.14, ttconv 1.2.3, pysubs2 1.8.1 on Python 3.11:
#                                                pycaption      ttconv      pysubs2
#   captions at 1 s and 2 s, and one behind      20 s           1, 2, 20    1, 2, 20
#   them at 20 s in a division of its own
#   caption at 1 s in a division from 10 s on    1 s            nothing     11 s
#   the same, the division ends at 30 s          1 s            11 s        11 s
# Consequence: count the captions, and compare a time near the end with the sound.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pycaption==2.3.14 ttconv==1.2.3 pysubs2==1.8.1
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import subprocess

import pycaption
import pysubs2

bodies = {
    "two": '<div><p begin="1s" end="2s">a</p><p begin="2s" end="3s">b</p></div><div><p begin="20s" end="21s">c</p></div>',
    "begin": '<div begin="10s"><p begin="1s" end="2s">a</p></div>',
    "begin and end": '<div begin="10s" end="30s"><p begin="1s" end="2s">a</p></div>',
}
for what, body in bodies.items():
    with open("a.ttml", "w") as captions:
        captions.write('<?xml version="1.0" encoding="UTF-8"?>\n<tt xmlns="http://www.w3.org/ns/ttml" xml:lang="en">')
        captions.write(f"<body>{body}</body></tt>\n")
    with open("a.ttml") as captions:
        read = pycaption.DFXPReader().read(captions.read())
    print(f"{what}, pycaption:", [(c.start / 1e6, c.get_text()) for c in read.get_captions("en")])
    subprocess.run(["venv/bin/tt", "convert", "-i", "a.ttml", "-o", "a.srt"], check=True, capture_output=True)
    print(f"{what}, ttconv:", [(c.start / 1e3, c.text) for c in pysubs2.load("a.srt", format_="srt")])
    print(f"{what}, pysubs2:", [(c.start / 1e3, c.text) for c in pysubs2.load("a.ttml")])
PYTHON
diff seen - <<'EXPECTED'
two, pycaption: [(20.0, 'c')]
two, ttconv: [(1.0, 'a'), (2.0, 'b'), (20.0, 'c')]
two, pysubs2: [(1.0, 'a'), (2.0, 'b'), (20.0, 'c')]
begin, pycaption: [(1.0, 'a')]
begin, ttconv: []
begin, pysubs2: [(11.0, 'a')]
begin and end, pycaption: [(1.0, 'a')]
begin and end, ttconv: [(11.0, 'a')]
begin and end, pysubs2: [(11.0, 'a')]
EXPECTED
echo "as stated"
