#!/usr/bin/env bash
# Word error rates of English are often computed of texts that whisper_normalizer, the rules that came with Whisper, has made alike. Its last rule
# writes the digit 1 as "one", also within 1.50. Signs that stand before a letter are removed then: $1, £1 and 1 % are "one", and
# 1.1 is "one one" as 1 1 is, so these errors are not counted. The exclamation "oh" is the digit 0. Other numbers are right.
# Seen with whisper-normalizer 0.1.15 on Python 3.11:
#   $2.50   $2.50         £2    £2      2.3   2.3       2%   2%
#   $1.50   " one.50"     £1    " one"  1.1   one one   1%   "one "
#   oh no   0 no
# Consequence: some errors of prices and versions are hidden. Count them with the texts as they were.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check whisper-normalizer==0.1.15
venv/bin/python -W ignore - <<'PYTHON' | tee seen
from whisper_normalizer.english import EnglishTextNormalizer

normalizer = EnglishTextNormalizer()
for text in ("$2.50", "$1.50", "£1.50", "1.50", "$2", "$1", "£1", "1%", "2%", "2.3", "1.1", "1 1", "2.1", "2 1", "oh no", "zero no"):
    print(f"{text}: {normalizer(text)!r}")
PYTHON
diff seen - <<'EXPECTED'
$2.50: '$2.50'
$1.50: ' one.50'
£1.50: ' one.50'
1.50: 'one.50'
$2: '$2'
$1: ' one'
£1: ' one'
1%: 'one '
2%: '2%'
2.3: '2.3'
1.1: 'one one'
1 1: 'one one'
2.1: '2 one'
2 1: '2 one'
oh no: '0 no'
zero no: '0 no'
EXPECTED
echo "as stated"
