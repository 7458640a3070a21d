#!/usr/bin/env bash
# asrtoolkit spells numbers out before it computes word error rates and writes STM files. It divides a number at its comma and reads the
# parts by themselves, puts a zero into decimals, and removes a dash between blanks together with the blanks, which joins words.
# So "9 - 5" has the words of "95", and numbers that are right count as errors. There is no message.
# Seen with asrtoolkit 0.2.4 on Python 3.11:
#   1,000 people         one zero people                      error rate against "one thousand people"    33 %
#   20,000               twenty zero                          $1,000              one dollar zero
#   3.50                 three point zero fifty               7.25                seven point twenty five
#   open 9 - 5           open ninety five                     monday - friday     mondayfriday
# Consequence: rates of texts with numbers are too high, and some errors are hidden. Spell out numbers before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check asrtoolkit==0.2.4
venv/bin/python -W ignore - <<'PYTHON' | tee seen
from asrtoolkit import wer
from asrtoolkit.clean_formatting import clean_up

for text in ("1000 people", "1,000 people", "20,000", "100,000", "$1,000", "3.50", "7.25", "open 9 - 5", "monday - friday"):
    print(f"{text}: {clean_up(text)}")
for reference, hypothesis in (("one thousand people", "1000 people"), ("one thousand people", "1,000 people"), ("one people zero", "1 people 0"),
                              ("open 9 - 5", "open 95")):
    print(f"{reference} | {hypothesis}: {wer(reference, hypothesis):.0f} %")
PYTHON
diff seen - <<'EXPECTED'
1000 people: one thousand people
1,000 people: one zero people
20,000: twenty zero
100,000: one hundred zero
$1,000: one dollar zero
3.50: three point zero fifty
7.25: seven point twenty five
open 9 - 5: open ninety five
monday - friday: mondayfriday
one thousand people | 1000 people: 0 %
one thousand people | 1,000 people: 33 %
one people zero | 1 people 0: 0 %
open 9 - 5 | open 95: 0 %
EXPECTED
echo "as stated"
