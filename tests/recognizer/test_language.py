"""The language model against its definition, and the lexicon as a transducer against a walk through it by hand."""

import random
import subprocess
import tempfile
import unittest
from collections import defaultdict
from math import exp, log
from pathlib import Path


def sentences_at_random(seed):
    draw = random.Random(seed)
    words = ["a", "b", "c", "d", "e", "f"]
    return [[draw.choice(words[: draw.randrange(1, 6) + 1]) for _ in range(draw.randrange(1, 7))] for _ in range(40)], words + ["never"]


class KneserNey:
    """Interpolated Kneser-Ney as the formula has it: every count is found anew among all n-grams."""

    def __init__(self, sentences, vocabulary, order):
        self.order, self.words = order, sorted(vocabulary) + ["</s>"]
        self.marked = [["<s>", *sentence, "</s>"] for sentence in sentences]

    def occurrences(self, ngram):
        n = len(ngram)
        return sum(tuple(s[i : i + n]) == ngram for s in self.marked for i in range(len(s) - n + 1))

    def count(self, ngram):
        if len(ngram) == self.order or ngram[0] == "<s>":
            return self.occurrences(ngram)
        n = len(ngram) + 1
        return len({s[i] for s in self.marked for i in range(len(s) - n + 1) if tuple(s[i + 1 : i + n]) == ngram})

    def discount(self, n):
        ngrams = {tuple(s[i : i + n]) for s in self.marked for i in range(len(s) - n + 1)} - {("<s>",)}
        counts = [self.count(ngram) for ngram in ngrams]
        once, twice = counts.count(1), counts.count(2)
        return once / (once + 2 * twice) if once and twice else 0.5

    def probability(self, history, word):
        shorter = self.probability(history[1:], word) if history else 1 / len(self.words)
        counts = [self.count((*history, other)) for other in self.words]
        if not sum(counts):
            return shorter
        less = self.discount(len(history) + 1)
        own = self.count((*history, word))
        return (max(own - less, 0) + less * sum(count > 0 for count in counts) * shorter) / sum(counts)


def read_arpa(path):
    probabilities, backoffs, length = {}, defaultdict(lambda: 1.0), 0
    for line in path.read_text().splitlines():
        if line.startswith("\\") and line.endswith("-grams:"):
            length = int(line[1])
        elif length and "\t" in line:
            probability, ngram, *backoff = line.split("\t")
            probabilities[tuple(ngram.split())] = 10 ** float(probability)
            if backoff:
                backoffs[tuple(ngram.split())] = 10 ** float(backoff[0])
    return probabilities, backoffs


def look_up(arpa, history, word):
    probabilities, backoffs = arpa
    if (*history, word) in probabilities:
        return probabilities[(*history, word)]
    return backoffs[history] * look_up(arpa, history[1:], word)


class LanguageModel(unittest.TestCase):
    def test_a_file_holds_the_probabilities_of_the_formula(self):
        for order in (1, 2, 3, 4):
            sentences, vocabulary = sentences_at_random(order)
            slow = KneserNey(sentences, vocabulary, order)
            with tempfile.TemporaryDirectory() as folder:
                text, words, path = (Path(folder) / name for name in ("text", "words.txt", "lm.arpa"))
                text.write_text("".join(f"key{i} {' '.join(sentence)}\n" for i, sentence in enumerate(sentences)))
                words.write_text("<eps> 0\n" + "".join(f"{word} 1\n" for word in vocabulary) + "#0 9\n<s> 9\n</s> 9\n")
                subprocess.run(["make-arpa", "--print-args=false", f"--order={order}", f"--vocabulary={words}", text, path], check=True)
                arpa = read_arpa(path)
            draw = random.Random(order)
            histories = [()] + [("<s>",)] * (order > 1)
            histories += [tuple(draw.choices(vocabulary, k=draw.randrange(1, order))) for _ in range(8)] if order > 1 else []
            histories += [("<s>", "a"), ("<s>", "never")] if order > 2 else []
            for history in histories:
                found = [look_up(arpa, history, word) for word in slow.words]
                self.assertAlmostEqual(sum(found), 1, places=4, msg=f"{order} {history}")
                for word, probability in zip(slow.words, found):
                    expected = slow.probability(history, word)
                    self.assertAlmostEqual(log(probability), log(expected), places=4, msg=f"{order} {history} {word}")

    def test_a_word_that_is_not_in_the_vocabulary_is_named_with_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            text, words = Path(folder) / "text", Path(folder) / "words"
            text.write_text("k1 a\nk2 a b\n")
            words.write_text("a 1\n")
            result = subprocess.run(["make-arpa", "--print-args=false", f"--vocabulary={words}", text, "-"], capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("line 2: the word 'b' is not in the vocabulary", result.stderr)


class Lexicon(unittest.TestCase):
    def test_the_costs_of_a_word_are_its_probability_and_that_of_the_pause_after_it(self):
        with tempfile.TemporaryDirectory() as folder:
            lexicon, out = Path(folder) / "lexicon", Path(folder) / "lang"
            lexicon.write_text("a 1.0 P\nb 0.25 P Q\nc 1.0 P Q\nd 1.0 R\n")
            options = ["--print-args=false", "--word-positions=false", "--silence-probability=0.2"]
            subprocess.run(["prepare-lang", *options, lexicon, out], check=True)
            lines = (out / "L.fst.txt").read_text().splitlines()
            ends = {line.split()[0] for line in lines if len(line.split()) == 2}
            disambiguated = (out / "L_disambig.fst.txt").read_text()
            phones = dict(line.split() for line in (out / "phones.txt").read_text().splitlines())
            words = dict(line.split() for line in (out / "words.txt").read_text().splitlines())
        arcs = [[float(field) for field in line.split()] for line in lines if len(line.split()) == 5]
        ids = lambda names, table: [int(table[name]) for name in names.split()]

        def cost(inputs, output):
            """The cheapest way from the start to the end that reads and writes this."""
            inputs, output = ids(inputs, phones), ids(output, words)
            best = {}
            todo = [(0, 0, 0, 0.0)]
            while todo:
                state, read, written, so_far = todo.pop()
                if best.get((state, read, written), 1e9) <= so_far:
                    continue
                best[state, read, written] = so_far
                for source, to, phone, word, price in arcs:
                    if source == state and (not phone or read < len(inputs) and inputs[read] == phone):
                        if not word or written < len(output) and output[written] == word:
                            todo.append((int(to), read + bool(phone), written + bool(word), so_far + price))
            return min((best.get((int(end), len(inputs), len(output)), 1e9) for end in ends))

        self.assertAlmostEqual(exp(-cost("P Q", "b")), 0.8 * 0.25 * 0.8, places=5)
        self.assertAlmostEqual(exp(-cost("SIL P Q SIL R", "c d")), 0.2 * 0.2 * 0.8, places=5)
        self.assertEqual(cost("P Q", "d"), 1e9)
        # a begins b and c, which sound alike: two symbols tell them apart, a has one, and d needs none.
        inputs = [line.split()[2] for line in disambiguated.splitlines() if len(line.split()) == 5]
        self.assertEqual([inputs.count(phones[symbol]) for symbol in ("#1", "#2")], [4, 2])


if __name__ == "__main__":
    unittest.main()
