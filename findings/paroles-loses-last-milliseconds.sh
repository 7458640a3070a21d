#!/usr/bin/env bash
# The npm package paroles reads lyrics at 1.996 to 1.999 s as 1 s: it rounds the fraction to 1.00 and drops that 1. Lines that come to the
# same time become one. It writes an offset of 500 ms as [offset:0.5], half a millisecond, which it reads as 0. There is no message. Its
# readme says that it keeps the offset in seconds, and that LRC has milliseconds. clrc reads the times right.
# Seen with paroles 2.3.0, clrc 3.1.4 on Node 20:
#   [00:01.994]one                        1.99 s
#   [00:01.996]one                        1 s
#   [00:01.00]one [00:01.999]two          1 s, "one\ntwo"
#   [offset:+500]  written                [offset:0.5]    read again: 0 s
# Consequence: some lines come a second early, after the one before or in it. Round times to hundredths before, and write the offset yourself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" paroles@2.3.0 clrc@3.1.4 >/dev/null
cat >show.mjs <<'SCRIPT'
import { parse } from "clrc";
import { Lyrics } from "paroles";
const show = (text) => {
  const lines = new Lyrics(text).lines.map(({ time, text }) => `${time} s ${JSON.stringify(text)}`);
  const others = parse(text).map(({ startMillisecond, content }) => `${startMillisecond} ms ${JSON.stringify(content)}`);
  console.log(`${JSON.stringify(text)}: paroles ${lines.join(", ")}; clrc ${others.join(", ")}`);
};
show("[00:01.994]one");
show("[00:01.996]one");
show("[00:59.999]one");
show("[00:01.00]one\n[00:01.999]two");
const lyrics = new Lyrics("[offset:+500]\n[00:10.00]one");
console.log(`offset: ${lyrics.info.offset} s, written: ${JSON.stringify(lyrics.toString())}`);
console.log(`offset, read again: ${new Lyrics(lyrics.toString()).info.offset} s`);
let wrong = 0;
for (let ms = 0; ms < 1000; ms++) {
  const { time } = new Lyrics(`[00:07.${String(ms).padStart(3, "0")}]x`).lines[0];
  if (Math.abs(time - 7 - ms / 1000) > 0.01) wrong++;
}
console.log(`times of 1000 that are more than 10 ms off: ${wrong}`);
SCRIPT
node show.mjs | tee seen
diff seen - <<'EXPECTED'
"[00:01.994]one": paroles 1.99 s "one"; clrc 1994 ms "one"
"[00:01.996]one": paroles 1 s "one"; clrc 1996 ms "one"
"[00:59.999]one": paroles 59 s "one"; clrc 59999 ms "one"
"[00:01.00]one\n[00:01.999]two": paroles 1 s "one\ntwo"; clrc 1000 ms "one", 1999 ms "two"
offset: 0.5 s, written: "[offset:0.5]\n[00:10.00]one"
offset, read again: 0 s
times of 1000 that are more than 10 ms off: 4
EXPECTED
echo "as stated"
