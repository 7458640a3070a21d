#!/usr/bin/env bash
# The npm package rosaenlg-n2words writes numbers in words of 21 languages. In Hebrew it reads one digit of the thousands: 11,000 has the words of
# 1,000, 12,345 those of 2,345, and 10,000, 20,000 and 100,000 have no words at all. A million is "thousand". The point of 1.5 is the Russian word
# запятая between Hebrew ones. There is no message. In English, French, German, Spanish and Arabic no two numbers up to 12,000
# have the same words.
# Seen with rosaenlg-n2words 3.3.0 on Node 20, beside English:
#   10500     " וחמש מאות" (and five hundred)    ten thousand five hundred
#   11000     אלף (thousand)                      eleven thousand
#   20000     ""                                  twenty thousand
#   5000000   חמשת אלפים (five thousand)          five million
# Consequence: prices and years are right, numbers of people are not. Write Hebrew numbers from 10,000 on with another package.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" rosaenlg-n2words@3.3.0 >/dev/null
cat >show.js <<'SCRIPT'
const toWords = require("rosaenlg-n2words");

for (const number of [1000, 2345, 10000, 10500, 11000, 12345, 20000, 100000, 999999, 1000000, 5000000, 1.5])
  console.log(`${number}: "${toWords(number, { lang: "he" })}", ${toWords(number, { lang: "en" })}`);
for (const lang of ["en", "fr", "de", "es", "ar", "he"]) {
  const words = new Set(Array.from({ length: 12001 }, (_, number) => toWords(number, { lang })));
  console.log(`${lang}: ${words.size} words of 12001 numbers`);
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
1000: "אלף", one thousand
2345: "אלפיים שלש מאות ארבעים וחמש", two thousand three hundred and forty-five
10000: "", ten thousand
10500: " וחמש מאות", ten thousand five hundred
11000: "אלף", eleven thousand
12345: "אלפיים שלש מאות ארבעים וחמש", twelve thousand three hundred and forty-five
20000: "", twenty thousand
100000: "", one hundred thousand
999999: "תשעת אלפים תשע מאות תשעים ותשע", nine hundred and ninety-nine thousand nine hundred and ninety-nine
1000000: "אלף", one million
5000000: "חמשת אלפים", five million
1.5: "אחת запятая חמש", one point five
en: 12001 words of 12001 numbers
fr: 12001 words of 12001 numbers
de: 12001 words of 12001 numbers
es: 12001 words of 12001 numbers
ar: 12001 words of 12001 numbers
he: 11000 words of 12001 numbers
EXPECTED
echo "as stated"
