#!/usr/bin/env bash
# Korean text comes in syllables, or in letters that fonts join, as normalisation to NFD and file systems of macOS give it. hgtk leaves the latter out:
# the letters of 한국어 in NFD are the empty text, and the rest of a sentence remains. Syllables with old letters, which have no other form, are
# lost too. hgtk chooses particles by the last sound, but any digit counts as a vowel: 10 is 십, with a consonant, and has 는 there. There is no message.
# Seen with hgtk 0.2.1, jamo 0.4.1, six 1.17.0 on Python 3.11:
#   한국어 abc   in NFC   ㅎㅏㄴᴥㄱㅜㄱᴥㅇㅓᴥ abc
#   한국어 abc   in NFD   " abc"
#   10           10는 10가 10를; read aloud it is 십은 십이 십을
# Consequence: lexicons and texts of recognisers lose words. Normalise to NFC before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check hgtk==0.2.1 jamo==0.4.1 six==1.17.0
venv/bin/python - <<'PYTHON' | tee seen
import unicodedata

import hgtk
import jamo

for form in ("NFC", "NFD"):
    text = unicodedata.normalize(form, "한국어 abc")
    letters = hgtk.text.decompose(text)
    print(f"{form}: hgtk {letters!r} {hgtk.text.compose(letters)!r}, jamo {jamo.j2hcj(jamo.h2j(text))!r}")
old = "ᄒᆞᆫ글"
print(f"old letter: hgtk {hgtk.text.decompose(old)!r}, jamo {jamo.j2hcj(jamo.h2j(old))!r}")
for word in ("십", "일", "이", "10", "1", "2"):
    print(word, *(hgtk.josa.attach(word, particle) for particle in (hgtk.josa.EUN_NEUN, hgtk.josa.I_GA, hgtk.josa.EUL_REUL)))
PYTHON
diff seen - <<'EXPECTED'
NFC: hgtk 'ㅎㅏㄴᴥㄱㅜㄱᴥㅇㅓᴥ abc' '한국어 abc', jamo 'ㅎㅏㄴㄱㅜㄱㅇㅓ abc'
NFD: hgtk ' abc' ' abc', jamo 'ㅎㅏㄴㄱㅜㄱㅇㅓ abc'
old letter: hgtk 'ㄱㅡㄹᴥ', jamo 'ㅎㆍㄴㄱㅡㄹ'
십 십은 십이 십을
일 일은 일이 일을
이 이는 이가 이를
10 10는 10가 10를
1 1는 1가 1를
2 2는 2가 2를
EXPECTED
echo "as stated"
