#!/usr/bin/env bash
# vn-numberwords says numbers in Vietnamese and reads them back. It does not know its own words for the minus and the point when it reads: -5 comes
# back as 5, 1.5 as 15, and 1234.5 as 1234. "Rưỡi", and a half, is left out: "một triệu rưỡi", 1.5 million, is a million, and the
# short form "một triệu hai", 1.2 million, is 1,000,002. 1.05 and 1.5 have the same words. There is no message.
# Seen with vn-numberwords 0.2.0 on Python 3.11:
#   number    number_to_words              words_to_number of it
#   -5        âm năm                       5
#   1.5       một phẩy năm                 15
#   1.05      một phẩy năm                 15
# Consequence: prices in speech, which are said so, are wrong by up to a third. Accept only words of whole numbers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check vn-numberwords==0.2.0
venv/bin/python - <<'PYTHON' | tee seen
from vn_numberwords import number_to_words, words_to_number

for number in (5, 1005, 1234567, -5, -1000, 1.5, 1.05, 0.5, 1234.5):
    words = number_to_words(number)
    print(f"{number}: {words}: {words_to_number(words)}")
for words, number in (("một triệu rưỡi", 1500000), ("hai tỷ rưỡi", 2500000000), ("ba trăm rưỡi", 350),
                      ("một triệu hai", 1200000), ("hai nghìn tư", 2400)):
    print(f"{words}: {words_to_number(words)}, right: {number}")
PYTHON
diff seen - <<'EXPECTED'
5: năm: 5
1005: một nghìn không trăm linh năm: 1005
1234567: một triệu hai trăm ba mươi bốn nghìn năm trăm sáu mươi bảy: 1234567
-5: âm năm: 5
-1000: âm một nghìn: 1000
1.5: một phẩy năm: 15
1.05: một phẩy năm: 15
0.5: không phẩy năm: 5
1234.5: một nghìn hai trăm ba mươi bốn phẩy năm: 1234
một triệu rưỡi: 1000000, right: 1500000
hai tỷ rưỡi: 2000000000, right: 2500000000
ba trăm rưỡi: 300, right: 350
một triệu hai: 1000002, right: 1200000
hai nghìn tư: 2004, right: 2400
EXPECTED
echo "as stated"
