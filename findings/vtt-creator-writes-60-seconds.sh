#!/usr/bin/env bash
# The npm package vtt-creator rounds the seconds of a time without a look at its minutes: 59.9996 s are 00:00:60.000, and 3599.9999 s 00:59:60.000.
# WebVTT allows seconds up to 59 alone. The npm package webvtt-parser leaves such captions out; node-webvtt reads them as 60 s, and
# writes 00:00:59.999 itself. There is no message from vtt-creator.
# Seen with vtt-creator 1.1.1, webvtt-parser 2.2.0, node-webvtt 2.0.0 on Node 20, captions from 58, 59.9996 and 62 s on:
#   vtt-creator     00:00:58.000 00:00:60.000 00:01:02.000
#   webvtt-parser   58 s, 62 s
#   node-webvtt     58 s, 60 s, 62 s
# Consequence: now and then a caption is lost if times are not whole milliseconds. Round them before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" vtt-creator@1.1.1 webvtt-parser@2.2.0 node-webvtt@2.0.0 >/dev/null
cat >show.js <<'SCRIPT'
const nodeWebvtt = require("node-webvtt");
const Vtt = require("vtt-creator");
const { WebVTTParser } = require("webvtt-parser");

const nodeRead = (text) => {
  try {
    return nodeWebvtt.parse(text).cues.map((cue) => cue.start).join(" ");
  } catch {
    return "an error";
  }
};
for (const times of [[58, 60, 62], [58, 59.9996, 62], [3599.9999]]) {
  const vtt = new Vtt();
  for (const seconds of times) vtt.add(seconds, seconds + 1.5, "text");
  const text = vtt.toString();
  console.log("vtt-creator:", ...text.split("\n").filter((line) => line.includes("-->")).map((line) => line.split(" ")[0]));
  console.log("webvtt-parser:", ...new WebVTTParser().parse(text, "metadata").cues.map((cue) => cue.startTime));
  console.log("node-webvtt:", nodeRead(text));
}
const cue = { identifier: "", start: 59.9996, end: 61, text: "text", styles: "" };
console.log("node-webvtt writes", nodeWebvtt.compile({ valid: true, cues: [cue] }).split("\n").find((line) => line.includes("-->")));
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
vtt-creator: 00:00:58.000 00:01:00.000 00:01:02.000
webvtt-parser: 58 60 62
node-webvtt: 58 60 62
vtt-creator: 00:00:58.000 00:00:60.000 00:01:02.000
webvtt-parser: 58 62
node-webvtt: 58 60 62
vtt-creator: 00:59:60.000
webvtt-parser:
node-webvtt: 3600
node-webvtt writes 00:00:59.999 --> 00:01:01.000
EXPECTED
echo "as stated"
