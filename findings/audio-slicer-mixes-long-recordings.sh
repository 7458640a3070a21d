#!/usr/bin/env bash
# The npm package audio-slicer returns the slices of a recording in the order of their files' names, whose numbers have three digits. From 1,000
# slices on, 17 minutes of seconds, names have four digits: slices 1000 to 1009 stand behind slice 100, and all later ones are at other times
# than their places say. The last one is not the end. There is no message.
# Seen with audio-slicer 1.5.0 on Node 20, FFmpeg 5.1.9 of Debian 12, 1,003 s of silence with noise from 1,000 s on, in slices of 1 s:
#   slices 101, 102, 103     noise
#   slice 104                the end
#   slices 105 and 1003      silence
# Consequence: texts of the slices that are joined again are in a wrong order. Take slices of more than a thousandth of the recording.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# --ignore-scripts: one would download another FFmpeg, which is not used.
npm install --ignore-scripts --silent --no-fund --no-audit --prefix "$work" audio-slicer@1.5.0 >/dev/null
ffmpeg -v error -f lavfi -i "aevalsrc=if(gte(t\,1000)\,0.3*(random(0)*2-1)\,0):s=8000:d=1003" -c:a libmp3lame -b:a 8k noise.mp3
cat >show.js <<'SCRIPT'
const { execFileSync } = require("child_process");
const { readFileSync } = require("fs");
const { audioToSlice } = require("audio-slicer");

audioToSlice(readFileSync("noise.mp3"), 1).then((slices) => {
  console.log(`${slices.length} slices`);
  for (const at of [99, 100, 101, 102, 103, 104, 105, 106, slices.length - 1]) {
    const samples = execFileSync("ffmpeg", ["-v", "quiet", "-i", "-", "-f", "s16le", "-"], { input: slices[at] });
    const middle = new Int16Array(samples.buffer, samples.byteOffset, samples.length >> 1).slice(2000, 6000);
    console.log(`slice ${at}: ${middle.length === 0 ? "shorter" : middle.some((sample) => Math.abs(sample) > 1000) ? "noise" : "silence"}`);
  }
});
SCRIPT
nice -n 5 node show.js | tee seen
diff seen - <<'EXPECTED'
1004 slices
slice 99: silence
slice 100: silence
slice 101: noise
slice 102: noise
slice 103: noise
slice 104: shorter
slice 105: silence
slice 106: silence
slice 1003: silence
EXPECTED
echo "as stated"
