#!/usr/bin/env bash
# num2word-uz has two functions for digits in strings: num2word() for whole numbers and float_num2word() for decimals. The second drops the zeros at
# the end of a number that has no point: "100" is "bir", one, "2000" is "ikki", two, and "110" is "o'n bir", eleven. The first drops all
# behind a point: "2.5" is "ikki". Columns of numbers hold both kinds. There is no message, and its description does not say so.
# Seen with num2word-uz 0.1.1 on Python 3.11:
#             num2word            float_num2word
#   100       bir yuz             bir
#   110       bir yuz o'n         o'n bir
#   100.5     bir yuz             bir yuz butun o'ndan besh
# Consequence: prices are a tenth to a millionth of the true ones. Choose the function by the point in the number.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check num2word-uz==0.1.1
venv/bin/python - <<'PYTHON' | tee seen
from num2word_uz import float_num2word, num2word

for number in ("7", "10", "20", "100", "101", "110", "2000", "1500000", "100.0", "100.5", "2.5", "0.5", "20.50"):
    print(f"{number}: num2word {num2word(number)}, float_num2word {float_num2word(number)}")
PYTHON
diff seen - <<'EXPECTED'
7: num2word yetti, float_num2word yetti
10: num2word o'n, float_num2word bir
20: num2word yigirma, float_num2word ikki
100: num2word bir yuz, float_num2word bir
101: num2word bir yuz bir, float_num2word bir yuz bir
110: num2word bir yuz o'n, float_num2word o'n bir
2000: num2word ikki ming, float_num2word ikki
1500000: num2word bir million besh yuz ming, float_num2word o'n besh
100.0: num2word bir yuz, float_num2word bir yuz
100.5: num2word bir yuz, float_num2word bir yuz butun o'ndan besh
2.5: num2word ikki, float_num2word ikki butun o'ndan besh
0.5: num2word nol, float_num2word nol butun o'ndan besh
20.50: num2word yigirma, float_num2word yigirma butun o'ndan besh
EXPECTED
echo "as stated"
