#!/usr/bin/env bash
# The npm package node-captions writes hundredths of a second where its TTML and SMPTE-TT have frames: 4.99 s are 00:00:04:99, in files that
# say 24 * 1000 / 1001 frames a second. pycaption reads them as 3.3 s more, and ttconv as the last frame of the second. A caption of SubRip
# that begins at 0 is lost. There is no message.
# Seen with node-captions 0.4.6, its last release, on Node 20 beside pycaption 2.2.19, ttconv 1.2.3 on Python 3.11:
#   SubRip          TTML                          pycaption         ttconv
#   0 to 1.5 s      nothing
#   1.5 to 2.75     00:00:01:50 to 00:00:02:75    2.667 to 4.500    1.960 to 2.961
#   3.05 to 4.99    00:00:03:05 to 00:00:04:99    3.167 to 7.300    3.212 to 4.963
# Consequence: captions come up to 3 s late, and overlap. Write WebVTT with it, and let the first caption begin at 1 ms.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pycaption==2.2.19 ttconv==1.2.3
npm install --silent --no-fund --no-audit --prefix "$work" node-captions@0.4.6 >/dev/null
cat >show.js <<'SCRIPT'
const fs = require("fs");
const { srt, ttml } = require("node-captions");
const lines = `1
00:00:00,000 --> 00:00:01,500
zero

2
00:00:01,500 --> 00:00:02,750
one

3
00:00:03,050 --> 00:00:04,990
two
`.split("\n");
const captions = srt.toJSON(lines);
console.log(srt.generate(captions).match(/.* --> .*/g).map((times) => `SubRip, read and written: ${times}`).join("\n"));
fs.writeFileSync("written.ttml", ttml.generate(captions));
const file = fs.readFileSync("written.ttml", "utf8");
console.log(file.match(/ttp:frameRate\S+ ttp:frameRateMultiplier="[^"]*"/)[0]);
console.log(file.match(/<p region.*/g).join("\n"));
SCRIPT
node show.js 2>/dev/null | tee seen
venv/bin/python - <<'PYTHON' 2>/dev/null | tee -a seen
from xml.etree import ElementTree

import ttconv.imsc.reader
import ttconv.srt.writer
from pycaption import DFXPReader

with open("written.ttml") as file:
    for caption in DFXPReader().read(file.read()).get_captions("en-US"):
        print(f"pycaption: {caption.start / 1e6:.3f} to {caption.end / 1e6:.3f} s, {caption.get_text()}")
document = ttconv.imsc.reader.to_model(ElementTree.parse("written.ttml"))
for line in ttconv.srt.writer.from_model(document).splitlines():
    if "-->" in line:
        print("ttconv:", line)
PYTHON
diff seen - <<'EXPECTED'
SubRip, read and written: 00:00:01,500 --> 00:00:02,750
SubRip, read and written: 00:00:03,050 --> 00:00:04,990
ttp:frameRate="24" ttp:frameRateMultiplier="1000 1001"
<p region="pop1" begin="00:00:01:50" style="normal" end="00:00:02:75">one</p>
<p region="pop1" begin="00:00:03:05" style="normal" end="00:00:04:99">two</p>
pycaption: 2.667 to 4.500 s, one
pycaption: 3.167 to 7.300 s, two
ttconv: 00:00:01,960 --> 00:00:02,961
ttconv: 00:00:03,212 --> 00:00:04,963
EXPECTED
echo "as stated"
