#!/usr/bin/env bash
# extended-wer-normalizer prepares texts for word error rates, and writes amounts in words. It takes two digits behind a comma for cents: $1,000 is
# "1 dollar0", and $2,500,000 is 2 dollars 50 cents with zeros behind it. $1.5 million is a dollar 50 cents and a million. 1,000th is "1zeroth".
# Points and signs between digits are dropped, so that 3.14 is 314. "na also" and "alors" are empty texts. There is no message.
# Seen with extended-wer-normalizer 0.6.0, jiwer 4.0.0, num2words 0.5.14, text2num 3.1.0 on Python 3.11:
#   $1,000                 1 dollar0
#   one thousand dollars   1 0 0 0 dollars
#   $2,500,000             2 dollars 5 0 cents0 0 0 0
#   1/2, 12                1 2
# Consequence: right amounts count as errors, and wrong numbers as right. Spell amounts with another package before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check extended-wer-normalizer==0.6.0 jiwer==4.0.0 num2words==0.5.14 text2num==3.1.0
venv/bin/python -W ignore - <<'PYTHON' | tee seen
from extended_wer_normalizer import english_wer_pipeline, french_wer_pipeline, german_wer_pipeline

for pipeline, texts in (
        (english_wer_pipeline, ("$5.99", "$1,000", "one thousand dollars", "$25,000.50", "$2,500,000", "£10,000", "$1.5 million", "the 1st", "the 1,000th",
                                "3.14", "314", "1/2", "12", "-5 degrees", "5 degrees")),
        (german_wer_pipeline, ("na also", "er kommt also")), (french_wer_pipeline, ("alors", "50%"))):
    for text in texts:
        print(f"{text} | {pipeline(text)}")
PYTHON
diff seen - <<'EXPECTED'
$5.99 | 5 dollars 9 9 cents
$1,000 | 1 dollar0
one thousand dollars | 1 0 0 0 dollars
$25,000.50 | 2 5 dollars0 5 0
$2,500,000 | 2 dollars 5 0 cents0 0 0 0
£10,000 | 1 0 pounds0
$1.5 million | 1 dollar 5 0 cents 1 0 0 0 0 0 0
the 1st | the first
the 1,000th | the 1zeroth
3.14 | 3 1 4
314 | 3 1 4
1/2 | 1 2
12 | 1 2
-5 degrees | 5 degrees
5 degrees | 5 degrees
na also | 
er kommt also | er kommt
alors | 
50% | 5 0 pour 1 0 0
EXPECTED
echo "as stated"
