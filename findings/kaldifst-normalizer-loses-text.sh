#!/usr/bin/env bash
# TextNormalizer of kaldifst rewrites a text with a transducer, as recognisers and synthesisers of sherpa do. If the transducer does not accept the
# text, since a letter or a quotation mark has no arc, the result is the empty text: all words are gone, not only the one without a rule.
# pynini says in that case that the composition failed. There is no message in kaldifst.
# Seen with kaldifst 1.8.3 beside pynini 2.1.7 on Python 3.11, a rule that writes 1 as "one" and knows small letters and spaces:
#   page 1          page one        in both
#   page 1, line    "" in kaldifst, an error in pynini
#   Page 1          "" in kaldifst, an error in pynini
# Consequence: whole sentences are missing in output. Give rules an arc for each byte, and compare the result with "".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check kaldifst==1.8.3 pynini==2.1.7
venv/bin/python - <<'PYTHON' | tee seen
import kaldifst
import pynini

same = [ord(" "), *range(ord("a"), ord("z") + 1)]
arcs = [f"0 0 {byte} {byte}" for byte in same] + [f"0 1 {ord('1')} {ord('o')}", f"1 2 0 {ord('n')}", f"2 0 0 {ord('e')}", "0", ""]
kaldifst.compile("\n".join(arcs)).write("rule.fst")
normalizer = kaldifst.TextNormalizer("rule.fst")
rule = pynini.Fst.read("rule.fst")
for text in ("page 1", "page 1, line", "Page 1", "a page without numbers", "a page without numbers!"):
    try:
        other = repr(pynini.shortestpath(pynini.escape(text) @ rule).string())
    except Exception as error:
        other = f"{type(error).__name__}"
    print(f"{text!r}: kaldifst {normalizer(text)!r}, pynini {other}")
PYTHON
diff seen - <<'EXPECTED'
'page 1': kaldifst 'page one', pynini 'page one'
'page 1, line': kaldifst '', pynini FstOpError
'Page 1': kaldifst '', pynini FstOpError
'a page without numbers': kaldifst 'a page without numbers', pynini 'a page without numbers'
'a page without numbers!': kaldifst '', pynini FstOpError
EXPECTED
echo "as stated"
