#!/usr/bin/env bash
# The npm package n2words says the 20th, 30th and each such place in Hebrew as the 21st, 31st and so on, and the 200th to 900th in Romanian
# as the 100th. In Greek the 1,000,000,000th is the 1,000,000th, and in Spanish it begins with "undefined". Cardinal numbers of Amharic and
# Hausa lose a million millions: 10^12 is "one". There is no message. num2words says 20th and 200th right.
# Seen with n2words 4.0.0 on Node 20, num2words 0.5.14 on Python 3.11, ordinals:
#   he   20    עשרים וראשון (21st)       21    עשרים וראשון      num2words, 20     עשרים
#   ro   100   al sutălea               200   al sutălea       num2words, 200    al două sutelea
#   el   10^6 and 10^9   εκατομμυριοστός
#   es   10^9            undefinedcentésimo millonésimo
# Consequence: voices and texts for training name another day of the month or another place. Say such ordinals with another package.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check num2words==0.5.14
npm install --silent --no-fund --no-audit --prefix "$work" n2words@4.0.0 >/dev/null
cat >show.mjs <<'SCRIPT'
import * as am from "n2words/am-ET";
import * as el from "n2words/el-GR";
import * as es from "n2words/es-ES";
import * as ha from "n2words/ha-NG";
import * as he from "n2words/he-IL";
import * as ro from "n2words/ro-RO";
const languages = { he, ro, el, es };
for (const [name, numbers] of [["he", [19, 20, 21, 30, 31]], ["ro", [20, 100, 200, 300, 900]], ["el", [1e6, 1e9]], ["es", [1e6, 1e9]]]) {
  for (const number of numbers) console.log(`${name}, ordinal of ${number}: ${languages[name].toOrdinal(number).trim()}`);
}
for (const [name, language] of [["he", he], ["ro", ro]]) {
  const words = Array.from({ length: 999 }, (_, i) => language.toOrdinal(i + 1));
  console.log(`${name}, ordinals of 1 to 999: ${new Set(words).size} different ones`);
}
for (const number of [1, 1e9, 1e12]) console.log(`${number}: am ${am.toCardinal(number).trim()}, ha ${ha.toCardinal(number).trim()}`);
SCRIPT
node show.mjs | tee seen
venv/bin/python - <<'PYTHON' | tee -a seen
from num2words import num2words

for language, number in (("he", 20), ("he", 21), ("ro", 100), ("ro", 200)):
    print(f"num2words {language}, ordinal of {number}: {num2words(number, lang=language, to='ordinal')}")
PYTHON
diff seen - <<'EXPECTED'
he, ordinal of 19: תשעה עשר
he, ordinal of 20: עשרים וראשון
he, ordinal of 21: עשרים וראשון
he, ordinal of 30: שלשים וראשון
he, ordinal of 31: שלשים וראשון
ro, ordinal of 20: al douăzecilea
ro, ordinal of 100: al sutălea
ro, ordinal of 200: al sutălea
ro, ordinal of 300: al sutălea
ro, ordinal of 900: al sutălea
el, ordinal of 1000000: εκατομμυριοστός
el, ordinal of 1000000000: εκατομμυριοστός
es, ordinal of 1000000: millonésimo
es, ordinal of 1000000000: undefinedcentésimo millonésimo
he, ordinals of 1 to 999: 919 different ones
ro, ordinals of 1 to 999: 991 different ones
1: am አንድ, ha ɗaya
1000000000: am አንድ ቢሊዮን, ha ɗaya biliyan
1000000000000: am አንድ, ha ɗaya
num2words he, ordinal of 20: העשרים
num2words he, ordinal of 21: העשרים ואחד
num2words ro, ordinal of 100: al o sutălea
num2words ro, ordinal of 200: al două sutelea
EXPECTED
echo "as stated"
