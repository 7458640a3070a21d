#!/usr/bin/env bash
# The npm package word-error-rate does not count repetitions of the word that the other text begins with: "yes" for "yes yes yes yes" is no
# error, though three words are inserted. Its table of distances begins with the first words, and takes each equal word after it as free. Two
# empty texts have one error. As its description says, it divides by the longer text. There is no message.
# Seen with word-error-rate 0.0.7, its last release, on Node 20 beside jiwer 4.0.0 on Python 3.11, errors:
#   heard                  said          word-error-rate   jiwer
#   yes yes yes yes        yes           0                 3
#   go go go home          go home       0                 2
#   well i well i think    i think       2                 3
#   (nothing)              (nothing)     1                 0
# Consequence: recognisers that repeat words, as those of attention do in silence, look perfect. Count with another package.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check jiwer==4.0.0
npm install --silent --no-fund --no-audit --prefix "$work" word-error-rate@0.0.7 >/dev/null
cat >pairs <<'PAIRS'
one two|one two three
yes yes yes yes|yes
go go go home|go home
no no no|no no
home go home|go home
well i well i think|i think
the cat the cat|the cat
|
PAIRS
cat >show.js <<'SCRIPT'
const { calculateEditDistance, wordErrorRate } = require("word-error-rate");
for (const line of require("fs").readFileSync("pairs", "utf8").trimEnd().split("\n")) {
  const [heard, said] = line.split("|");
  console.log(`word-error-rate | ${line} | ${calculateEditDistance(heard, said)} errors, ${wordErrorRate(heard, said).toFixed(2)}`);
}
SCRIPT
{
  node show.js
  venv/bin/python - <<'PYTHON'
import jiwer

with open("pairs") as pairs:
    for line in pairs:
        heard, said = line.rstrip("\n").split("|")
        result = jiwer.process_words(said, heard)
        print(f"jiwer | {heard}|{said} | {result.substitutions + result.deletions + result.insertions} errors")
PYTHON
} | tee seen
diff seen - <<'EXPECTED'
word-error-rate | one two|one two three | 1 errors, 0.33
word-error-rate | yes yes yes yes|yes | 0 errors, 0.00
word-error-rate | go go go home|go home | 0 errors, 0.00
word-error-rate | no no no|no no | 0 errors, 0.00
word-error-rate | home go home|go home | 1 errors, 0.33
word-error-rate | well i well i think|i think | 2 errors, 0.40
word-error-rate | the cat the cat|the cat | 1 errors, 0.25
word-error-rate | | | 1 errors, 1.00
jiwer | one two|one two three | 1 errors
jiwer | yes yes yes yes|yes | 3 errors
jiwer | go go go home|go home | 2 errors
jiwer | no no no|no no | 1 errors
jiwer | home go home|go home | 1 errors
jiwer | well i well i think|i think | 3 errors
jiwer | the cat the cat|the cat | 2 errors
jiwer | | | 0 errors
EXPECTED
echo "as stated"
