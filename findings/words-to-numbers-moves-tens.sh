#!/usr/bin/env bash
# The npm package words-to-numbers multiplies only the last word in front of a hundred, thousand or million: "sixty four thousand" is 60 + 4 *
# 1,000, also with a hyphen. Of "three hundred twenty one thousand" it makes 1,320. A point before a million gives NaN, and
# "one point ten" is 2. "Two hundred thousand" and "one hundred twenty three" are right, as its examples are. There is no message.
# Seen with words-to-numbers 1.5.1, its last release, on Node 20:
#   sixty four thousand            4060        forty two hundred          240
#   twenty-one million             1000020     two point five million     NaN
#   "it cost thirty five thousand six hundred" becomes "it cost 5630"
# Consequence: amounts in the text of a recogniser are plausible and wrong by a factor of ten. Compare with the words again.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" words-to-numbers@1.5.1 >/dev/null
cat >show.js <<'SCRIPT'
const { wordsToNumbers } = require("words-to-numbers");
for (const text of ["one hundred twenty three", "two hundred thousand", "sixty four thousand", "twenty-one million",
  "three hundred twenty one thousand", "forty two hundred", "it cost thirty five thousand six hundred",
  "two point five million", "one point ten"]) {
  console.log(`${text}: ${wordsToNumbers(text)}`);
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
one hundred twenty three: 123
two hundred thousand: 200000
sixty four thousand: 4060
twenty-one million: 1000020
three hundred twenty one thousand: 1320
forty two hundred: 240
it cost thirty five thousand six hundred: it cost 5630
two point five million: NaN
one point ten: 2
EXPECTED
echo "as stated"
