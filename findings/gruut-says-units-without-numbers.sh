#!/usr/bin/env bash
# gruut turns numbers into words before it looks up phones, but not where letters follow a number: "5km" goes to its guesser, which knows no
# digits, and comes back as the sounds "ækm", "1990s" as "ɚz" and "3kg" as "ɪk". "1/2" has no phones at all. A word with an accent is guessed
# without that letter: "café" is "kəf", and "naïve" has one syllable. "St." is always "Street". There is no message.
# Seen with gruut 2.4.0, gruut_lang_en 2.0.1, num2words 0.5.14 on Python 3.11, American English:
#   5km      æ k m     80s      z                St. Peter       Street Peter
#   1990s    ˈɚ z      1/2      nothing          $1.5 million    one dollar fifty cents million
#   naïve    n ˈɑ v    naive    n ˌaɪ ˈi v       café            k ə f
# Consequence: lexicons, alignments and synthetic speech lack what is spoken. Look for digits and accents in the words that come back.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check gruut==2.4.0 gruut_lang_en==2.0.1 num2words==0.5.14 setuptools==80.9.0
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import unicodedata

from gruut import sentences

for text in ("5 km", "5km", "3kg", "the 1990s", "in the 80s", "1/2 cup", "naive", "naïve", "café", "St. Peter", "$1.5 million"):
    words = [word for sentence in sentences(text, lang="en-us") for word in sentence.words]
    print(f"{text}:", *(f"{word.text} [{unicodedata.normalize('NFC', ' '.join(word.phonemes or []))}]" for word in words))
PYTHON
diff seen - <<'EXPECTED'
5 km: five [f ˈaɪ v] km [k m]
5km: 5km [æ k m]
3kg: 3kg [ɪ k]
the 1990s: the [ð ə] 1990s [ˈɚ z]
in the 80s: in [ˈɪ n] the [ð ə] 80s [z]
1/2 cup: 1/2 [] cup [k ˈʌ p]
naive: naive [n ˌaɪ ˈi v]
naïve: naïve [n ˈɑ v]
café: café [k ə f]
St. Peter: Street [s t ɹ ˈi t] Peter [p ˈi t ɚ]
$1.5 million: one [w ˈʌ n] dollar [d ˈɑ l ɚ] fifty [f ˈɪ f t i] cents [s ˈɛ n t s] million [m ˈɪ l j ə n]
EXPECTED
echo "as stated"
