#!/usr/bin/env bash
# verbalis leaves out the currency of each English price with cents, and the "and" or "cents" with it: $1,000.50 is "one thousand fifty", and
# £10.99 "ten ninety-nine", which are 1,050 and 1,099. $1.00 is "one oh zero". With one or three decimals, and below a unit, the currency is
# there. In French $1.01 is "dollars premier janvier", the first of January. There is no message. voxnorm says all of them.
# Seen with verbalis 0.1.0a1, voxnorm 0.5.1 on Python 3.11:
#                verbalis                       voxnorm
#   $1,000.50    one thousand fifty             one thousand dollars and fifty cents
#   $100.05      one hundred oh five            one hundred dollars and five cents
#   €2.01        two oh one                     two euros and one cent
#   fr €2.01     euros deux janvier
# Consequence: voices say other amounts, of no currency, and listeners cannot tell. Say prices by another package before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check verbalis==0.1.0a1 voxnorm==0.5.1
venv/bin/python - <<'PYTHON' | tee seen
from verbalis import Verbalizer
from voxnorm import normalize

english = Verbalizer("en-us")
for price in ("$49", "$0.99", "$3.5", "$3.50", "$1.00", "$1.01", "£10.99", "€2.01", "$100.05", "$1,000.50"):
    print(f"{price}: verbalis {english.process(price)}, voxnorm {normalize(price, 'en')}")
for language in ("fr", "de", "es"):
    for price in ("$1.01", "€2.01"):
        print(f"{language} {price}: {Verbalizer(language).process(price)}")
PYTHON
diff seen - <<'EXPECTED'
$49: verbalis forty-nine dollars, voxnorm forty-nine dollars
$0.99: verbalis ninety-nine cents, voxnorm ninety-nine cents
$3.5: verbalis three point five dollars, voxnorm three point five dollars
$3.50: verbalis three fifty, voxnorm three dollars and fifty cents
$1.00: verbalis one oh zero, voxnorm one dollar
$1.01: verbalis one oh one, voxnorm one dollar and one cent
£10.99: verbalis ten ninety-nine, voxnorm ten pounds and ninety-nine pence
€2.01: verbalis two oh one, voxnorm two euros and one cent
$100.05: verbalis one hundred oh five, voxnorm one hundred dollars and five cents
$1,000.50: verbalis one thousand fifty, voxnorm one thousand dollars and fifty cents
fr $1.01: dollars premier janvier
fr €2.01: euros deux janvier
de $1.01: ein Dollar eins
de €2.01: zwei Euro eins
es $1.01: un dólar con uno
es €2.01: dos euros con uno
EXPECTED
echo "as stated"
