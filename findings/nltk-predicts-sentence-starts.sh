#!/usr/bin/env bash
# A sentence start "<s>" is no word that a language model predicts: SRILM and KenLM give it no probability. nltk.lm counts each "<s>" that its own
# padding puts before a sentence, two for trigrams, as a word. Of four short sentences "<s>" has 28 % of the unigrams of a trigram model,
# and all words together have 72 %, in MLE and in WittenBellInterpolated, which backs off to them. Probabilities of KneserNeyInterpolated
# sum to 1.03 behind "<s>", and its unigrams divide by zero. There is no message.
# Seen with nltk 3.10.4 on Python 3.11, the probability of all words and the sentence end, and that of "<s>":
#                      MLE, WittenBellInterpolated    KneserNeyInterpolated    KneserNeyInterpolated behind "<s>"
#   unigram model      1.000   0.000                  an error
#   bigram model       0.810   0.190                  1.000   0.000            1.000   0.000
#   trigram model      0.724   0.276                  0.923   0.077            1.023   0.010
# Consequence: perplexities are too high, and not comparable with those of other programs or orders.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check nltk==3.10.4
venv/bin/python -W ignore - <<'PYTHON' | tee seen
from nltk.lm import MLE, KneserNeyInterpolated, WittenBellInterpolated
from nltk.lm.preprocessing import padded_everygram_pipeline

SENTENCES = [["a", "b", "c"], ["a", "b", "b", "c"], ["c", "a"], ["b", "c", "a", "d"]]
for kind in (MLE, WittenBellInterpolated, KneserNeyInterpolated):
    for order in (1, 2, 3):
        model = kind(order=order)
        model.fit(*padded_everygram_pipeline(order, SENTENCES))
        try:
            for context in ([], ["<s>"])[: min(order, 2)]:
                scores = {word: model.score(word, context) for word in model.vocab}
                print(f"{kind.__name__} of order {order} behind {context}: {sum(scores.values()):.3f}, of it <s> {scores.get('<s>', 0):.3f}")
        except ZeroDivisionError as error:
            print(f"{kind.__name__} of order {order}: {error}")
PYTHON
diff seen - <<'EXPECTED'
MLE of order 1 behind []: 1.000, of it <s> 0.000
MLE of order 2 behind []: 1.000, of it <s> 0.190
MLE of order 2 behind ['<s>']: 1.000, of it <s> 0.000
MLE of order 3 behind []: 1.000, of it <s> 0.276
MLE of order 3 behind ['<s>']: 1.000, of it <s> 0.500
WittenBellInterpolated of order 1 behind []: 1.000, of it <s> 0.000
WittenBellInterpolated of order 2 behind []: 1.000, of it <s> 0.190
WittenBellInterpolated of order 2 behind ['<s>']: 1.000, of it <s> 0.082
WittenBellInterpolated of order 3 behind []: 1.000, of it <s> 0.276
WittenBellInterpolated of order 3 behind ['<s>']: 1.000, of it <s> 0.425
KneserNeyInterpolated of order 1: division by zero
KneserNeyInterpolated of order 2 behind []: 1.000, of it <s> 0.000
KneserNeyInterpolated of order 2 behind ['<s>']: 1.000, of it <s> 0.000
KneserNeyInterpolated of order 3 behind []: 1.000, of it <s> 0.077
KneserNeyInterpolated of order 3 behind ['<s>']: 1.033, of it <s> 0.010
EXPECTED
echo "as stated"
