#!/usr/bin/env bash
# lattifai-captions converts subtitles. Italics of SubRip, <i>, are codes of another format within it, and it writes them as text to WebVTT, YouTube's
# SBV, LRC, TTML and CSV: words such as {\i1}now{\i0}. In LRC, TSV and Audacity's labels it writes a caption of two lines as it is, though a line
# is an entry there: reading such a file it leaves out each second line. Text between "<" and ">" is lost. There is no message.
# Seen with lattifai-captions 0.4.17 on Python 3.11, a caption of the two lines "Who is it?" and "It is <i>me</i> now.":
#   written to WebVTT, SBV, TTML, CSV   It is {\i1}me{\i0} now.
#   written to LRC, TSV, AUD, and read  Who is it?
#   one < two > three                   one three
# Consequence: captions show codes, and words are missing after a conversion. Remove tags and line breaks before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check lattifai-captions==0.4.17
cat >a.srt <<'SUBRIP'
1
00:00:01,000 --> 00:00:02,000
Who is it?
It is <i>me</i> now.

2
00:00:02,000 --> 00:00:03,000
one < two > three
SUBRIP
venv/bin/python - <<'PYTHON' | tee seen
from lattifai.caption import Caption

captions = Caption.read("a.srt")
print("read", [caption.text for caption in captions.supervisions])
for form in ("srt", "vtt", "sbv", "ttml", "csv", "lrc", "tsv", "aud"):
    captions.write(f"b.{form}")
    with open(f"b.{form}") as file:
        line = next(line.strip() for line in file if "It is" in line)
    print(form, [caption.text for caption in Caption.read(f"b.{form}").supervisions], "| line:", line)
PYTHON
diff seen - <<'EXPECTED'
read ['Who is it?\nIt is {\\i1}me{\\i0} now.', 'one three']
srt ['Who is it?\nIt is {\\i1}me{\\i0} now.', 'one three'] | line: It is <i>me</i> now.
vtt ['Who is it? It is {\\i1}me{\\i0} now.', 'one three'] | line: It is {\i1}me{\i0} now.
sbv ['Who is it? It is {\\i1}me{\\i0} now.', 'one three'] | line: It is {\i1}me{\i0} now.
ttml ['Who is it?\nIt is {\\i1}me{\\i0} now.', 'one three'] | line: It is {\i1}me{\i0} now.</p>
csv ['Who is it? It is {\\i1}me{\\i0} now.', 'one three'] | line: It is {\i1}me{\i0} now."
lrc ['Who is it?', 'one three'] | line: It is {\i1}me{\i0} now.
tsv ['Who is it?', 'one three'] | line: It is {\i1}me{\i0} now.
aud ['Who is it?', 'one three'] | line: It is {\i1}me{\i0} now.
EXPECTED
echo "as stated"
