#!/usr/bin/env python3
"""From a lexicon to what training and graphs need of a language: the files of Kaldi's lang folders.

The lexicon has lines `word phone phone …`, several for words with several pronunciations; if the second field of every line is a number,
it is the pronunciation's probability. Writes phones.txt, words.txt, L.fst.txt and L_disambig.fst.txt (for fstcompile), topo
(one state a phone, as chain models have it), oov.txt and oov.int (the word that Kaldi's scripts take for others) and the lists in phones/.

With --phones, phones have the names and numbers of a model that is there already, and the lexicon has these names, with places in words.
Only phones.txt, words.txt, L_disambig.fst.txt, phones/disambig.int and phones/optional_silence.int are written then.
"""

import argparse
import re
import sys
from math import log
from pathlib import Path

from plain_text import NotText, fields, lines_of, other_blanks

RESERVED_WORDS = ("<eps>", "#0", "<s>", "</s>")
POSITIONS = {"_B": "begin", "_E": "end", "_I": "internal", "_S": "singleton"}
START, LOOP, SILENCE, AFTER_SILENCE = range(4)


def fail(sentence):
    sys.exit(f"recognizer.sh: {sentence}")


def warn(sentence):
    print(f"recognizer.sh: WARNING: {sentence}", file=sys.stderr)


# A number that nobody calls a phone: with a point or a comma. Whole numbers may be phones.
DECIMAL = re.compile(r"[-+]?(\d+[.,]\d*|[.,]\d+)([eE][-+]?\d+)?")
NUMBER = re.compile(r"[-+]?\d+|" + DECIMAL.pattern)


def has_probabilities(lines, path):
    """True if each line has a probability behind its word. An error if only some have, or one is none."""
    decimals = [line for line in lines if len(line[1]) > 1 and DECIMAL.fullmatch(line[1][1])]
    numbers = [line for line in lines if len(line[1]) > 2 and NUMBER.fullmatch(line[1][1])]
    if not decimals:
        # Whole numbers are probabilities only if no phone is called so: a 1 behind every word, or a 0 or 1 behind some.
        if not numbers or any(NUMBER.fullmatch(phone) for _, columns in lines for phone in columns[2:]):
            return False
        if len(numbers) < len(lines) and not any(float(columns[1]) in (0, 1) for _, columns in numbers):
            return False
    first, columns = (decimals or numbers)[0]
    for number, line in lines:
        place, word = f"{path}, line {number}", line[0]
        if len(line) < 2 or not NUMBER.fullmatch(line[1]):
            fail(f"{place}: the word '{word}' has no probability, but line {first} has one ('{columns[0]} {columns[1]} …'); give all or none")
        if "," in line[1] or not 0 < float(line[1]) <= 1:
            fail(f"{place}: expected a probability above 0 and at most 1 behind '{word}', found '{line[1]}'")
    return True


def read_lexicon(path):
    """[(word, probability, phones)], each once, in the order of the words."""
    try:
        lines = [(number, fields(line)) for number, line in lines_of(path)]
    except NotText as error:
        fail(error)
    weighted = has_probabilities(lines, path)
    entries = {}
    for number, columns in lines:
        place = f"{path}, line {number}"
        word, phones = columns[0], tuple(columns[2:] if weighted else columns[1:])
        if word in RESERVED_WORDS:
            fail(f"{place}: '{word}' has a meaning of its own in graphs, and cannot be a word")
        if not phones:
            fail(f"{place}: the word '{word}' has no pronunciation")
        for phone in phones:
            if phone == "<eps>" or re.fullmatch(r"#\d+", phone):
                fail(f"{place}: '{phone}' cannot be the name of a phone")
            if DECIMAL.fullmatch(phone):
                fail(f"{place}: '{phone}' is a number, not a phone; a line has at most one probability, behind the word")
        for name in (word, *phones):
            if other_blanks(name):
                warn(f"{place}: '{name}' has {other_blanks(name)} inside; only ASCII blanks separate words")
        probability = float(columns[1]) if weighted else 1.0
        entries[word, phones] = max(probability, entries.get((word, phones), 0.0))
    return [(word, p, phones) for (word, phones), p in sorted(entries.items(), key=lambda entry: entry[0][0].encode())]


