#!/usr/bin/env bash
# The npm package @plussub/srt-vtt-parser returns NaN as the end of a WebVTT caption whose times have no hours and settings behind them, which is
# valid and common; where the end has hours, it is right. Of a caption without text it makes one whose text is the next caption, with number
# and times. With lines that end as on Windows, a carriage return stays at the end of each line of a text. There is no message.
# Seen with @plussub/srt-vtt-parser 2.0.5 and subtitle 4.2.2 (which is right) on Node 20:
#   00:01.000 --> 00:02.500 align:start         end NaN    (subtitle: 2500)
#   00:00:01.000 --> 00:00:02.500 align:start   end 2500
#   an empty caption and "two"                  1 caption, text "\n2\n00:00:03,000 --> 00:00:04,000\ntwo"
# Consequence: JSON makes null of it, which is 0 in sums. Count the captions, and refuse ends that are no numbers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" @plussub/srt-vtt-parser@2.0.5 subtitle@4.2.2 >/dev/null
cat >show.mjs <<'SCRIPT'
import { parse } from "@plussub/srt-vtt-parser";
import { parseSync } from "subtitle";
const files = {
  "no hours": "WEBVTT\n\n00:01.000 --> 00:02.500\none\n",
  "no hours, settings": "WEBVTT\n\n00:01.000 --> 00:02.500 align:start\none\n",
  "hours, settings": "WEBVTT\n\n00:00:01.000 --> 00:00:02.500 align:start\none\n",
  "empty caption": "1\n00:00:01,000 --> 00:00:02,000\n\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n",
  "Windows": "1\r\n00:00:01,000 --> 00:00:02,000\r\none\r\ntwo\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\nthree\r\n",
};
for (const [name, text] of Object.entries(files)) {
  const entries = parse(text).entries.map((entry) => [entry.from, String(entry.to), entry.text]);
  const cues = parseSync(text).filter((part) => part.type === "cue").map(({ data }) => [data.start, data.end, data.text]);
  console.log(`${name} | srt-vtt-parser ${JSON.stringify(entries)} | subtitle ${JSON.stringify(cues)}`);
}
SCRIPT
node show.mjs | tee seen
diff seen - <<'EXPECTED'
no hours | srt-vtt-parser [[1000,"2500","one"]] | subtitle [[1000,2500,"one"]]
no hours, settings | srt-vtt-parser [[1000,"NaN","one"]] | subtitle [[1000,2500,"one"]]
hours, settings | srt-vtt-parser [[1000,"2500","one"]] | subtitle [[1000,2500,"one"]]
empty caption | srt-vtt-parser [[1000,"2000","\n2\n00:00:03,000 --> 00:00:04,000\ntwo"]] | subtitle [[1000,2000,""],[3000,4000,"two"]]
Windows | srt-vtt-parser [[1000,"2000","one\r\ntwo\r"],[3000,"4000","three\r"]] | subtitle [[1000,2000,"one\ntwo"],[3000,4000,"three"]]
EXPECTED
echo "as stated"
