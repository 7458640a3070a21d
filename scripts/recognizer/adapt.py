#!/usr/bin/env python3
"""The words of an adapted model: which there are, and how they are spoken.

`missing` prints the words of the texts that have no pronunciation, one a line. `parts` prints lexicon lines for these words that can be
put together from words of the old lexicon. `language` writes the files of the new language into
the folder: lexicon.txt (of the words that the language model can have), vocabulary (the words of texts and new pronunciations), text.txt
and phrases.txt (sentences of which each word has a pronunciation). The folder has old/lexicon.txt (phones with their places in words),
old/phones.txt and old/guessed.txt, as nnet3-recover writes them.
"""

import argparse
import sys
from pathlib import Path

from lang import DECIMAL, POSITIONS, with_positions
from letters import words_of_arpa
from plain_text import Hints, NotText, fields, lines_of

NOT_WORDS = ("<eps>", "#0", "<s>", "</s>")
SHOWN = 5


def say(sentence):
    print(f"adapt_model.sh: {sentence}", file=sys.stderr)


def fail(sentence):
    sys.exit(f"adapt_model.sh: {sentence}")


def read_old(folder, probabilities):
    """{word: [(probability, phones)]} of the old lexicon."""
    lexicon = {}
    for _, line in lines_of(folder / "old/lexicon.txt"):
        word, *columns = fields(line)
        if word not in NOT_WORDS:
            probability = float(columns.pop(0)) if probabilities else 1.0
            lexicon.setdefault(word, []).append((probability, tuple(columns)))
    return lexicon


def placed(phones, names):
    """Phones of a new word as the model has them: with their places in the word, or as they are. None if one is unknown."""
    marked = with_positions(phones)
    found = [m if m in names else p for m, p in zip(marked, phones)]
    return tuple(found) if all(name in names for name in found) else None


def read_new(path, names):
    """{word: [(probability, phones)]} of new pronunciations."""
    lexicon = {}
    for number, line in lines_of(path):
        word, *phones = fields(line)
        place = f"{path}, line {number}"
        probability = 1.0
        if len(phones) > 1 and DECIMAL.fullmatch(phones[0]) and phones[0] not in names:
            probability = float(phones.pop(0).replace(",", "."))
            if not 0 < probability <= 1:
                fail(f"{place}: expected a probability above 0 and at most 1 behind '{word}', found '{probability}'")
        if word in NOT_WORDS:
            fail(f"{place}: '{word}' has a meaning of its own in graphs, and cannot be a word")
        if not phones:
            fail(f"{place}: the word '{word}' has no pronunciation")
        marked = placed(phones, names)
        if marked is None:
            wrong = next(p for p, m in zip(phones, with_positions(phones)) if p not in names and m not in names)
            fail(f"{place}: '{wrong}' is no phone of the model at this place of a word (nnet3-lexicon prints words with their phones)")
        lexicon.setdefault(word, []).append((probability, marked))
    return lexicon


def without_place(phone):
    return phone[:-2] if phone[-2:] in POSITIONS else phone


def by_parts(word, old):
    """The phones of a word from those of the fewest old words that make it up, one behind the other; None if there are no such words."""
    best = {0: (0, ())}  # by length of a beginning: number of parts, phones
    for end in range(1, len(word) + 1):
        ways = []
        for begin in range(end):
            if begin in best and (begin, end) != (0, len(word)) and word[begin:end] in old:
                parts, phones = best[begin]
                ways.append((parts + 1, phones + tuple(map(without_place, old[word[begin:end]][0][1]))))
        if ways:
            best[end] = min(ways, key=lambda way: way[0])
    return best[len(word)][1] if len(word) in best else None


def guessed_words(new, pairs, silence):
    """New words with a phone behind a phone that the old graph does not have in this order."""
    found = []
    for word, entries in new.items():
        for _, phones in entries:
            if any(pair in pairs for pair in zip(("<eps>", *phones), phones)) or (silence, phones[0]) in pairs:
                found.append(word)
    return list(dict.fromkeys(found))


