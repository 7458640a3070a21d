"""Sentences of a grammar as conf/grammar.txt has it."""

import re

TOKEN = re.compile(r"\s*([()\[\]|]|\$?[\w'-]+)")


def parse(text):
    """A choice of sequences of parts; a part is a word, a $name or a choice. [a] is the choice of a and nothing."""
    tokens = TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"cannot read '{text}'")
    position = 0

    def choice(end):
        nonlocal position
        alternatives = [[]]
        while position < len(tokens):
            token = tokens[position]
            position += 1
            if token == end:
                return alternatives
            if token == "|":
                alternatives.append([])
            elif token == "(":
                alternatives[-1].append(choice(")"))
            elif token == "[":
                alternatives[-1].append([[], *choice("]")])
            elif token in ")]":
                raise ValueError(f"a {token} too many in '{text}'")
            else:
                alternatives[-1].append(token)
        if end:
            raise ValueError(f"there is no {end} in '{text}'")
        return alternatives

    return choice(None)


class Grammar:
    def __init__(self, path):
        self.rules = {}
        name = None
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("#") or not line.strip():
                continue
            if line.rstrip().endswith(":"):
                name = line.strip()[:-1]
                self.rules[name] = []
            else:
                self.rules[name] += parse(line)
        for word in self.all_words(names=True):
            if word.startswith("$") and word[1:] not in self.rules:
                raise ValueError(f"{path}: nothing is called {word}")

    def all_words(self, names=False):
        """The words, sorted; with the names of rules if wanted."""

        def walk(alternatives):
            for sequence in alternatives:
                for part in sequence:
                    if isinstance(part, str):
                        yield part
                    else:
                        yield from walk(part)

        found = {word for alternatives in self.rules.values() for word in walk(alternatives)}
        return sorted(word for word in found if names or not word.startswith("$"))

    def draw(self, rng, name="command"):
        """The words of a sentence; all alternatives of a choice are equally likely."""

        def expand(alternatives):
            words = []
            for part in alternatives[rng.integers(len(alternatives))]:
                if not isinstance(part, str):
                    words += expand(part)
                elif part.startswith("$"):
                    words += expand(self.rules[part[1:]])
                else:
                    words.append(part)
            return words

        return expand(self.rules[name])
