#!/usr/bin/env python3
"""A lexicon without a lexicon: the letters of words are their phones.

Words are those of transcripts (lines `key word word …`) and of an ARPA file. A phone is a letter in lower case with its marks; syllables of
Hangul are taken apart into their letters; a digit is a phone d0 … d9; other signs are silent. Writes lines `word phone phone …`.
"""

import sys
import unicodedata

from plain_text import NotText, fields, lines_of

NOT_WORDS = ("<eps>", "#0", "<s>", "</s>")


def letters(word):
    """The phones of a word; none for a word without letters and digits."""
    phones = []
    for char in unicodedata.normalize("NFC", word.lower()):
        category = unicodedata.category(char)
        if category == "Nd":
            phones.append(f"d{unicodedata.digit(char)}")
        elif "HANGUL SYLLABLE" in unicodedata.name(char, ""):
            phones.extend(unicodedata.normalize("NFD", char))
        elif category.startswith(("L", "N")):
            phones.append(char)
        elif category.startswith("M") and phones and not phones[-1].startswith("d"):
            phones[-1] += char
    return phones


def words_of_arpa(path):
    """The words of the section of single words."""
    inside = False
    for _, line in lines_of(path):
        if line.startswith("\\"):
            if inside:
                return
            inside = line == "\\1-grams:"
        elif inside and len(fields(line)) > 1:
            yield fields(line)[1]


def main():
    text, arpa, out = sys.argv[1:]
    try:
        words, first = {}, {}
        for number, line in lines_of(text):
            for word in fields(line)[1:]:
                words[word] = first.setdefault(word, f"{text}, line {number}")
        for word in words_of_arpa(arpa) if arpa else ():
            words.setdefault(word, arpa)
        lines = []
        for word in sorted(set(words) - set(NOT_WORDS)):
            phones = letters(word)
            if phones:
                lines.append(f"{word} {' '.join(phones)}\n")
            elif words[word] != arpa:
                sys.exit(f"recognizer.sh: {words[word]}: the word '{word}' has no letters: --lexicon=letters cannot say it")
        with open(out, "w", encoding="utf-8") as file:
            file.writelines(lines)
    except NotText as error:
        sys.exit(f"recognizer.sh: {error}")
    except OSError as error:
        sys.exit(f"recognizer.sh: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
