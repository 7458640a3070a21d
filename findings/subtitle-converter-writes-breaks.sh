#!/usr/bin/env bash
# The npm package subtitle-converter writes the line breaks of Scenarist SCC as the word {break}: each caption begins with it, and two rows
# are one line with it between them. In WebVTT half of all times are a millisecond early, though they were whole milliseconds in SubRip. Its
# status says that all went well. node-captions, from which it took the reading of SCC, writes lines.
# Seen with subtitle-converter 3.0.12, node-captions 0.4.6 on Node 20:
#   SCC with the rows "Hello" and "world"    subtitle-converter "{break}Hello{break}world"    node-captions "Hello\nworld"
#   SubRip 00:00:31,904                      WebVTT 00:00:31.903
#   SubRip, 3,600 times in an hour           WebVTT, 1,730 of them are early; SubRip, none
# Consequence: viewers read "{break}", and words of two rows are one word in transcripts. Replace {break} by a line break in the result.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" subtitle-converter@3.0.12 node-captions@0.4.6 >/dev/null
printf 'Scenarist_SCC V1.0\n\n00:00:01:00\t9420 9420 94ae 94ae 13e0 13e0 c8e5 ecec ef80 9470 9470 f7ef f2ec 6480 942f 942f\n\n' >rows.scc
printf '00:00:03:00\t942c 942c\n' >>rows.scc
cat >show.js <<'SCRIPT'
const { convert } = require("subtitle-converter");
const scc = require("fs").readFileSync("rows.scc", "utf8");
for (const [extension, line] of [[".srt", "\r\n"], [".vtt", "\n"]]) {
  const { subtitle, status } = convert(scc, extension, {});
  const text = subtitle.split(" --> ")[1].split(line).slice(1).join(line).trim();
  console.log(`SCC to ${extension}: ${JSON.stringify(text)}, success ${status.success}`);
}
const digits = (number, size) => String(number).padStart(size, "0");
const time = (ms, point) =>
  `00:${digits(Math.floor(ms / 60000), 2)}:${digits(Math.floor(ms / 1000) % 60, 2)}${point}${digits(ms % 1000, 3)}`;
const starts = Array.from({ length: 3600 }, (_, i) => i * 997);
const srt = starts.map((ms, i) => `${i + 1}\n${time(ms, ",")} --> ${time(ms + 500, ",")}\nx\n`).join("\n");
for (const [extension, point] of [[".srt", ","], [".vtt", "."]]) {
  const written = convert(srt, extension, {}).subtitle.match(/\S+(?= -->)/g);
  const early = written.map((start, i) => [time(starts[i], point), start]).filter(([was, is]) => was !== is);
  console.log(`SubRip to ${extension}: ${early.length} of ${written.length} times differ`, early.slice(0, 2).map((pair) => pair.join(" is ")));
}
const { scc: reader, srt: writer } = require("node-captions");
const text = writer.generate(reader.toJSON(scc.split("\n"))).trim().split("\n").slice(2).join("\n");
console.log(`SCC to SubRip, node-captions: ${JSON.stringify(text)}`);
SCRIPT
node show.js 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
SCC to .srt: "{break}Hello{break}world", success true
SCC to .vtt: "{break}Hello{break}world", success true
SubRip to .srt: 0 of 3600 times differ []
SubRip to .vtt: 1730 of 3600 times differ [ '00:00:31.904 is 00:00:31.903', '00:01:03.808 is 00:01:03.807' ]
SCC to SubRip, node-captions: "Hello\nworld"
EXPECTED
echo "as stated"
