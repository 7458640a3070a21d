#!/usr/bin/env bash
# Recordings of meetings and radio may be longer than a day. The npm package @deepgram/captions, which writes captions of Deepgram and AssemblyAI,
# takes times for times of day: at 24 h it begins again at 00:00:00. It also cuts times off instead of rounding them. The npm packages srt-parser-2
# and subtitles-parser know hours of two digits alone: from 100 h on, each caption is text of the one before. There is no message.
# Seen with @deepgram/captions 1.2.0, srt-parser-2 1.2.3, subtitles-parser 0.0.2, parse-srt 1.0.0-alpha on Node 20:
#   86400 s, 90000.5 s in @deepgram/captions   00:00:00.000, 01:00:00.500
#   1.005 s in @deepgram/captions              00:00:01.004
#   SubRip with captions at 99 h and 100 h     one caption in srt-parser-2 and subtitles-parser, two in parse-srt
# Consequence: captions of the second day lie above those of the first. Write hours yourself, and divide long files.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" @deepgram/captions@1.2.0 srt-parser-2@1.2.3 subtitles-parser@0.0.2 parse-srt@1.0.0-alpha >/dev/null
cat >show.js <<'SCRIPT'
const { secondsToTimestamp, webvtt } = require("@deepgram/captions");
const SrtParser = require("srt-parser-2").default;
const subtitlesParser = require("subtitles-parser");
const parseSrt = require("parse-srt");

for (const seconds of [1.005, 86399.5, 86400, 90000.5]) console.log(seconds, secondsToTimestamp(seconds));
const words = [{ word: "one", start: 86399, end: 86399.5 }, { word: "two", start: 90000, end: 90000.5 }];
const utterances = words.map((word) => ({ start: word.start, end: word.end, transcript: word.word, words: [word] }));
console.log(...webvtt({ results: { utterances } }).split("\n").filter((line) => line.includes("-->")));
const srt = "1\n99:59:58,000 --> 99:59:59,000\none\n\n2\n100:00:00,000 --> 100:00:01,000\ntwo\n";
console.log("srt-parser-2:", JSON.stringify(new SrtParser().fromSrt(srt).map((caption) => [caption.startSeconds, caption.text])));
console.log("subtitles-parser:", JSON.stringify(subtitlesParser.fromSrt(srt, true).map((caption) => [caption.startTime, caption.text])));
console.log("parse-srt:", JSON.stringify(parseSrt(srt).map((caption) => [caption.start, caption.text])));
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
1.005 00:00:01.004
86399.5 23:59:59.500
86400 00:00:00.000
90000.5 01:00:00.500
23:59:59.000 --> 23:59:59.500 01:00:00.000 --> 01:00:00.500
srt-parser-2: [[359998,"one\n\n2\n100:00:00,000 --> 100:00:01,000\ntwo"]]
subtitles-parser: [[359998000,"one\n\n2\n100:00:00,000 --> 100:00:01,000\ntwo"]]
parse-srt: [[359998,"one"],[360000,"two"]]
EXPECTED
echo "as stated"
