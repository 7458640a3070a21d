#!/usr/bin/env bash
# word2number reads "two million five hundred thousand" as 2,501,500: hundreds before the thousand lose it if a million comes first. It adds
# or multiplies what else it does not expect: "two point five million" is 2, "forty two hundred" is 180, and years as people say them are
# other numbers: "nineteen ninety five" is 19 * 90 + 5. Digits read one by one are added. There is no message, and the results look like
# numbers of the text. text2num reads the same words as one or as several numbers.
# Seen with word2number 1.1, its last release, text2num 3.1.0 on Python 3.11:
#   two million five hundred thousand   2501500   nineteen ninety five   1715
#   two point five million              2         twenty twenty four     404
#   forty two hundred                   180       one two three          5
# Consequence: texts of recognisers that are turned into digits by it are wrong where they look plausible.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check word2number==1.1 text2num==3.1.0
venv/bin/python - <<'PYTHON' | tee seen
from text_to_num import alpha2digit
from word2number import w2n

for words in (
    "fifteen hundred",
    "two million five hundred thousand",
    "three billion two hundred million",
    "two point five million",
    "forty two hundred",
    "nineteen ninety five",
    "nineteen eighty",
    "twenty twenty four",
    "one fifty",
    "one two three",
    "nine one one",
):
    print(f"{words}: word2number {w2n.word_to_num(words)}, text2num {alpha2digit(words, 'en')}")
PYTHON
diff seen - <<'EXPECTED'
fifteen hundred: word2number 1500, text2num 1500
two million five hundred thousand: word2number 2501500, text2num 2500000
three billion two hundred million: word2number 3201000200, text2num 3200000000
two point five million: word2number 2, text2num 2.5 1000000
forty two hundred: word2number 180, text2num 4200
nineteen ninety five: word2number 1715, text2num 19 95
nineteen eighty: word2number 99, text2num 19 80
twenty twenty four: word2number 404, text2num 20 24
one fifty: word2number 51, text2num 1 50
one two three: word2number 5, text2num 1 2 3
nine one one: word2number 10, text2num 9 1 1
EXPECTED
echo "as stated"