def with_positions(phones):
    """The phones of a word, each marked by where in the word it is."""
    if len(phones) == 1:
        return (phones[0] + "_S",)
    return (phones[0] + "_B", *(phone + "_I" for phone in phones[1:-1]), phones[-1] + "_E")


def disambiguated(entries):
    """[(word, probability, phones, number of the symbol that ends it or 0)], as Kaldi's add_lex_disambig.pl numbers them."""
    pronunciations = [phones for _, _, phones in entries]
    counts, prefixes, used = {}, set(), {}
    for phones in pronunciations:
        counts[phones] = counts.get(phones, 0) + 1
        prefixes.update(phones[:length] for length in range(1, len(phones)))
    result = []
    for word, probability, phones in entries:
        number = 0
        if counts[phones] > 1 or phones in prefixes:
            number = used[phones] = used.get(phones, 0) + 1
        result.append((word, probability, phones, number))
    return result


def lexicon_lines(entries, phones, words, silence, silence_probability, disambig):
    """The transducer from phones to words. `disambig`: symbols #0 …, silence's own the last; None for training graphs."""
    lines = []

    def arc(source, to, phone, word, cost=0.0):
        lines.append(f"{source} {to} {phone} {word} {cost:.7g}")

    without, with_silence = -log(1 - silence_probability), -log(silence_probability)
    arc(START, LOOP, 0, 0, without)
    arc(START, SILENCE, 0, 0, with_silence)
    if disambig:
        arc(SILENCE, AFTER_SILENCE, phones[silence], 0)
        arc(AFTER_SILENCE, LOOP, disambig[-1], 0)
    else:
        arc(SILENCE, LOOP, phones[silence], 0)
    state = AFTER_SILENCE + 1
    for word, probability, pronunciation, number in entries:
        inputs = [phones[phone] for phone in pronunciation]
        if disambig and number:
            inputs.append(disambig[number])
        source, output, cost = LOOP, words[word], -log(probability)
        for phone in inputs[:-1]:
            arc(source, state, phone, output, cost)
            source, output, cost, state = state, 0, 0.0, state + 1
        arc(source, LOOP, inputs[-1], output, cost + without)
        arc(source, SILENCE, inputs[-1], output, cost + with_silence)
    if disambig:  # G's way to shorter histories, wherever a word may begin
        arc(LOOP, LOOP, disambig[0], words["#0"])
    lines.append(f"{LOOP} 0")
    return lines


def topology(ids):
    return [
        "<Topology>",
        "<TopologyEntry>",
        f"<ForPhones> {' '.join(map(str, ids))} </ForPhones>",
        "<State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>",
        "<State> 1 </State>",
        "</TopologyEntry>",
        "</Topology>",
    ]


