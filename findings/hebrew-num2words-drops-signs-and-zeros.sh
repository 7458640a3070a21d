#!/usr/bin/env bash
# hebrew-num2words says digits in Hebrew sentences. It leaves out the minus in front of a number, the "to" of a range, and of a decimal number both
# the point and the zeros behind it: 3.05 is "three five". A number of five digits or more is read digit by digit, also before "shekels", unless
# it has a comma. Its description says so of phone numbers, ID numbers and codes alone. There is no message.
# Seen with hebrew-num2words 0.1.0, num2words 0.5.14 on Python 3.11:
#   -5 מעלות         חמש מעלות, "five degrees"                     num2words of -5: מינוס חמש
#   3.05             שלוש חמש, "three five"                        num2words: שלוש נקודה אפס חמש
#   250000 שקלים     "two five zero zero zero zero shekels"        250,000 שקלים   "two hundred and fifty thousand shekels"
# Consequence: frost is said as warmth. Write "מינוס", the word for the point, and commas in thousands before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check hebrew-num2words==0.1.0 num2words==0.5.14
venv/bin/python - <<'PYTHON' | tee seen
from hebrew_num2words import normalize_numbers
from num2words import num2words

for text in ("-5 מעלות", "5 מעלות", "20-30 איש", "9999 שקלים", "10000 שקלים", "250000 שקלים", "250,000 שקלים"):
    print(f"{text}: {normalize_numbers(text)}")
for number in ("-5", "3.5", "3.05", "0.05", "2.25", "10.01"):
    print(f"{number}: {normalize_numbers(number)} | num2words: {num2words(float(number) if '.' in number else int(number), lang='he')}")
PYTHON
diff seen - <<'EXPECTED'
-5 מעלות: חמש מעלות
5 מעלות: חמש מעלות
20-30 איש: עשרים שלושים איש
9999 שקלים: תשעת אלפים תשע מאות תשעים ותשעה שקלים
10000 שקלים: אחת אפס אפס אפס אפס שקלים
250000 שקלים: שתיים חמש אפס אפס אפס אפס שקלים
250,000 שקלים: מאתיים וחמישים אלף שקלים
-5: חמש | num2words: מינוס חמש
3.5: שלוש וחצי | num2words: שלוש נקודה חמש
3.05: שלוש חמש | num2words: שלוש נקודה אפס חמש
0.05: אפס חמש | num2words: אפס נקודה אפס חמש
2.25: שתיים עשרים וחמש | num2words: שתיים נקודה שתיים חמש
10.01: עשר אחת | num2words: עשר נקודה אפס אחת
EXPECTED
echo "as stated"
