#!/usr/bin/env bash
# jiwer divides a text into words at blanks only. A single line break, tab or blank that does not break stays within a word, so the last
# word of a line and the first of the next are one word: text that is read from a file has errors where it has lines. Two such
# signs together become a blank. Hence a file with lines that end as on Windows (CR LF) has other rates than one with Unix lines.
# Seen with jiwer 4.0.0 on Python 3.11, against the hypothesis "one two three four":
#   "one two three four"        0 errors of 4 words     "one two\r\nthree four"   0 errors of 4 words
#   "one two\nthree four"       2 errors of 3 words     "one two\tthree four"     2 errors of 3 words
# Consequence: rates depend on where lines break. Pass " ".join(text.split()).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check jiwer==4.0.0
venv/bin/python - <<'PYTHON' | tee seen
import jiwer

for text in ("one two three four", "one two\r\nthree four", "one two\nthree four", "one two\tthree four", "one two\u00a0three four",
             "one two \nthree four"):
    result = jiwer.process_words(text, "one two three four")
    errors = result.substitutions + result.deletions + result.insertions
    print(f"{text!r}: {errors} errors, {result.wer:.3f}, words {result.references[0]}")
PYTHON
diff seen - <<'EXPECTED'
'one two three four': 0 errors, 0.000, words ['one', 'two', 'three', 'four']
'one two\r\nthree four': 0 errors, 0.000, words ['one', 'two', 'three', 'four']
'one two\nthree four': 2 errors, 0.667, words ['one', 'two\nthree', 'four']
'one two\tthree four': 2 errors, 0.667, words ['one', 'two\tthree', 'four']
'one two\xa0three four': 2 errors, 0.667, words ['one', 'two\xa0three', 'four']
'one two \nthree four': 0 errors, 0.000, words ['one', 'two', 'three', 'four']
EXPECTED
echo "as stated"
