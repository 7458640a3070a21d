#!/usr/bin/env bash
# MicroDVD's subtitles count frames, and a first line {1}{1}23.976 says how many a second has. Some programs write {0}{0}23.976. pycaption
# knows the second alone: of the first it makes a caption "23.976", and takes 25 a second, so captions are 4 % early, 4 minutes at the end of a
# film. aeidon makes a caption of both, and keeps the rate that it is told. pysubs2 knows the first, and has an error for the second.
# Seen with pycaption 2.3.14, aeidon 2.0.1 (told 25), pysubs2 1.8.1 on Python 3.11, a caption at frame 143856, which is 6,000 s:
#                      pycaption                      aeidon                         pysubs2
#   {1}{1}23.976       a caption "23.976", 5,754 s    a caption "23.976", 5,754 s    6,000 s
#   {0}{0}23.976       6,000 s                        a caption "23.976", 5,754 s    UnknownFPSError
# Consequence: look at the first line, give its number as the frame rate, and remove it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pycaption==2.3.14 aeidon==2.0.1 pysubs2==1.8.1
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import aeidon
import pysubs2
from pycaption import MicroDVDReader

for first in ("{1}{1}", "{0}{0}"):
    text = f"{first}23.976\n{{143856}}{{143880}}the end\n"
    with open("a.sub", "w", encoding="utf-8") as subtitles:
        subtitles.write(text)
    read = MicroDVDReader().read(text)
    print(first, "pycaption", [(caption.start / 1e6, caption.get_text()) for caption in read.get_captions(read.get_languages()[0])])
    project = aeidon.Project(25.0)
    project.open_main("a.sub", "utf_8")
    print(first, "aeidon", [(subtitle.start_seconds, subtitle.main_text) for subtitle in project.subtitles])
    try:
        print(first, "pysubs2", [(event.start / 1000, event.plaintext) for event in pysubs2.load("a.sub")])
    except pysubs2.UnknownFPSError as error:
        print(first, "pysubs2", type(error).__name__)
PYTHON
diff seen - <<'EXPECTED'
{1}{1} pycaption [(0.04, '23.976'), (5754.24, 'the end')]
{1}{1} aeidon [(0.04, '23.976'), (5754.24, 'the end')]
{1}{1} pysubs2 [(6000.0, 'the end')]
{0}{0} pycaption [(6000.0, 'the end')]
{0}{0} aeidon [(0.0, '23.976'), (5754.24, 'the end')]
{0}{0} pysubs2 UnknownFPSError
EXPECTED
echo "as stated"
