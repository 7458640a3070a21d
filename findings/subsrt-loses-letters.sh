#!/usr/bin/env bash
# The npm package subsrt-ts reads SSA and ASS files without the first letter of each text, of its own files and of others. The package subsrt,
# which it comes from, keeps the letters; but it wants lines that end as on Windows: of a SubRip file with Unix lines it makes one
# caption, whose text is the rest of the file with numbers and times, and of such a WebVTT file no caption. Neither has a message.
# Seen with subsrt-ts 2.1.2 and subsrt 1.1.1 on Node 20, two captions:
#                          subsrt-ts          subsrt
#   ASS                    "ne two", "hree"   "one two", "three"
#   SubRip, Unix lines     2 captions         1 caption, until 2 s
#   WebVTT, Unix lines     2 captions         no caption
# Consequence: count the captions and their letters before the source goes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" subsrt-ts@2.1.2 subsrt@1.1.1 >/dev/null
cat >captions.ass <<'ASS'
[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,16

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,one two
Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,three
ASS
cat >captions.srt <<'SRT'
1
00:00:01,000 --> 00:00:02,000
one two

2
00:00:03,000 --> 00:00:04,000
three

SRT
cat >captions.vtt <<'VTT'
WEBVTT

00:00:01.000 --> 00:00:02.000
one two

00:00:03.000 --> 00:00:04.000
three

VTT
cat >show.js <<'SCRIPT'
const fs = require("fs");
for (const name of ["subsrt-ts", "subsrt"]) {
  const library = require(name);
  for (const format of ["ass", "srt", "vtt"]) {
    const captions = library.parse(fs.readFileSync(`captions.${format}`, "utf-8"), { format });
    const texts = captions.filter((caption) => caption.type === "caption" || format === "srt");
    console.log(`${name} ${format}: ${JSON.stringify(texts.map(({ start, end, text }) => [start, end, text.trim()]))}`);
  }
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
subsrt-ts ass: [[1000,2000,"ne two"],[3000,4000,"hree"]]
subsrt-ts srt: [[1000,2000,"one two"],[3000,4000,"three"]]
subsrt-ts vtt: [[1000,2000,"one two"],[3000,4000,"three"]]
subsrt ass: [[1000,2000,"one two"],[3000,4000,"three"]]
subsrt srt: [[1000,2000,"one two\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\nthree"]]
subsrt vtt: []
EXPECTED
echo "as stated"
