#!/usr/bin/env python3
"""Transcripts as phones (numbers, with keys), for the phone language model of training without alignments.

Nobody knows yet where there are pauses and which pronunciation was used: both are drawn, pauses at the ends of utterances and between words
with the probabilities that Kaldi's recipes have.
"""

import argparse
import random
import sys
from pathlib import Path

from plain_text import NotText, fields, lines_of


def pronunciations(lang):
    """{word: (pronunciations, their weights)}"""
    lexicon = {}
    for _, line in lines_of(lang / "phones/align_lexicon.txt"):
        word, probability, *phones = fields(line)
        found, weights = lexicon.setdefault(word, ([], []))
        found.append(phones)
        weights.append(float(probability))
    return lexicon


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--edge-silence", type=float, default=0.8)
    parser.add_argument("--silence-between", type=float, default=0.2)
    parser.add_argument("--srand", type=int, default=0)
    parser.add_argument("lang", type=Path)
    args = parser.parse_args()

    draw = random.Random(args.srand)
    lexicon = pronunciations(args.lang)
    silence = (args.lang / "phones/optional_silence.txt").read_text("utf-8").strip()
    number = dict(fields(line) for _, line in lines_of(args.lang / "phones.txt"))
    for _, line in lines_of("-"):
        key, *words = fields(line)
        phones = [silence] if draw.random() < args.edge_silence else []
        for i, word in enumerate(words):
            phones += draw.choices(*lexicon[word])[0]
            if draw.random() < (args.silence_between if i + 1 < len(words) else args.edge_silence):
                phones.append(silence)
        print(key, *(number[phone] for phone in phones))


if __name__ == "__main__":
    try:
        main()
    except NotText as error:
        sys.exit(f"recognizer.sh: {error}")
