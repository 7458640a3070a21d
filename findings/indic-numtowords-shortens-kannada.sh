#!/usr/bin/env bash
# indic-numtowords writes numbers in words of Indian languages for synthesis. In Kannada the numbers 110, 120, 130, 150, 160, 170 and 190 are
# all ನೂ, the first letters of "hundred": the tens are missing, also within thousands. 210 is ಇನ್ನೂ, the word for "still", and 83 is 82. In
# Manipuri 99 is 89, and 199 is 189. In Sindhi 1,900 of the first 10,000 numbers are errors. There is no message for the others.
# Seen with indic-numtowords 1.1.0 on Python 3.11, numbers up to 9,999 that have the words of a smaller number:
#   Kannada 640: 120, 130 and 150 have the word of 110, ನೂ, and 83 has that of 82, ಎಂಬತ್ತೆರಡು
#   Manipuri 100: 99 has the words of 89, and 199 those of 189
#   none in the other 20 languages without errors, Hindi, Telugu and Tamil among them
# Consequence: a synthesiser says wrong amounts and dates. Compare the words of all numbers that occur with each other.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check indic-numtowords==1.1.0
venv/bin/python - <<'PYTHON' | tee seen
from indic_numtowords import num2words
from indic_numtowords.numtowords import extended_supported_langs, supported_langs

for language in supported_langs + extended_supported_langs:
    first, same, errors = {}, [], 0
    for number in range(10000):
        try:
            words = num2words(number, lang=language)
        except IndexError:
            errors += 1
            continue
        if first.setdefault(words, number) != number:
            same.append(number)
    print(f"{language}: {len(same)} as smaller numbers, {errors} errors", *same[:4])
for number in (82, 83, 100, 101, 110, 150, 210, 1110):
    print(number, num2words(number, lang="kn"), num2words(number, lang="te"), sep=", ")
PYTHON
diff seen - <<'EXPECTED'
as: 0 as smaller numbers, 0 errors
bn: 0 as smaller numbers, 0 errors
en: 0 as smaller numbers, 0 errors
gu: 0 as smaller numbers, 0 errors
hi: 0 as smaller numbers, 0 errors
ml: 0 as smaller numbers, 0 errors
mr: 0 as smaller numbers, 0 errors
or: 0 as smaller numbers, 0 errors
pa: 0 as smaller numbers, 0 errors
ta: 0 as smaller numbers, 0 errors
te: 0 as smaller numbers, 0 errors
kn: 640 as smaller numbers, 0 errors 83 120 130 150
ur: 0 as smaller numbers, 0 errors
doi: 0 as smaller numbers, 0 errors
sat: 0 as smaller numbers, 0 errors
mai: 0 as smaller numbers, 0 errors
sd: 0 as smaller numbers, 1900 errors
brx: 0 as smaller numbers, 0 errors
ne: 0 as smaller numbers, 0 errors
mni: 100 as smaller numbers, 0 errors 99 199 299 399
kok: 0 as smaller numbers, 0 errors
ks: 0 as smaller numbers, 0 errors
sa: 0 as smaller numbers, 0 errors
82, ಎಂಬತ್ತೆರಡು, ఎనభై రెండు
83, ಎಂಬತ್ತೆರಡು, ఎనభై మూడు
100, ನೂರು, వంద
101, ನೂರೊಂದು, నూట ఒకటి
110, ನೂ, నూట పది
150, ನೂ, నూట యాభై
210, ಇನ್ನೂ, రెండు వందల పది
1110, ಒಂದು ಸಾವಿರದ ನೂ, ఒక వెయ్యి నూట పది
EXPECTED
echo "as stated"
