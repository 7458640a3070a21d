#!/usr/bin/env bash
# The npm package vtt-to-json is made for files of YouTube, whose captions repeat each other. In any WebVTT file it leaves out the text of a
# caption that equals the one before, as "no" and "no" of two speakers do. It returns the last caption only if no line break is behind its text,
# and nearly all files end with one. Words lose all letters but a to z. An empty caption comes behind the first. There is no message.
# Seen with vtt-to-json 0.1.1 on Node 20, the captions "yes", "no", "no", "très bien" and "end":
#   texts of a file with a line break at its end   "yes", "", "no", "", "très bien"
#   texts of a file without                        "yes", "", "no", "", "très bien", "end"
#   words of "très bien"                           "trs", "bien"
# Consequence: the last words of each transcript are missing, and repeated answers are silence. Count the captions of the file.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" vtt-to-json@0.1.1 >/dev/null
cat >show.js <<'SCRIPT'
const vttToJson = require("vtt-to-json");

const texts = ["yes", "no", "no", "très bien", "end"];
const file = "WEBVTT\n" + texts.map((text, at) => `\n00:00:0${at + 1}.000 --> 00:00:0${at + 1}.900\n${text}\n`).join("");

async function main() {
  for (const [name, content] of [["with a line break", file], ["without", file.trimEnd()]]) {
    const captions = await vttToJson(content);
    console.log(name, JSON.stringify(captions.map(({ start, part, words }) => [start, part, words.map(({ word }) => word).join(" ")])));
  }
}

main();
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
with a line break [[1000,"yes","yes"],[1000,"",""],[2000,"no","no"],[3000,"",""],[4000,"très bien","trs bien"]]
without [[1000,"yes","yes"],[1000,"",""],[2000,"no","no"],[3000,"",""],[4000,"très bien","trs bien"],[5000,"end","end"]]
EXPECTED
echo "as stated"
