#!/usr/bin/env bash
# The npm package aws-transcription-to-srt writes SubRip with the times of WebVTT: a point before the milliseconds where SubRip has a comma.
# The npm package node-captions reads no caption of such a file, and the npm package srt reads captions without times; both give no message.
# pycaption refuses the file. Two marks in a row, such as a full stop and a quotation mark, become a caption from "aN:aN:000NaN".
# Seen with aws-transcription-to-srt 1.0.6, srt 0.0.3, node-captions 0.4.6 on Node 20, a result of Amazon Transcribe with one sentence:
#   written                                    node-captions    srt
#   00:00:00.500 --> 00:00:00.900              0 captions       start NaN
#   the same with commas instead of points     1 caption        start 500
# Consequence: which captions are there depends on the player. Replace the point in the lines of times by a comma, and join marks before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" aws-transcription-to-srt@1.0.6 srt@0.0.3 node-captions@0.4.6 >/dev/null
cat >show.js <<'SCRIPT'
const convert = require("aws-transcription-to-srt");
const { srt: captions } = require("node-captions");
const { fromString } = require("srt");
const word = (content, start_time, end_time) => ({ type: "pronunciation", start_time, end_time, alternatives: [{ content }] });
const mark = (content) => ({ type: "punctuation", alternatives: [{ content }] });
const written = (...items) => convert({ results: { items } });
const points = written(word("Good", "0.5", "0.7"), word("morning", "0.7", "0.9"), mark("."));
const commas = points.replace(/(\d)\.(\d{3})/g, "$1,$2");
for (const text of [points, commas]) {
  console.log(text.trim());
  console.log("node-captions:", captions.toJSON(text.split("\n")).length, "captions");
  for (const { startTime, endTime } of Object.values(fromString(text))) console.log(`srt: ${startTime} to ${endTime}`);
}
console.log(written(word("Stop", "0.5", "0.9"), mark("."), mark('"')).trim());
SCRIPT
node show.js 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
1
00:00:00.500 --> 00:00:00.900
Good morning.
node-captions: 0 captions
srt: NaN to NaN
1
00:00:00,500 --> 00:00:00,900
Good morning.
node-captions: 1 captions
srt: 500 to 900
1
00:00:00.500 --> 00:00:00.900
Stop.

2
aN:aN:000NaN --> aN:aN:000NaN
"
EXPECTED
echo "as stated"
