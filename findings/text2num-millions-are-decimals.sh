#!/usr/bin/env bash
# text2num writes numbers in text as digits. Behind a decimal point it takes "million" for more decimals in French, Italian, Spanish, Portuguese and
# Dutch, so that 2.5 million are 2.5000000, and for a number of its own in English and German. It does not know the Spanish 21 before a noun, the
# English 60th, nor that "hundreds of people" is no number. There is no message.
# Seen with text2num 3.1.0 on Python 3.11:
#   French deux virgule cinq millions              2,5000000 (right: 2500000)
#   English two point five million                 2.5 1000000
#   Spanish ciento veintiún mil                    100 veintiún 1000 (right: 121000)
#   hundreds of thousands of people                100 of 1000 of people
#   sixtieth, one hundred sixtieth                 sixtieth, 100 sixtieth (and "sixteeth" is 60th)
# Consequence: amounts in transcripts are a million times too small. Look for a word of magnitude behind decimals before, and leave such numbers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check text2num==3.1.0
venv/bin/python - <<'PYTHON' | tee seen
from text_to_num import alpha2digit

for language, texts in {
    "fr": ["deux millions cinq cent mille", "deux virgule cinq millions", "un virgule deux milliard"],
    "it": ["due milioni", "due virgola cinque milioni"],
    "pt": ["dois milhões", "dois vírgula cinco milhões"],
    "nl": ["twee miljoen", "twee komma vijf miljoen"],
    "de": ["zwei millionen", "zwei komma fünf millionen"],
    "es": ["dos coma cinco millones", "treinta y un mil personas", "veintiún mil personas", "ciento veintiún mil"],
    "en": [
        "two million five hundred thousand", "two point five million", "hundreds of people came", "hundreds of thousands of people",
        "fiftieth", "sixtieth", "one hundred sixtieth", "sixteeth", "one hundred-first",
    ],
}.items():
    for text in texts:
        print(f"{language}: {text}: {alpha2digit(text, language)}")
PYTHON
diff seen - <<'EXPECTED'
fr: deux millions cinq cent mille: 2500000
fr: deux virgule cinq millions: 2,5000000
fr: un virgule deux milliard: 1,2000000000
it: due milioni: 2000000
it: due virgola cinque milioni: 2,5000000
pt: dois milhões: 2000000
pt: dois vírgula cinco milhões: 2,5000000
nl: twee miljoen: 2000000
nl: twee komma vijf miljoen: 2,5000000
de: zwei millionen: 2000000
de: zwei komma fünf millionen: 2,5 1000000
es: dos coma cinco millones: 2,5000000
es: treinta y un mil personas: 31000 personas
es: veintiún mil personas: veintiún 1000 personas
es: ciento veintiún mil: 100 veintiún 1000
en: two million five hundred thousand: 2500000
en: two point five million: 2.5 1000000
en: hundreds of people came: 100 of people came
en: hundreds of thousands of people: 100 of 1000 of people
en: fiftieth: 50th
en: sixtieth: sixtieth
en: one hundred sixtieth: 100 sixtieth
en: sixteeth: 60th
en: one hundred-first: one 101st
EXPECTED
echo "as stated"
