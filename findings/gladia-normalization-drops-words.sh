#!/usr/bin/env bash
# gladia-normalization prepares texts for word error rates. Its preset leaves out words that may be hesitations but often are not: Spanish "hombre"
# (man) and "mujer" (woman), German "halt" (stop) and "also" (so), Finnish "tuota" (that). German "äh" stays, since it becomes "ah" before. Signs
# between digits are dropped: 1/2 is 12, 9-5 is 95, and -5 is 5. "u.s." is "you s", and "£1" is "one". There is no message.
# Seen with gladia-normalization 0.3.1, its preset gladia-3, on Python 3.11, texts that become equal:
#   Spanish   "un hombre entra" (a man comes in), "un entra"     un entra
#   German    "bitte halt an" (please stop), "bitte an"          bitte an
#   English   "open 9-5", "open 95"                              open 95
# Consequence: wrong and missing words are no errors. Compare the normalised texts with those before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check gladia-normalization==0.3.1 contractions==0.1.73 text2num==3.1.0
venv/bin/python -W ignore - <<'PYTHON' | tee seen
from normalization import load_pipeline

for language, texts in (
        ("es", ("un hombre entra", "un entra", "la mujer habla", "un niño entra")),
        ("de", ("bitte halt an", "bitte an", "äh bitte", "ich denke, also bin ich")),
        ("fi", ("en halua tuota kirjaa", "en halua kirjaa")),
        ("en", ("add 1/2 cup", "add 12 cup", "open 9-5", "open 95", "it is -5 degrees", "it is 5 degrees", "the u.s. team", "it costs £1"))):
    pipeline = load_pipeline("gladia-3", language=language)
    for text in texts:
        print(f"{language} | {text} | {pipeline.normalize(text)}")
PYTHON
diff seen - <<'EXPECTED'
es | un hombre entra | un entra
es | un entra | un entra
es | la mujer habla | la habla
es | un niño entra | un nino entra
de | bitte halt an | bitte an
de | bitte an | bitte an
de | äh bitte | ah bitte
de | ich denke, also bin ich | ich denke bin ich
fi | en halua tuota kirjaa | en halua kirjaa
fi | en halua kirjaa | en halua kirjaa
en | add 1/2 cup | add 12 cup
en | add 12 cup | add 12 cup
en | open 9-5 | open 95
en | open 95 | open 95
en | it is -5 degrees | it is 5 degrees
en | it is 5 degrees | it is 5 degrees
en | the u.s. team | the you s team
en | it costs £1 | it costs one
EXPECTED
echo "as stated"
