#!/usr/bin/env bash
# The npm package decimal-number-to-words is number-to-words with a decimal point. It returns an empty text for 0 and for all negative numbers,
# though its description has -3 as "minus three". convert-number-to-words says "one" for 10 to the power of 15. number-to-words itself
# drops all behind the point, and -0.5 is "zero". There is no message.
# Seen with decimal-number-to-words 1.3.3, convert-number-to-words 1.0.3 and number-to-words 1.2.4 on Node 20:
#                                0          -3               -0.5                         1.05                      1e15
#   decimal-number-to-words      ""         ""               ""                           "one point zero five"     "one quadrillion"
#   convert-number-to-words      "zero"     "negative three" "negative zero point five"   "one point zero five"     "one"
#   number-to-words              "zero"     "minus three"    "zero"                       "one"                     "one quadrillion"
# Consequence: digits are missing in texts that are spoken or aligned. Compare with the digits of the number.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" decimal-number-to-words@1.3.3 convert-number-to-words@1.0.3 number-to-words@1.2.4 >/dev/null
cat >show.js <<'SCRIPT'
const packages = { "decimal-number-to-words": "toWords", "convert-number-to-words": "numberToWords", "number-to-words": "toWords" };
for (const [name, method] of Object.entries(packages)) {
  const words = require(name)[method];
  console.log(name, JSON.stringify([0, -3, -0.5, 1.05, 10, 1e15].map((number) => [number, words(number)])));
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
decimal-number-to-words [[0,""],[-3,""],[-0.5,""],[1.05,"one point zero five"],[10,"ten"],[1000000000000000,"one quadrillion"]]
convert-number-to-words [[0,"zero"],[-3,"negative three"],[-0.5,"negative zero point five"],[1.05,"one point zero five"],[10,"ten"],[1000000000000000,"one"]]
number-to-words [[0,"zero"],[-3,"minus three"],[-0.5,"zero"],[1.05,"one"],[10,"ten"],[1000000000000000,"one quadrillion"]]
EXPECTED
echo "as stated"
