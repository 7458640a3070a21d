#!/usr/bin/env bash
# In Odia 10 has the word of 9 in indic-num2words, and so do all numbers with a 10 in them: 110 is "one hundred nine", 10,000 is "nine thousand", and
# a million "nine lakh". The other ten languages have a word of their own for each number from 0 to 999. There is no message. In Odia 9 is ନଅ
# and 10 is ଦଶ, as indic-numtowords has them.
# Seen with indic-num2words 1.3.2, indic-numtowords 1.1.0 on Python 3.11:
#   Odia   9 ନଅ   10 ନଅ   19 ଊଣାଇଶ   109 ଏକ ଶହେ, ନଅ   110 ଏକ ଶହେ, ନଅ   1000000 ନଅ ଲକ୍ଷ
# Consequence: amounts are a tenth too small in the most ordinary of numbers. Say Odia by another package.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check indic-num2words==1.3.2 indic-numtowords==1.1.0
venv/bin/python - <<'PYTHON' | tee seen
from indic_numtowords import num2words
from num_to_words import num_to_word

for language in ("bn", "en", "gu", "hi", "kn", "ml", "mr", "or", "pa", "ta", "te"):
    numbers = {}
    for number in range(1000):
        numbers.setdefault(num_to_word(number, lang=language), []).append(number)
    print(language, [same for same in numbers.values() if len(same) > 1])
for number in (8, 9, 10, 11, 109, 110, 9000, 10000, 900000, 1000000):
    print(f"{number}: indic-num2words {num_to_word(number, lang='or')}, indic-numtowords {num2words(number, lang='or')}")
PYTHON
diff seen - <<'EXPECTED'
bn []
en []
gu []
hi []
kn []
ml []
mr []
or [[9, 10], [109, 110], [209, 210], [309, 310], [409, 410], [509, 510], [609, 610], [709, 710], [809, 810], [909, 910]]
pa []
ta []
te []
8: indic-num2words ଆଠ, indic-numtowords ଆଠ
9: indic-num2words ନଅ, indic-numtowords ନଅ
10: indic-num2words ନଅ, indic-numtowords ଦଶ
11: indic-num2words ଏଗାର, indic-numtowords ଏଗାର
109: indic-num2words ଏକ ଶହେ, ନଅ, indic-numtowords ଶହେ ନଅ
110: indic-num2words ଏକ ଶହେ, ନଅ, indic-numtowords ଶହେ ଦଶ
9000: indic-num2words ନଅ ହଜାର, indic-numtowords ନଅ ହଜାର
10000: indic-num2words ନଅ ହଜାର, indic-numtowords ଦଶ ହଜାର
900000: indic-num2words ନଅ ଲକ୍ଷ, indic-numtowords ନଅ ଲକ୍ଷ
1000000: indic-num2words ନଅ ଲକ୍ଷ, indic-numtowords ଦଶ ଲକ୍ଷ
EXPECTED
echo "as stated"
