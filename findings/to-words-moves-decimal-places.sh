#!/usr/bin/env bash
# The npm package to-words changes the place of digits: in Turkish six decimals are ten-millionths, and seven are millionths. In Persian 2.1
# and 2.01 are in rials, a tenth of the tomans that amounts with other fractions are in. -0.5 has no "minus" in both. In Catalan 10^15 has
# the words of 10^12, and in Spanish it is "un trillón", a thousand times as much. There is no message.
# Seen with to-words 5.7.0 on Node 20:
#   tr 1.000001     bir virgül bir on milyonuncu (1.0000001)      ca 10^12   Un Bilió
#   tr 1.0000002    bir virgül iki milyonuncu (1.000002)          ca 10^15   Un Bilió
#   tr -0.5         beş onuncu (0.5)                              es 10^15   Un Trillon (10^18)
#   fa 2.1          2.1 rials, and 2.2 is 2.2 tomans
# Consequence: voices say another number. Say the sign apart, decimals digit by digit, and the name of the currency behind the number.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" to-words@5.7.0 >/dev/null
cat >show.js <<'SCRIPT'
const { ToWords } = require("to-words");
const say = (locale, number, options) => {
  const words = new ToWords({ localeCode: locale }).convert(number, options);
  console.log(`${locale} ${number}${options ? " currency" : ""}: ${words}`);
};
for (const number of ["0.1", "0.01", "0.00001", "0.000001", "1.000001", "1.0000002", "-0.5", "0.5", "-1.5"]) say("tr-TR", number);
for (const number of ["-0.5", "0.5", "-1.5"]) say("fa-IR", number);
for (const number of [2, 2.1, 2.01, 2.2, 2.11]) say("fa-IR", number, { currency: true });
for (const locale of ["ca-ES", "es-ES", "it-IT", "fr-FR"]) for (const power of [9n, 12n, 15n]) say(locale, 10n ** power);
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
tr-TR 0.1: bir onuncu
tr-TR 0.01: bir yüzüncü
tr-TR 0.00001: bir yüz bininci
tr-TR 0.000001: bir on milyonuncu
tr-TR 1.000001: bir virgül bir on milyonuncu
tr-TR 1.0000002: bir virgül iki milyonuncu
tr-TR -0.5: beş onuncu
tr-TR 0.5: beş onuncu
tr-TR -1.5: eksi bir virgül beş onuncu
fa-IR -0.5: پنج دهم
fa-IR 0.5: پنج دهم
fa-IR -1.5: منفی یک و پنج دهم
fa-IR 2 currency: دو تومان
fa-IR 2.1 currency: دو و یک دهم ریال
fa-IR 2.01 currency: دو و یک صدم ریال
fa-IR 2.2 currency: دو و دو دهم تومان
fa-IR 2.11 currency: دو و یازده صدم تومان
ca-ES 1000000000: Mil Milions
ca-ES 1000000000000: Un Bilió
ca-ES 1000000000000000: Un Bilió
es-ES 1000000000: Mil Millones
es-ES 1000000000000: Un Billon
es-ES 1000000000000000: Un Trillon
it-IT 1000000000: Un Miliardo
it-IT 1000000000000: Un Bilione
it-IT 1000000000000000: Un Biliardo
fr-FR 1000000000: Un Milliard
fr-FR 1000000000000: Un Billion
fr-FR 1000000000000000: Un Billiard
EXPECTED
echo "as stated"
