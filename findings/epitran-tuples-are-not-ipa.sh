#!/usr/bin/env bash
# epitran's word_to_tuples(), of which the documentation says that it returns IPA segments, returns letters and names of the rules' middle
# steps for some languages, while transliterate() of the same object is right: the tuples come from an earlier step. In Italian, an
# IndexError. And trans_list() of Polish cuts affricates into three pieces, one of them the tie bar alone.
# Seen with epitran 1.35.3, panphon 0.22.2 on Python 3.11:
#   German Straße   transliterate ʃtraːsə   word_to_tuples s t r A ß E
# Consequence: make phones of transliterate()'s result, and look at the list of all phones before training.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check epitran==1.35.3 panphon==0.22.2
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import unicodedata

import epitran

for language, word in (("deu-Latn", "Straße"), ("deu-Latn", "ich"), ("spa-Latn", "niño"), ("ita-Latn", "ciao"),
                       ("pol-Latn", "chrząszcz")):
    transliterator = epitran.Epitran(language)
    seen = [word, transliterator.transliterate(word), "list", *transliterator.trans_list(word), "tuples"]
    try:
        seen += [part[3] for part in transliterator.word_to_tuples(word)]
    except IndexError as error:
        seen.append(type(error).__name__)
    print(unicodedata.normalize("NFC", " ".join(seen)))
PYTHON
diff seen - <<'EXPECTED'
Straße ʃtraːsə list ʃ t r aː s ə tuples s t r A ß E
ich ɪç list ɪ ç tuples I DX
niño niɲo list n i ɲ o tuples n i ɲ o
ciao t͡ʃao list t͡ʃ a o tuples IndexError
chrząszcz xʂɔ̃ʂt͡ʂ list x ʂ ɔ̃ ʂ t ͡ ʂ tuples x  ɔ̃ ʂ t͡ʂ
EXPECTED
echo "as stated"
