#!/usr/bin/env bash
# The npm package simple-subtitle-parser makes one caption of a SubRip file whose lines end with CR LF, as SubRip's own program writes them:
# all later captions, their numbers and their times are its text. A WebVTT file with such lines has no captions at all, and a caption of
# WebVTT with settings behind its times has no end (NaN). There is no message. The npm package @remotion/captions reads both kinds of lines.
# Seen with simple-subtitle-parser 2.0.0, @remotion/captions 4.0.529 on Node 20, two captions:
#   SubRip, LF       2 captions     WebVTT, LF                        2 captions, ends 2 and 4
#   SubRip, CR LF    1 caption      WebVTT, CR LF                     0 captions
#                                   WebVTT, settings in the first     2 captions, ends NaN and 4
# Consequence: a SubRip file of Windows is one caption that lasts as long as its first. Replace CR LF, and cut off settings, before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" simple-subtitle-parser@2.0.0 @remotion/captions@4.0.529 >/dev/null
cat >show.js <<'SCRIPT'
const { parser } = require("simple-subtitle-parser");
const { parseSrt } = require("@remotion/captions");
const srt = "1\n00:00:01,000 --> 00:00:02,000\none\n\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n";
const vtt = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\none\n\n00:00:03.000 --> 00:00:04.000\ntwo\n";
const files = [
  ["SubRip, LF", "SRT", srt],
  ["SubRip, CR LF", "SRT", srt.replaceAll("\n", "\r\n")],
  ["WebVTT", "WEBVTT", vtt],
  ["WebVTT, CR LF", "WEBVTT", vtt.replaceAll("\n", "\r\n")],
  ["WebVTT, settings", "WEBVTT", vtt.replace("02.000", "02.000 align:start")],
];
(async () => {
  for (const [name, format, text] of files) {
    const cues = await parser(format, text);
    console.log(`${name}: ${cues.length} captions`);
    for (const cue of cues) {
      console.log(`${name}: ${cue.startTime.totals.inSeconds} to ${cue.endTime.totals.inSeconds}, ${JSON.stringify(cue.text)}`);
    }
    if (format === "SRT") console.log(`${name}, @remotion/captions: ${parseSrt({ input: text }).captions.length} captions`);
  }
})();
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
SubRip, LF: 2 captions
SubRip, LF: 1 to 2, ["one"]
SubRip, LF: 3 to 4, ["two"]
SubRip, LF, @remotion/captions: 2 captions
SubRip, CR LF: 1 captions
SubRip, CR LF: 1 to 2, ["one\r","\r","2\r","00:00:03,000 --> 00:00:04,000\r","two\r"]
SubRip, CR LF, @remotion/captions: 2 captions
WebVTT: 2 captions
WebVTT: 1 to 2, ["one"]
WebVTT: 3 to 4, ["two"]
WebVTT, CR LF: 0 captions
WebVTT, settings: 2 captions
WebVTT, settings: 1 to NaN, ["one"]
WebVTT, settings: 3 to 4, ["two"]
EXPECTED
echo "as stated"
