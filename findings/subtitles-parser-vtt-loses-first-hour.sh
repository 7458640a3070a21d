#!/usr/bin/env bash
# Hours may be missing in times of WebVTT, and programs such as Whisper leave them out below an hour. The npm package subtitles-parser-vtt leaves out
# each caption with such times: of a short file nothing remains. Names of captions are lost, and the numbers in
# their place may occur twice. A comment, NOTE, is text of the caption before it. Its toVtt writes SubRip. There is no message.
# Seen with subtitles-parser-vtt 0.1.0 on Node 20, captions read:
#   00:01.000 --> 00:02.000, 00:03.000 --> 00:04.000         none
#   59:58.000 --> 59:59.000, 01:00:01.000 --> 01:00:02.000   the second
# Consequence: the first hour of a film has no captions. Write hours into all times.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" subtitles-parser-vtt@0.1.0 >/dev/null
cat >show.js <<'SCRIPT'
const { fromVtt, toVtt } = require("subtitles-parser-vtt");

const read = (...blocks) => fromVtt(["WEBVTT", ...blocks].join("\n\n") + "\n", "ms");
const show = (...blocks) => console.log(JSON.stringify(read(...blocks).map((caption) => [caption.id, caption.startTime, caption.endTime, caption.text])));
show("00:01.000 --> 00:02.000\none", "00:03.000 --> 00:04.000\ntwo");
show("00:00:01.000 --> 00:00:02.000\none", "00:00:03.000 --> 00:00:04.000\ntwo");
show("59:58.000 --> 59:59.000\none", "01:00:01.000 --> 01:00:02.000\ntwo");
show("opening\n00:00:01.000 --> 00:00:02.000\none", "1\n00:00:03.000 --> 00:00:04.000\ntwo");
show("00:00:01.000 --> 00:00:02.000\none", "NOTE a comment", "00:00:03.000 --> 00:00:04.000\ntwo");
console.log(JSON.stringify(toVtt(read("00:00:01.000 --> 00:00:02.000\none"))));
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
[]
[[1,1000,2000,"one"],[2,3000,4000,"two"]]
[[1,3601000,3602000,"two"]]
[[1,1000,2000,"one"],[1,3000,4000,"two"]]
[[1,1000,2000,"one\n\nNOTE a comment"],[2,3000,4000,"two"]]
"1\r\n00:00:01,000 --> 00:00:02,000\r\none\r\n\r\n"
EXPECTED
echo "as stated"
