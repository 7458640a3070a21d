"""Text as the programs read it: UTF-8, lines that end in LF or CR LF, fields between ASCII blanks. Other blanks are parts of words.

Also finds words that look alike: those in another Unicode form or with other capitals.
"""

import os
import re
import stat
import sys
import unicodedata

BLANKS = " \t\n\v\f\r"
# No blanks by Unicode's rules, but as hard to see.
INVISIBLE = "\u200b\u2060\ufeff"
MOST = 256 << 20  # bytes of a text that is in no file


class NotText(Exception):
    """A file that cannot be read, and why."""


def fields(line):
    return re.findall(f"[^{BLANKS}]+", line)


def decoded(content, name):
    """Bytes as text without a byte-order mark; an error that names the line."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotText(f"{name}, line {content[: error.start].count(10) + 1}: this is not UTF-8") from None


def content_of(path):
    """All bytes of a file, or of standard input (`-`). What is no file may have no end, such as /dev/zero: then it is an error."""
    with sys.stdin.buffer if path == "-" else open(path, "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read()
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise NotText(f"{path}: expected a text, found more than {MOST >> 20} MB that are in no file")
    return content


def lines_of(path):
    """(number, line) of all lines that are not empty, without blanks around them. `-` is standard input."""
    try:
        content = content_of(path)
    except OSError as error:
        raise NotText(f"{path}: {error.strerror}") from None
    text = decoded(content, "standard input" if path == "-" else path)
    lines = ((number, line.strip(BLANKS)) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in lines if line]


def other_blanks(word):
    """Names of the blanks inside a word, such as `U+00A0`, without repetitions."""
    return " ".join(dict.fromkeys(f"U+{ord(c):04X}" for c in word if c.isspace() or c in INVISIBLE))


def folded(word):
    """A word in one Unicode form (NFKC) without capitals, as the programs compare it."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).lower())


def codes(characters):
    return " ".join(f"U+{ord(c):04X}" for c in characters)


def difference(word, other):
    """In what two words differ that have the same folded form."""
    if unicodedata.normalize("NFKC", word) != unicodedata.normalize("NFKC", other):
        return f"'{other}' is there, with other capitals"
    same = next((i for i, (a, b) in enumerate(zip(word, other)) if a != b), min(len(word), len(other)))
    word, changed = word[same:], other[same:]
    while len(word) > 1 and len(changed) > 1 and word[-1] == changed[-1]:
        word, changed = word[:-1], changed[:-1]
    return f"'{other}' is there in another Unicode form, with {codes(changed)} for {codes(word)}"


class Hints:
    """What may be meant by words that a list does not have."""

    def __init__(self, words):
        self.words, self.by_form = words, None

    def alike(self, word):
        """A word of the list that looks the same, or None."""
        if self.by_form is None:
            self.by_form = {folded(known): known for known in sorted(self.words, reverse=True)}
        return self.by_form.get(folded(word))

    def __call__(self, word):
        """A clause for a message that the word is missing, or nothing."""
        other = self.alike(word)
        if other is not None:
            return f" ({difference(word, other)})"
        blanks = other_blanks(word)
        return f" (it has {blanks} inside; only ASCII blanks separate words)" if blanks else ""
