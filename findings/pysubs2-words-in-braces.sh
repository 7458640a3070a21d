#!/usr/bin/env bash
# pysubs2 keeps all subtitles as SubStation's, where braces hold commands. So a SubRip or WebVTT file loses what is in braces ({laughs}) when
# it is read and written, and where plain text is asked for; and the letters \N, \n and \h become breaks and blanks. SubRip has no
# such commands, and srt and pysrt keep all. Seen with pysubs2 1.8.1, srt 3.5.3 on Python 3.11:
#   {laughs} go to C:\New   becomes   " go to C:" and "ew"
# Consequence: read SubRip with srt where the words count.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pysubs2==1.8.1 srt==3.5.3
printf '1\n00:00:01,000 --> 00:00:02,500\n{laughs} go to C:\\New\n' >a.srt
venv/bin/python - <<'PYTHON' | tee seen
import pysubs2
import srt

subtitles = pysubs2.load("a.srt")
print("plain", repr(subtitles[0].plaintext))
print("written", subtitles.to_string("srt").split("\n")[2:4])
print("srt", repr(next(srt.parse(open("a.srt").read())).content))
PYTHON
diff seen - <<'EXPECTED'
plain ' go to C:\new'
written ['go to C:', 'ew']
srt '{laughs} go to C:\\New'
EXPECTED
echo "as stated"