def sentences_of(path, known, skip, kind):
    """The sentences of a file without those that have unknown words."""
    kept, unknown, first, hint = [], {}, {}, Hints(known)
    for number, line in lines_of(path):
        words = fields(line)
        bad = [word for word in words if word not in known]
        for word in bad:
            unknown[word] = unknown.get(word, 0) + 1
            first.setdefault(word, number)
        if not bad:
            kept.append(" ".join(words))
    if unknown:
        shown = sorted(unknown, key=unknown.get, reverse=True)[:SHOWN]
        for word in shown:
            say(f"{path}, line {first[word]}: the word '{word}' has no pronunciation{hint(word)}")
        if len(unknown) > SHOWN:
            say(f"… and {len(unknown) - SHOWN} more words of {path}")
        if not skip:
            fail("stopped: give pronunciations by --lexicon or --g2p; --skip-unknown=true leaves out sentences with such words")
        say(f"WARNING: {sum(1 for _ in lines_of(path)) - len(kept)} {kind} are left out")
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("missing", "parts", "language"))
    for name in ("text", "phrases", "old-arpa", "new", "g2p"):
        parser.add_argument(f"--{name}", default="")
    for name in ("probabilities", "skip-unknown"):
        parser.add_argument(f"--{name}", choices=("true", "false"), default="false")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()

    names = {fields(line)[0] for _, line in lines_of(args.folder / "old/phones.txt")} - {"<eps>"}
    old = read_old(args.folder, args.probabilities == "true")
    new = {}
    for path in (args.new, args.g2p):
        for word, entries in read_new(path, names).items() if path else ():
            new.setdefault(word, []).extend(entries)
    files = {kind: path for kind, path in (("text", args.text), ("phrases", args.phrases)) if path}
    if args.what != "language":
        said = (word for path in files.values() for _, line in lines_of(path) for word in fields(line))
        for word in dict.fromkeys(said):
            if word in old or word in new or word in NOT_WORDS:
                continue
            if args.what == "missing":
                print(word)
            elif phones := by_parts(word, old):
                print(word, *phones)
        return
    known = (old.keys() | new.keys()) - set(NOT_WORDS)
    texts = {kind: sentences_of(path, known, args.skip_unknown == "true", kind) for kind, path in files.items()}
    if not any(texts.values()):
        fail("no sentence is left")
    vocabulary = {word for sentences in texts.values() for sentence in sentences for word in sentence.split()} | new.keys()
    wanted = vocabulary | (set(words_of_arpa(args.old_arpa)) if args.old_arpa else set())
    silence = (args.folder / "old/silence.txt").read_text("utf-8").strip()
    pairs = {tuple(fields(line)) for _, line in lines_of(args.folder / "old/guessed.txt")}
    guessed = guessed_words(new, pairs, silence)
    if guessed:
        say(
            f"WARNING: {len(guessed)} new words have two phones in a row that the old graph does not have; their pdfs are those of the most "
            f"similar phones ({', '.join(guessed[:SHOWN])}{' …' if len(guessed) > SHOWN else ''})"
        )
    entries = {}
    for source in (old, new):
        for word in source.keys() & wanted:
            for probability, phones in source[word]:
                entries[word, phones] = max(probability, entries.get((word, phones), 0.0))
    with open(args.folder / "lexicon.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{word} {p:#.7g} {' '.join(phones)}\n" for (word, phones), p in sorted(entries.items()))
    for kind, sentences in texts.items():
        (args.folder / f"{kind}.txt").write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    (args.folder / "vocabulary").write_text("".join(f"{word}\n" for word in sorted(vocabulary)), encoding="utf-8")
    unheard = len(new.keys() - old.keys())
    say(f"{len({word for word, _ in entries})} words, of which {unheard} are new; {len(entries)} pronunciations")


if __name__ == "__main__":
    try:
        main()
    except NotText as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
