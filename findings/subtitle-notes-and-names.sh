#!/usr/bin/env bash
# In WebVTT a caption may have a name in the line before its times, and a line that begins with NOTE is a comment. The npm package subtitle takes
# the name of a caption for the end of the text before it. Its comments count in SubRip too, which has none: a second line of text
# that begins with NOTE, or NOTED, is lost with the lines behind it. The package subtitles-parser-vtt takes names and comments for text.
# Times from 24 h on, as a broadcast's clock has, begin again at 0 in subtitle, with milliseconds of eight digits. There is no message.
# Seen with subtitle 4.2.2 and subtitles-parser-vtt 0.1.0 on Node 20:
#   WebVTT: "one", then a caption "two" with the name "ann"     "one\n\nann" and "two" in both
#   SubRip: "see", "NOTE the date", "and time"                  "see" in subtitle
#   25 h and 500 ms, written by subtitle                        01:00:00,86400500
# Consequence: words in transcripts that nobody said, and others are missing. Look for blank lines in texts.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" subtitle@4.2.2 subtitles-parser-vtt@0.1.0 >/dev/null
cat >show.js <<'SCRIPT'
const subtitle = require("subtitle");
const parser = require("subtitles-parser-vtt");

const vtt = `WEBVTT

00:00:01.000 --> 00:00:02.000
one

ann
00:00:03.000 --> 00:00:04.000
two

NOTE a comment

00:00:05.000 --> 00:00:06.000
three
`;
const srt = `1
00:00:01,000 --> 00:00:02,000
see
NOTE the date
and time

2
00:00:03,000 --> 00:00:04,000
NOTED
`;
const texts = (content) => JSON.stringify(subtitle.parseSync(content).filter((node) => node.type === "cue").map((cue) => cue.data.text));
console.log("subtitle, WebVTT", texts(vtt));
console.log("subtitle, SubRip", texts(srt));
console.log("subtitles-parser-vtt, WebVTT", JSON.stringify(parser.fromVtt(vtt).map((caption) => caption.text)));
console.log("subtitle, 23 h and 25 h", subtitle.formatTimestamp(23 * 3600000 + 500), subtitle.formatTimestamp(25 * 3600000 + 500));
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
subtitle, WebVTT ["one\n\nann","two","three"]
subtitle, SubRip ["see","NOTED"]
subtitles-parser-vtt, WebVTT ["one\n\nann","two\n\nNOTE a comment","three"]
subtitle, 23 h and 25 h 23:00:00,500 01:00:00,86400500
EXPECTED
echo "as stated"
