#!/usr/bin/env bash
# num2words leaves out a zero behind the decimal point in some languages, so that 1.05 and 1.5 have the same words in Persian ("one and a
# half") and Bengali; in Turkish and Vietnamese 1.05 is "one point five" and 1.5 is "one point fifty". English, German and others are right.
# Seen with num2words 0.5.14 on Python 3.11:
#   fa 1.05 یک و نیم   1.5 یک و نیم     vi 1.05 một phẩy năm   1.5 một phẩy năm mươi
# Consequence: spoken forms of such numbers are wrong by a factor of 10. Say the digits behind the point one by one.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check num2words==0.5.14
venv/bin/python - <<'PYTHON' | tee seen
from num2words import num2words

for language in ("en", "fa", "bn", "vi", "tr"):
    print(language, num2words(1.05, lang=language), "|", num2words(1.5, lang=language))
PYTHON
diff seen - <<'EXPECTED'
en one point zero five | one point five
fa یک و نیم | یک و نیم
bn এক দশমিক পাঁচ | এক দশমিক পাঁচ
vi một phẩy năm | một phẩy năm mươi
tr birvirgülbeş | birvirgülelli
EXPECTED
echo "as stated"
