#!/usr/bin/env bash
# panphon leaves out what it does not know, without a message, and it does not know common signs of IPA: the letter g of the keyboard (it
# wants U+0261), the English vowels ɝ and ɚ, the one-letter affricates ʧ, ʤ, ʦ and ʣ. Distances are then of other words: "gato" is as good as
# "ato". Seen with panphon 0.22.2 on Python 3.11:
#   feature_edit_distance("gato", "ato") 0.0   ("bɝd", "bd") 0.0   with ɡ of IPA: more than 0
# Consequence: compare "".join(ipa_segs(word)) with the word first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check panphon==0.22.2 'setuptools==80.9.0'
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import panphon
import panphon.distance

table = panphon.FeatureTable()
distance = panphon.distance.Distance()
for word, other in (("gato", "ato"), ("ɡato", "ato"), ("bɝd", "bd"), ("fɑðɚ", "fɑð"), ("ʧat", "at"), ("t͡ʃat", "at")):
    print(word, table.ipa_segs(word), round(distance.feature_edit_distance(word, other), 3))
PYTHON
diff seen - <<'EXPECTED'
gato ['a', 't', 'o'] 0.0
ɡato ['ɡ', 'a', 't', 'o'] 0.917
bɝd ['b', 'd'] 0.0
fɑðɚ ['f', 'ɑ', 'ð'] 0.0
ʧat ['a', 't'] 0.0
t͡ʃat ['t͡ʃ', 'a', 't'] 0.938
EXPECTED
echo "as stated"
