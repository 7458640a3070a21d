#!/usr/bin/env bash
# indic-itn writes spoken numbers as digits. In English it drops the last word of most days of a month: "twenty fifth december two thousand
# twenty" is "20th december 2020", and "march twenty third" is the 20th and a third. It writes the zeros of lakh, million and crore behind the
# decimals: "two point five lakh" is 2.5100000. "three thirty" is 33, and "nineteen forty seven" 66. There is no message. The same in Hindi
# is right for days. Its description names dates, times and decimals among what it converts.
# Seen with indic-itn 0.3.3 on Python 3.11:
#   twenty first march                20th march
#   the twenty third of june          the 20/3 of june
#   one point two million             1.21000000
#   पच्चीस दिसंबर दो हज़ार बीस               25 दिसंबर 2020
# Consequence: 10 of 31 days are wrong, and look right. Write dates by another package before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check indic-itn==0.3.3
venv/bin/python - <<'PYTHON' | tee seen
from indic_itn import normalize_text

ONES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
days = [f"twenty {one}" for one in ONES] + ["thirtieth", "thirty first"]
for day in ["third", "twentieth"] + days:
    print(f"{day} march: {normalize_text(day + ' march', 'en')}; march {day}: {normalize_text('march ' + day, 'en')}")
for text in ("twenty fifth december two thousand twenty", "the twenty third of june", "the twenty first century", "one point two million",
             "two point five lakh", "three point two crore", "two point five", "at three thirty", "at three thirty pm",
             "born in nineteen forty seven"):
    print(f"{text}: {normalize_text(text, 'en')}")
for text in ("पच्चीस दिसंबर दो हज़ार बीस", "तीन बजकर तीस मिनट", "ढाई लाख", "दो दशमलव पाँच लाख"):
    print(f"{text}: {normalize_text(text, 'hi')}")
PYTHON
diff seen - <<'EXPECTED'
third march: 3rd march; march third: march 3rd
twentieth march: 20th march; march twentieth: march 20th
twenty first march: 20th march; march twenty first: march 20th, 1
twenty second march: 20th march; march twenty second: march 20th, 2
twenty third march: 20th march; march twenty third: march 20th, 1/3
twenty fourth march: 20th march; march twenty fourth: march 20th, 1/4
twenty fifth march: 20th march; march twenty fifth: march 20th, 1/5
twenty sixth march: 20th march; march twenty sixth: march 20th, 1/6
twenty seventh march: 20th march; march twenty seventh: march 20th, 1/7
twenty eighth march: 20th march; march twenty eighth: march 20th, 1/8
twenty ninth march: 20th march; march twenty ninth: march 20th, 1/9
thirtieth march: 30th march; march thirtieth: march 30th
thirty first march: 30th march; march thirty first: march 30th, 1
twenty fifth december two thousand twenty: 20th december 2020
the twenty third of june: the 20/3 of june
the twenty first century: the 21st century
one point two million: 1.21000000
two point five lakh: 2.5100000
three point two crore: 3.210000000
two point five: 2.5
at three thirty: at 33
at three thirty pm: at 3:30 pm
born in nineteen forty seven: born in 66
पच्चीस दिसंबर दो हज़ार बीस: 25 दिसंबर 2020
तीन बजकर तीस मिनट: 3:30
ढाई लाख: 250000
दो दशमलव पाँच लाख: 2.5100000
EXPECTED
echo "as stated"
