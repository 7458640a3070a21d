#!/usr/bin/env bash
# spellout of libnumbertext, the library of LibreOffice's number names, takes the decimal point of Croatian, Serbian and Serbo-Croatian numbers for a
# separator of thousands, behind which it accepts any number of digits: 1.5 has the words of 15, 0.5 those of 5, and 3.14 those of 314. With a minus the
# point of Croatian is a decimal point, in amounts of money, too; in Serbian -1.5 has no words. A comma is right. Other languages with a decimal comma, as
# Slovenian, German and French, read both. In Lithuanian -0.5 loses its minus and the zero. Negative and decimal numbers have no words in Irish, Maltese
# and Vietnamese, and German amounts below one euro no number of euros. The package has no manual. There is no message.
# Seen with libnumbertext 1.0.11 of Debian 12:
#   Croatian 1.5          petnaest (15)
#   Croatian 3.14         tristo četrnaest (314)
#   Croatian -1.5         minus jedan zarez pet (right)
#   Croatian EUR 1.50     jedan euro pedeset centa (right)
#   Serbian -1.5          (empty)
#   Lithuanian 0.5, -0.5  nulis sveikų ir penkios dešimtosios, ir penkios dešimtosios
#   Vietnamese -5         (empty)
#   German EUR 0.50       Euro und fünfzig Cent
# Consequence: measured values in texts for speech are ten or a hundred times as large. Write a comma in these languages, and look for empty lines.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download libnumbertext-tools=1.0.11-1 libnumbertext-1.0-0=1.0.11-1 libnumbertext-data=1.0.11-1 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu LC_ALL=C.UTF-8
# spellout looks for its rules in a folder data.
ln -s usr/share/libnumbertext data
show() {
  local language=$1 unit=$2
  shift 2
  for number in "$@"; do
    echo "$language${unit:+ $unit} $number: $(usr/lib/libnumbertext/spellout -l "$language" ${unit:+-p "$unit"} -- "$number" | sed -e '/^$/d' -e 's/^ *//')"
  done
}
{
  show hr "" 0.5 1.05 1.5 15 3.14 314 -1.5 -3.14 1,5
  show hr EUR 1.50
  show sr "" 0.5 1.5 15 -5 -1.5 1,5 -1,5
  show sh "" 0.5 1.5 15 -5 -1.5 1,5 -1,5
  show sl "" 0.5 1.5 15 -1.5 1,5
  show lt "" 0.5 1.5 -0.5 -1.5
  show vi "" 5 -5 1.5
  show mt "" 5 -5 1.5
  show ga "" 5 -5 1.5
  show en "" 0.5 1.5 -1.5
  show de EUR 1.50 0.50
  show fr EUR 1.50 0.50
} | sed 's/ *$//' | tee seen
diff seen - <<'EXPECTED'
hr 0.5: pet
hr 1.05: sto pet
hr 1.5: petnaest
hr 15: petnaest
hr 3.14: tristo četrnaest
hr 314: tristo četrnaest
hr -1.5: minus jedan zarez pet
hr -3.14: minus tri zarez četrnaest
hr 1,5: jedan zarez pet
hr EUR 1.50: jedan euro pedeset centa
sr 0.5: пет
sr 1.5: петнаест
sr 15: петнаест
sr -5: минус пет
sr -1.5:
sr 1,5: један кома пет
sr -1,5: минус један кома пет
sh 0.5: pet
sh 1.5: petnaest
sh 15: petnaest
sh -5: minus pet
sh -1.5:
sh 1,5: jedan koma pet
sh -1,5: minus jedan koma pet
sl 0.5: nič vejica pet
sl 1.5: ena vejica pet
sl 15: petnajst
sl -1.5: minus ena vejica pet
sl 1,5: ena vejica pet
lt 0.5: nulis sveikų ir penkios dešimtosios
lt 1.5: vienas sveikas ir penkios dešimtosios
lt -0.5: ir penkios dešimtosios
lt -1.5: minus vienas sveikas ir penkios dešimtosios
vi 5: năm
vi -5:
vi 1.5:
mt 5: ħamsa
mt -5:
mt 1.5:
ga 5: cúig
ga -5:
ga 1.5:
en 0.5: point five
en 1.5: one point five
en -1.5: negative one point five
de EUR 1.50: ein Euro und fünfzig Cent
de EUR 0.50: Euro und fünfzig Cent
fr EUR 1.50: un euro et cinquante centimes
fr EUR 0.50: zéro euro et cinquante centimes
EXPECTED
echo "as stated"