def numbered(names):
    """{word: number} with the words that graphs need."""
    return {word: number for number, word in enumerate(["<eps>", *dict.fromkeys(names), "#0", "<s>", "</s>"])}


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_for_model(entries, args):
    """The files for a new graph of a model: its phones stay as they are."""
    phones = {}
    for number, line in lines_of(args.phones):
        columns = fields(line)
        if len(columns) != 2 or not columns[1].isdecimal():
            fail(f"{args.phones}, line {number}: expected a phone and its number, found '{line}'")
        if not re.fullmatch(r"#\d+", columns[0]):
            phones[columns[0]] = int(columns[1])
    for word, _, pronunciation in entries:
        for phone in pronunciation:
            if phone not in phones:
                fail(f"{args.lexicon}: the word '{word}' has the phone '{phone}', which {args.phones} does not have")
    silence = args.silence_phones.split(",")[0]
    if silence not in phones:
        fail(f"--silence-phones: {args.phones} has no phone '{silence}'")
    marked = disambiguated(entries)
    first = max(phones.values()) + 1
    disambig = list(range(first, first + max(number for *_, number in marked) + 2))  # #0, #1 …, silence's own
    words = numbered(word for word, _, _ in entries)
    (args.out / "phones").mkdir(parents=True)
    symbols = phones | {f"#{i}": number for i, number in enumerate(disambig)}
    write_lines(args.out / "phones.txt", (f"{name} {number}" for name, number in symbols.items()))
    write_lines(args.out / "words.txt", (f"{word} {number}" for word, number in words.items()))
    write_lines(args.out / "L_disambig.fst.txt", lexicon_lines(marked, phones, words, silence, args.silence_probability, disambig))
    write_lines(args.out / "phones/disambig.int", disambig)
    write_lines(args.out / "phones/optional_silence.int", [phones[silence]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--silence-phones", default="SIL", help="the first may be between words, others are noises")
    parser.add_argument("--silence-probability", type=float, default=0.5)
    parser.add_argument("--word-positions", choices=("true", "false"), default="true")
    parser.add_argument("--oov-word", default="", help="the word that stands for others")
    parser.add_argument("--phones", default="", help="phones of a model: names and numbers")
    parser.add_argument("lexicon")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()

    entries = read_lexicon(args.lexicon)
    if args.phones:
        try:
            write_for_model(entries, args)
        except NotText as error:
            fail(error)
        return
    silences = args.silence_phones.split(",")
    base = sorted({phone for _, _, phones in entries for phone in phones} - set(silences))
    if not base:
        fail(f"{args.lexicon}: there are no phones but silence")
    in_words = [phone for phone in silences if any(phone in phones for _, _, phones in entries)]
    positions = args.word_positions == "true"
    variants = lambda phone: [phone + suffix for suffix in POSITIONS] if positions else [phone]
    sets = [[phone] + (variants(phone) if positions and phone in in_words else []) for phone in silences]
    sets += [variants(phone) for phone in base]
    names = [phone for members in sets for phone in members]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        fail(f"{args.lexicon}: the phone '{twice}' has the name of another one at some place in words; rename it, or --word-positions=false")
    if positions:
        entries = [(word, p, with_positions(phones)) for word, p, phones in entries]
    marked = disambiguated(entries)
    num_disambig = max(number for *_, number in marked) + 2  # #0, #1 …, silence's own
    symbols = ["<eps>", *names, *(f"#{i}" for i in range(num_disambig))]
    phones = {name: number for number, name in enumerate(symbols)}
    disambig = [phones[f"#{i}"] for i in range(num_disambig)]
    words = numbered(word for word, _, _ in entries)
    silence_names = [name for members in sets[: len(silences)] for name in members]
    silence_ids = [phones[name] for name in silence_names]

    (args.out / "phones").mkdir(parents=True)

    def write(name, lines):
        write_lines(args.out / name, lines)

    write("phones.txt", (f"{name} {number}" for name, number in phones.items()))
    write("words.txt", (f"{word} {number}" for word, number in words.items()))
    # Without a word for others, it is one that has no pronunciation, so that no graph has it.
    oov = next((word for word in (args.oov_word, "<unk>", "<UNK>", "<s>") if word in words))
    write("oov.txt", [oov])
    write("oov.int", [words[oov]])
    for name, ends in (("L", None), ("L_disambig", disambig)):
        write(f"{name}.fst.txt", lexicon_lines(marked, phones, words, silences[0], args.silence_probability, ends))
    write("topo", topology([phones[name] for name in names]))
    write("phones/disambig.int", disambig)
    ids = [[phones[name] for name in members] for members in sets]
    write("phones/sets.int", (" ".join(map(str, members)) for members in ids))
    write("phones/roots.int", (f"shared split {' '.join(map(str, members))}" for members in ids))
    write("phones/silence.csl", [":".join(map(str, silence_ids))])
    write("phones/optional_silence.txt", [silences[0]])
    write("phones/optional_silence.int", [phones[silences[0]]])
    write("phones/align_lexicon.txt", (f"{word} {probability:.7g} {' '.join(pron)}" for word, probability, pron in entries))
    questions = [silence_ids]
    if positions:
        spoken = [name for name in names if name not in silence_names]
        questions += [[phones[name] for name in spoken if name.endswith(suffix)] for suffix in POSITIONS]
        kind = lambda name: "nonword" if name in silences else POSITIONS[name[-2:]]
        write("phones/word_boundary.int", (f"{phones[name]} {kind(name)}" for name in names))
    write("phones/extra_questions.int", (" ".join(map(str, question)) for question in questions))


if __name__ == "__main__":
    main()
