#!/usr/bin/env bash
# The npm package convert-rupees-into-words writes amounts in words, as for announcements. It takes the sign for a digit: -5 is "Hundred Five Rupees",
# and -1,234 is "Two Thousand Hundred Three Rupees". -0.5 is "Fifty Paisa". Nothing, and amounts from 100 crore, a thousand million, on have
# no words. There is no message. any-number-to-words is right there.
# Seen with convert-rupees-into-words 1.0.6, any-number-to-words 2.0.5 on Node 20:
#   -5           Hundred  Five Rupees                  minus five
#   -1234        Two Thousand Hundred  Three Rupees    minus one thousand two hundred thirty-four
#   0            (empty)                               zero
#   1000000000   (empty)                               one billion
# Consequence: a balance below zero is said as another amount. Write the sign yourself, and check for empty words.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" convert-rupees-into-words@1.0.6 any-number-to-words@2.0.5 >/dev/null
cat >show.js <<'SCRIPT'
const { Converter, enUS } = require("any-number-to-words");
const rupees = require("convert-rupees-into-words");

const converter = new Converter(enUS);
for (const amount of [5, -1, -5, -100, -1234, 0.5, -0.5, 0, 999999999, 1000000000, 1234567890])
  console.log(`${amount} | ${rupees(amount)} | ${converter.toWords(amount)}`);
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
5 | Five Rupees | five
-1 | Hundred  One Rupees | minus one
-5 | Hundred  Five Rupees | minus five
-100 | One Thousand Hundred Rupees | minus one hundred
-1234 | Two Thousand Hundred  Three Rupees | minus one thousand two hundred thirty-four
0.5 | Fifty Paisa | zero point five
-0.5 | Fifty Paisa | minus zero point five
0 |  | zero
999999999 | Ninety Nine Crore Ninety Nine Lakh Ninety Nine Thousand Nine Hundred Ninety Nine Rupees | nine hundred ninety-nine million nine hundred ninety-nine thousand nine hundred ninety-nine
1000000000 |  | one billion
1234567890 |  | one billion two hundred thirty-four million five hundred sixty-seven thousand eight hundred ninety
EXPECTED
echo "as stated"
