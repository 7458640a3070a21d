#!/usr/bin/env bash
# The npm package media-captions adds each line between two events of an ASS file to the caption before it: a "Comment:", which no player
# shows, the sections that Aegisub writes behind the events, and lines that begin with a semicolon. Drawings are read as words. There is
# no message, and no error in the result. The npm package ass-compiler leaves comments out.
# Seen with media-captions 1.0.4, ass-compiler 0.1.16 on Node 20:
#   Dialogue: ...,one       Comment: ...,check this     "one\nComment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,check this"
#   Dialogue: ...,two       [Aegisub Extradata]         "two\n[Aegisub Extradata]"
#   {\p1}m 0 0 l 100 0{\p0}                             "m 0 0 l 100 0"
# Consequence: viewers read what translators wrote to each other, and transcripts made of subtitles have words that nobody said. Cut out
# all lines but dialogues before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" media-captions@1.0.4 ass-compiler@0.1.16 >/dev/null
cat >show.mjs <<'SCRIPT'
import { parse } from "ass-compiler";
import { parseText } from "media-captions";
const events = [
  "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,one",
  "Comment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,check this",
  "Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,{\\p1}m 0 0 l 100 0{\\p0}",
  "; a remark",
  "Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,two",
  "[Aegisub Extradata]",
  "Data: 1,name,value",
];
const file = `[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,20

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
${events.join("\n")}
`;
const { cues, errors } = await parseText(file, { type: "ass" });
for (const cue of cues) console.log(`${cue.startTime} to ${cue.endTime}: ${JSON.stringify(cue.text)}`);
console.log(`${errors.length} errors`);
for (const event of parse(file).events.dialogue) {
  console.log(`ass-compiler, ${event.Start} to ${event.End}: ${JSON.stringify(event.Text.combined)}`);
}
SCRIPT
node show.mjs | tee seen
diff seen - <<'EXPECTED'
1 to 2: "one\nComment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,check this"
3 to 4: "m 0 0 l 100 0\n; a remark"
5 to 6: "two\n[Aegisub Extradata]\nData: 1,name,value"
0 errors
ass-compiler, 1 to 2: "one"
ass-compiler, 3 to 4: ""
ass-compiler, 5 to 6: "two"
EXPECTED
echo "as stated"
