#!/usr/bin/env python3
"""Estimates an n-gram language model from sentences, and writes it in the ARPA format.

Kneser-Ney smoothing, interpolated, with one discount an order (Chen and Goodman, "An empirical study of smoothing techniques for language
modeling", 1998, section 2.7): the share of words that were not seen after a history goes to the shorter history, whose counts are of
different words before, not of occurrences. What the single words leave goes to all words of the vocabulary alike, so that each has a probability.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from math import log10
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "recognizer"))
from plain_text import Hints, NotText, fields, lines_of

BEGIN, END = "<s>", "</s>"
NOT_WORDS = ("<eps>", "#0", BEGIN, END)


def raw_counts(sentences, order):
    """[Counter of n-grams] for lengths 1 to `order`; sentences have their marks."""
    counts = [Counter() for _ in range(order)]
    for sentence in sentences:
        for end in range(1, len(sentence)):
            for length in range(1, min(order, end + 1) + 1):
                counts[length - 1][tuple(sentence[end + 1 - length : end + 1])] += 1
    return counts


def kneser_ney_counts(raw):
    """The highest order's occurrences; below, how many different words come before, or occurrences where a sentence begins."""
    counts = [Counter() for _ in raw]
    counts[-1] = raw[-1]
    for length in range(len(raw) - 1, 0, -1):
        lower = counts[length - 1]
        for ngram in raw[length]:
            lower[ngram[1:]] += 1
        lower.update({ngram: count for ngram, count in raw[length - 1].items() if ngram[0] == BEGIN})
    return counts


def discount(counts):
    """What is taken from each count: n1 / (n1 + 2 n2), or a half where one of these is zero."""
    once = sum(count == 1 for count in counts.values())
    twice = sum(count == 2 for count in counts.values())
    return once / (once + 2 * twice) if once and twice else 0.5


class Model:
    """Probabilities of n-grams that were seen and the weights of shorter histories: what an ARPA file holds."""

    def __init__(self, sentences, vocabulary, order):
        self.order = order
        counts = kneser_ney_counts(raw_counts([[BEGIN, *sentence, END] for sentence in sentences], order))
        words = sorted(set(vocabulary) | {END})
        self.backoff = {}
        self.probabilities = [{} for _ in range(order)]
        self.floor = 1 / len(words)
        for length, table in enumerate(counts, 1):
            self.add_order(length, table, discount(table))
        weight = self.backoff[()]
        for word in words:
            self.probabilities[0].setdefault((word,), weight * self.floor)

    def add_order(self, length, counts, less):
        totals, followers = Counter(), Counter()
        for ngram, count in counts.items():
            totals[ngram[:-1]] += count
            followers[ngram[:-1]] += 1
        for history, total in totals.items():
            self.backoff[history] = less * followers[history] / total
        for ngram, count in counts.items():
            history = ngram[:-1]
            shorter = self.probabilities[length - 2][ngram[1:]] if length > 1 else self.floor
            self.probabilities[length - 1][ngram] = (count - less) / totals[history] + self.backoff[history] * shorter

    def write(self, file):
        entries = [dict(table) for table in self.probabilities]
        entries[0][(BEGIN,)] = 1e-99
        print("\\data\\", file=file)
        for length, table in enumerate(entries, 1):
            print(f"ngram {length}={len(table)}", file=file)
        for length, table in enumerate(entries, 1):
            print(f"\n\\{length}-grams:", file=file)
            for ngram, probability in sorted(table.items()):
                line = f"{log10(probability):.6f}\t{' '.join(ngram)}"
                if length < self.order and ngram in self.backoff:
                    line += f"\t{log10(self.backoff[ngram]):.6f}"
                print(line, file=file)
        print("\n\\end\\", file=file)


def read_sentences(path, has_keys, vocabulary):
    sentences, hint = [], Hints(vocabulary)
    for number, line in lines_of(path):
        words = fields(line)[1 if has_keys else 0 :]
        for word in words:
            if word not in vocabulary:
                sys.exit(f"make_arpa.py: {path}, line {number}: the word '{word}' is not in the vocabulary{hint(word)}")
        if words:
            sentences.append(words)
    if not sentences:
        sys.exit(f"make_arpa.py: {path}: there are no sentences")
    return sentences


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--order", type=int, default=3, help="words that a probability is about, with the history (3)")
    parser.add_argument("--vocabulary", required=True, help="words, the first field of each line (words.txt)")
    parser.add_argument("--keys", choices=("true", "false"), default="true", help="lines begin with a key (true)")
    parser.add_argument("text", help="sentences, one a line")
    parser.add_argument("arpa", help="where the model goes; - is standard output")
    args = parser.parse_args()
    if not 1 <= args.order <= 9:
        sys.exit(f"make_arpa.py: --order={args.order}: expected a number from 1 to 9")
    try:
        vocabulary = {fields(line)[0] for _, line in lines_of(args.vocabulary)} - set(NOT_WORDS)
        model = Model(read_sentences(args.text, args.keys == "true", vocabulary), vocabulary, args.order)
        if args.arpa == "-":
            model.write(sys.stdout)
        elif os.path.exists(args.arpa) and not os.path.isfile(args.arpa):  # a pipe, a device
            with open(args.arpa, "w", encoding="utf-8") as file:
                model.write(file)
        else:
            with tempfile.TemporaryDirectory(prefix=".tmp.", dir=os.path.dirname(args.arpa) or ".") as private:
                with open(f"{private}/arpa", "w", encoding="utf-8") as file:
                    model.write(file)
                os.replace(f"{private}/arpa", args.arpa)
    except NotText as error:
        sys.exit(f"make_arpa.py: {error}")
    except OSError as error:
        sys.exit(f"make_arpa.py: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
