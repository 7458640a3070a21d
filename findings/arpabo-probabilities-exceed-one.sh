#!/usr/bin/env bash
# Language models that arpabo estimates are no distributions: the probabilities of all words behind a word add up to between 0.9 and 1.7,
# with each of its smoothing methods, since all backoff weights that it writes are 0, whatever was discounted. Its perplexity counts the
# sentence start as a predicted word, too: a sentence of three words has five. There is no message.
# Seen with arpabo 0.3.0 on Python 3.11, bigrams of 6 sentences, and of 2,000 with 200 words; sums over all words and the sentence end:
#   behind                    "the", 6    "cat", 6    a frequent word, 2,000    a rare word, 2,000
#   good_turing (default)     1.437       1.682       0.938                     1.057
#   kneser_ney                1.160       1.333       0.955                     1.336
# Consequence: perplexities of such models mean nothing, and decoders prefer words behind rare words. Estimate with lmplz of KenLM or
# ngram-count of SRILM.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check arpabo==0.3.0
venv/bin/python - <<'PYTHON' | tee seen
import io
import random

from arpabo import ArpaBoLM


def estimate(text, method):
    model = ArpaBoLM(max_order=2, smoothing_method=method)
    model.read_corpus(io.StringIO(text))
    model.compute()
    model.write_file("model.arpa")
    return model


def read():
    probabilities, backoffs, order = {}, {}, 0
    with open("model.arpa") as file:
        for line in file.read().partition("\\data\\")[2].splitlines():
            if line.endswith("-grams:"):
                order = int(line[1])
            elif order and line and line[0] != "\\":
                fields = line.split()
                words = tuple(fields[1 : 1 + order])
                probabilities[words] = float(fields[0])
                if len(fields) > 1 + order:
                    backoffs[words] = float(fields[-1])
    return probabilities, backoffs


def total(history):
    probabilities, backoffs = read()
    words = [gram[0] for gram in probabilities if len(gram) == 1 and gram[0] != "<s>"]
    if not history:
        return sum(10 ** probabilities[(word,)] for word in words)
    backed_off = backoffs.get((history,), 0.0)
    return sum(10 ** probabilities.get((history, word), backed_off + probabilities[(word,)]) for word in words)


small = "the cat sat\nthe dog sat\na cat ran\nthe cat ran fast\na dog barked\nthe bird sang\n"
random.seed(1)
names = [f"w{i}" for i in range(200)]
weights = [1 / (i + 1) for i in range(200)]
large = "".join(" ".join(random.choices(names, weights, k=random.randint(3, 10))) + "\n" for _ in range(2000))
for method in ("good_turing", "kneser_ney", "auto"):
    for name, text, histories in (("small", small, ("", "the", "cat")), ("large", large, ("", "w0", "w20", "w60"))):
        model = estimate(text, method)
        sums = ", ".join(f"{history or 'nothing'} {total(history):.3f}" for history in histories)
        print(f"{method}, {name}: sums behind {sums}; backoff weights: {set(read()[1].values())}")
result = model.perplexity(io.StringIO("w0 w1 w2\n"))
print(f"words of one sentence with three words: {result['num_words']}")
PYTHON
diff seen - <<'EXPECTED'
good_turing, small: sums behind nothing 0.862, the 1.437, cat 1.682; backoff weights: {0.0}
good_turing, large: sums behind nothing 0.882, w0 0.938, w20 0.949, w60 1.057; backoff weights: {0.0}
kneser_ney, small: sums behind nothing 1.000, the 1.160, cat 1.333; backoff weights: {0.0}
kneser_ney, large: sums behind nothing 1.000, w0 0.955, w20 1.235, w60 1.336; backoff weights: {0.0}
auto, small: sums behind nothing 0.806, the 1.563, cat 1.627; backoff weights: {0.0}
auto, large: sums behind nothing 0.883, w0 0.957, w20 1.235, w60 1.330; backoff weights: {0.0}
words of one sentence with three words: 5
EXPECTED
echo "as stated"
