#!/usr/bin/env bash
# In WebVTT an ampersand is written "&amp;" and "<" is "&lt;". webvtt-py and pysubs2 remove tags from a text but leave the escapes, also where
# they promise plain text, and pysubs2 leaves "&amp;" when it converts to SubRip, which has no escapes: a viewer shows five letters, and a
# list of words gets the word "amp". pysubs2 leaves the times within a line (<00:02.000>) too. Seen with webvtt-py 0.6.0, pysubs2 1.8.1 on
# Python 3.11. Consequence: decode with html.unescape after the tags have gone, not before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check webvtt-py==0.6.0 pysubs2==1.8.1
cat >a.vtt <<'SUBTITLES'
WEBVTT

00:01.000 --> 00:03.500
<v Fred>Tom &amp; <i>Jerry</i>, 3 &lt; 4 <00:02.000>again</v>
SUBTITLES
venv/bin/python - <<'PYTHON' | tee seen
import pysubs2
import webvtt

print("webvtt", webvtt.read("a.vtt")[0].text)
subtitles = pysubs2.load("a.vtt")
print("pysubs2", subtitles[0].plaintext)
print("SubRip", subtitles.to_string("srt").split("\n")[2])
PYTHON
diff seen - <<'EXPECTED'
webvtt Tom &amp; Jerry, 3 &lt; 4 again
pysubs2 Tom &amp; Jerry, 3 &lt; 4 <00:02.000>again
SubRip Tom &amp; <i>Jerry</i>, 3 &lt; 4 <00:02.000>again
EXPECTED
echo "as stated"
