#!/usr/bin/env bash
# Language models in the ARPA format have numbers such as -4.5e-05 where a weight is near 0, as SRILM and KenLM print them. The Python package
# arpa keeps the exponent of a probability, and drops that of a backoff weight: it reads -4.5e-05 as -4.5. Each word that backs off
# there is 30,000 times less likely. A number such as 1e+01, or -inf, is an error. There is no message.
# Seen with arpa 0.1.0b4 on Python 3.11, with log10 p(b) = -0.7 and the backoff weight of "<s>":
#   weight        -0.000045   -4.5e-05   -3e-06
#   p(b | <s>)    -0.700045   -5.2       -3.7
# Consequence: perplexities are wrong, and depend on how a program prints numbers. Write weights without exponents.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check arpa==0.1.0b4
venv/bin/python - <<'PYTHON' | tee seen
import arpa

MODEL = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.5\t</s>
-99\t<s>\t{weight}
-0.5\ta\t-0.25
-0.7\tb\t-0.25

\\2-grams:
{probability}\t<s> a
-0.3\tb </s>

\\end\\
"""
for weight in ("-0.000045", "-4.5e-05", "-3e-06"):
    model = arpa.loads(MODEL.format(weight=weight, probability=weight))[0]
    print(f"{weight}: p(b | <s>) {model.log_p('<s> b'):.6f}, p(a | <s>) {model.log_p('<s> a'):.6f}, sentence b {model.log_s('b'):.6f}")
PYTHON
diff seen - <<'EXPECTED'
-0.000045: p(b | <s>) -0.700045, p(a | <s>) -0.000045, sentence b -1.000045
-4.5e-05: p(b | <s>) -5.200000, p(a | <s>) -0.000045, sentence b -5.500000
-3e-06: p(b | <s>) -3.700000, p(a | <s>) -0.000003, sentence b -4.000000
EXPECTED
echo "as stated"
