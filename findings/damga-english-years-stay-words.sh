#!/usr/bin/env bash
# damga says 1010 to 1499 in English as years ("ten sixty six"), also in "1450 words", but its other direction does not read such years: they
# stay words, or become two numbers. Its description says that the two directions can never disagree, since one is the inverse of the other.
# "1100 and 1200" comes back as 1,112 hundred. Years from 1500 on come back, and so do all in German, Spanish, Italian, Turkish.
# Seen with damga 1.0.5 on Python 3.11:
#   in 1066          ->  in ten sixty six                     ->  in ten sixty six
#   page 1022        ->  page ten twenty two                  ->  page 10 22
#   room 1205        ->  room twelve oh five                  ->  room 12 oh five
#   1100 and 1200    ->  eleven hundred and twelve hundred    ->  1,112 hundred
# Consequence: dates before 1500 and four-digit numbers of a text are lost or others behind both directions. Only words of units, as in
# "1250 m", keep them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check damga==1.0.5
venv/bin/python - <<'PYTHON' | tee seen
from damga import InverseNormalizer, TextNormalizer

languages = ("en", "de", "es", "it", "tr")
to_words = {language: TextNormalizer(lang=language) for language in languages}
to_digits = {language: InverseNormalizer(lang=language) for language in languages}
for text in ("in 1066", "page 1022", "room 1205", "1450 words", "1100 and 1200", "1250 m", "1200 euros", "in 1500", "1009", "1999", "2024"):
    words = to_words["en"].normalize(text)
    print(f"{text} -> {words} -> {to_digits['en'].normalize(words)}")
for language in languages:
    texts = [str(number) for number in range(1000, 2100)]
    again = to_digits[language].normalize_batch(to_words[language].normalize_batch(texts))
    changed = [old for old, new in zip(texts, again) if new.replace(",", "").replace(".", "") != old]
    print(f"{language}: {len(changed)} of {len(texts)} numbers do not come back {changed[:1]} {changed[-1:]}")
PYTHON
diff seen - <<'EXPECTED'
in 1066 -> in ten sixty six -> in ten sixty six
page 1022 -> page ten twenty two -> page 10 22
room 1205 -> room twelve oh five -> room 12 oh five
1450 words -> fourteen fifty words -> fourteen fifty words
1100 and 1200 -> eleven hundred and twelve hundred -> 1,112 hundred
1250 m -> one thousand two hundred and fifty meters -> 1,250 meters
1200 euros -> one thousand two hundred euros -> €1,200
in 1500 -> in fifteen hundred -> in 1500
1009 -> one thousand and nine -> 1,009
1999 -> nineteen ninety nine -> 1999
2024 -> twenty twenty four -> 2024
en: 486 of 1100 numbers do not come back ['1010'] ['1499']
de: 0 of 1100 numbers do not come back [] []
es: 0 of 1100 numbers do not come back [] []
it: 0 of 1100 numbers do not come back [] []
tr: 0 of 1100 numbers do not come back [] []
EXPECTED
echo "as stated"
