#!/usr/bin/env python3
"""What a decoding graph is made of: symbol tables, the lexicon as a transducer, a language model, phones' topology, a tree.

Any number of digits in any order are equally likely, with optional silence between them. Each phone has three states that
share the phone's output of the network, so it lasts at least three frames. Writes to one folder: phones.txt, words.txt,
phones/disambig.int, lexicon.txt (the transducer, for fstcompile), lm.arpa, topo, tree.
"""

import argparse
from math import log, log10
from pathlib import Path

import lang

STATES = 3
SILENCE_COST = -log(0.5)
START, LOOP, SILENCE, AFTER_SILENCE = range(4)


def disambiguated(entries):
    """The pronunciations as tuples of phone ids, those that another one begins with followed by a "#1"."""
    all_phones = [phones for _, phones in entries]
    result = []
    for word, phones in entries:
        if all_phones.count(phones) > 1:
            raise ValueError(f"two entries of the lexicon are pronounced as {word} is")
        is_prefix = any(other[: len(phones)] == phones for other in all_phones if other != phones)
        result.append((word, phones, is_prefix))
    return result


def lexicon_transducer(phones, words, first_disambig):
    """The lines of the transducer: from phones (numbered from 1) to words."""
    prefix, after_silence, backoff = first_disambig + 1, first_disambig + 2, first_disambig
    lines = []

    def arc(source, to, phone, word, cost=0.0):
        lines.append(f"{source} {to} {phone} {word} {cost:.6g}")

    silence = phones.silence + 1
    arc(START, LOOP, 0, 0, SILENCE_COST)
    arc(START, SILENCE, 0, 0, SILENCE_COST)
    arc(SILENCE, AFTER_SILENCE, silence, 0)
    arc(AFTER_SILENCE, LOOP, after_silence, 0)
    state = AFTER_SILENCE + 1
    for word, pronunciation, is_prefix in disambiguated(lang.lexicon(phones)):
        inputs = [phone + 1 for phone in pronunciation] + [prefix] * is_prefix
        source, output = LOOP, words[word]
        for phone in inputs[:-1]:
            arc(source, state, phone, output)
            source, output, state = state, 0, state + 1
        arc(source, LOOP, inputs[-1], output, SILENCE_COST)
        arc(source, SILENCE, inputs[-1], output, SILENCE_COST)
    arc(LOOP, LOOP, backoff, words["#0"])
    lines.append(f"{LOOP} 0")
    return lines


def arpa(digits):
    """A unigram model: each digit and the end are equally likely."""
    share = f"{-log10(len(digits) + 1):.6f}"
    entries = ["-99\t<s>", f"{share}\t</s>"] + [f"{share}\t{digit}" for digit in digits]
    return ["\\data\\", f"ngram 1={len(entries)}", "", "\\1-grams:", *entries, "", "\\end\\"]


def topology(num_phones):
    ids = " ".join(str(phone + 1) for phone in range(num_phones))
    lines = ["<Topology>", "<TopologyEntry>", "<ForPhones>", ids, "</ForPhones>"]
    for state in range(STATES):
        transitions = f"<Transition> {state} 0.5 <Transition> {state + 1} 0.5"
        lines.append(f"<State> {state} <PdfClass> {state} {transitions} </State>")
    return lines + [f"<State> {STATES} </State>", "</TopologyEntry>", "</Topology>"]


def tree(num_phones):
    """Phones without context; whichever state, the pdf is the phone's output of the network."""
    leaves = " ".join(f"CE {phone}" for phone in range(num_phones))
    return [f"ContextDependency 1 0 ToPdf TE 0 {num_phones + 1} ( NULL {leaves} )", "EndContextDependency"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir", type=Path, help="folder to write to")
    folder = parser.parse_args().dir

    phones = lang.Phones()
    first_disambig = len(phones) + 1
    digits = list(dict.fromkeys(word for word, _ in lang.lexicon(phones)))
    words = {word: number for number, word in enumerate(["<eps>", *digits, "#0", "<s>", "</s>"])}
    phone_symbols = ["<eps>", *phones.names, "#0", "#1", "#2"]

    def write(name, lines):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))

    (folder / "phones").mkdir(parents=True, exist_ok=True)
    write("phones.txt", (f"{name} {number}" for number, name in enumerate(phone_symbols)))
    write("words.txt", (f"{word} {number}" for word, number in words.items()))
    write("phones/disambig.int", range(first_disambig, first_disambig + 3))
    write("lexicon.txt", lexicon_transducer(phones, words, first_disambig))
    write("lm.arpa", arpa(digits))
    write("topo", topology(len(phones)))
    write("tree", tree(len(phones)))


if __name__ == "__main__":
    main()
