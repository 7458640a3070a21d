#!/usr/bin/env bash
# num2words says numbers between -1 and 0 without "minus" in most languages, English among them, though whole negative numbers have it.
# In Bengali no negative number has it, and in Vietnamese -5 becomes "fifteen". No error. Seen with num2words 0.5.14 on Python 3.11:
#   en -0.5 zero point five   -1.5 minus one point five      vi -5 mười lăm = 15
# Consequence: texts of temperatures and the like for a language model or an aligner say the opposite. Say the minus before, and the words of
# the absolute value behind it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check num2words==0.5.14
venv/bin/python - <<'PYTHON' | tee seen
from num2words import num2words

for language in ("en", "de", "es", "fr", "ru", "ja", "it", "th"):
    print(language, num2words(-0.5, lang=language), "|", num2words(-1.5, lang=language))
print("bn", num2words(-5, lang="bn") == num2words(5, lang="bn"))
print("vi", num2words(-5, lang="vi"), num2words(-5, lang="vi") == num2words(15, lang="vi"))
PYTHON
diff seen - <<'EXPECTED'
en zero point five | minus one point five
de null Komma fünf | minus eins Komma fünf
es cero punto cinco | menos uno punto cinco
fr zéro virgule cinq | moins un virgule cinq
ru ноль целых пять десятых | минус одна целых пять десятых
ja 零点五 | マイナス一点五
it meno zero virgola cinque | meno uno virgola cinque
th ติดลบศูนย์จุดห้า | ติดลบหนึ่งจุดห้า
bn True
vi mười lăm True
EXPECTED
echo "as stated"
