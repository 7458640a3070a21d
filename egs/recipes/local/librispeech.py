#!/usr/bin/env python3
"""Speaks a corpus in LibriSpeech's layout, with its lexicon and three language models.

OUT/LibriSpeech has FLAC files, transcripts and SPEAKERS.TXT of `train-clean-5` and `dev-clean-2`, whose readers differ; OUT/lm has the vocabulary,
the lexicon and language models of two, three and four words, estimated on all sentences but those of `dev-clean-2`. Needs the program flac. All
that is drawn at random depends on the seed and the sentence's number only, however many processes speak.
"""

import argparse
import gzip
import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import readers
import sentences

sys.path.append(str(Path(__file__).resolve().parents[2] / "digits/local"))

import espeak
import sound

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
CHUNK = 50  # sentences that one process speaks: espeak-ng carries state over, so a chunk starts with a fresh library
FIRST_READER = 100
NAMED = {"group", "one", "two", "assist"}  # words of Kaldi's local/grammar/*.sh


def write_flac(path, samples):
    """Writes 16 kHz samples as a FLAC file, whole or not at all."""
    data = np.clip(np.round(samples), -32768, 32767).astype("<i2").tobytes()
    part = path.with_suffix(".part")
    options = ["--endian=little", "--sign=signed", "--channels=1", "--bps=16", f"--sample-rate={sound.SAMPLE_RATE}"]
    subprocess.run(["flac", "-s", "-f", *options, "-o", part, "-"], input=data, check=True)
    part.rename(path)


def speak(job):
    """Speaks a chunk: [(sentence's number, reader, words, file)]. Files that are there already are kept."""
    chunk, seed = job
    synthesiser = espeak.Espeak()
    for number, reader, words, path in chunk:
        if not path.exists():
            write_flac(path, reader.read(synthesiser, " ".join(words), np.random.default_rng([seed, number])))


def set_of(root, name, texts, readers_of_set, first):
    """Folders and transcripts of a set; returns what is to be spoken, [(number, reader, words, file)]."""
    wanted = []
    for at, reader in enumerate(readers_of_set):
        own = texts[at :: len(readers_of_set)]
        speaker, chapter = FIRST_READER + reader.number, (FIRST_READER + reader.number) * 10
        folder = root / name / str(speaker) / str(chapter)
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for k, words in enumerate(own):
            key = f"{speaker}-{chapter}-{k:04d}"
            lines.append(f"{key} {' '.join(words).upper()}\n")
            wanted.append((first + at + k * len(readers_of_set), reader, words, folder / f"{key}.flac"))
        (folder / f"{speaker}-{chapter}.trans.txt").write_text("".join(lines))
    return wanted


def write_language(folder, texts):
    """Vocabulary, lexicon and language models of `texts`, by the names that the recipe expects."""
    folder.mkdir(parents=True, exist_ok=True)
    words = sorted({word for text in texts for word in text} | NAMED)
    upper = [word.upper() for word in words]
    (folder / "librispeech-vocab.txt").write_text("".join(f"{word}\n" for word in upper))
    lexicon = (f"{word.upper()}\t{' '.join(phones)}\n" for word, phones in sentences.pronunciations(words))
    (folder / "librispeech-lexicon.txt").write_text("".join(lexicon))
    symbols = ["<eps>", *upper, "<UNK>", "<s>", "</s>", "#0"]
    (folder / "words.txt").write_text("".join(f"{word} {number}\n" for number, word in enumerate(symbols)))
    return folder / "words.txt"


def write_models(folder, symbols, texts):
    """Language models of two, three and four words."""
    (folder / "text").write_text("".join(f"{' '.join(text).upper()}\n" for text in texts))
    for name, order in (("tgsmall", 2), ("tgmed", 3), ("tglarge", 4)):
        command = ["make-arpa", "--print-args=false", "--keys=false", f"--order={order}", f"--vocabulary={symbols}"]
        arpa = subprocess.run([*command, folder / "text", "-"], check=True, stdout=subprocess.PIPE).stdout
        (folder / f"lm_{name}.arpa.gz").write_bytes(gzip.compress(arpa, mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=Path, help="a plain text in English")
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--num-train", type=int, default=2000, help="sentences of the training set (2000: 1.5 hours)")
    parser.add_argument("--num-test", type=int, default=200, help="sentences of the test set (200)")
    parser.add_argument("--train-readers", type=int, default=30, help="readers of the training set (30)")
    parser.add_argument("--test-readers", type=int, default=20, help="readers of the test set (20)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other data (1)")
    parser.add_argument("--nj", type=int, default=2, help="parallel processes (2)")
    args = parser.parse_args()

    texts = sentences.sentences(args.text)
    wanted = args.num_train + args.num_test
    if len(texts) < wanted:
        sys.exit(f"librispeech.py: {wanted} sentences are wanted, and {args.text} has {len(texts)}")
    order = np.random.default_rng(args.seed).permutation(len(texts))
    texts = [texts[int(i)] for i in order]
    test, train, rest = texts[: args.num_test], texts[args.num_test : wanted], texts[args.num_test :]
    people = readers.readers(args.train_readers + args.test_readers, args.seed)

    root = args.out / "LibriSpeech"
    root.mkdir(parents=True, exist_ok=True)
    lines = (f"{FIRST_READER + reader.number:<5}| {reader.gender} | x | 5 | {reader.file}\n" for reader in people)
    (root / "SPEAKERS.TXT").write_text("".join(lines))
    jobs = set_of(root, "train-clean-5", train, people[: args.train_readers], 0)
    jobs += set_of(root, "dev-clean-2", test, people[args.train_readers :], len(train))
    chunks = [(jobs[first : first + CHUNK], args.seed) for first in range(0, len(jobs), CHUNK)]
    # `spawn`: the children start without this process's copy of espeak-ng.
    with multiprocessing.get_context("spawn").Pool(args.nj, maxtasksperchild=1) as pool:
        for _ in pool.imap(speak, chunks):
            pass
    symbols = write_language(args.out / "lm", texts)
    write_models(args.out / "lm", symbols, rest)
    print(f"{len(train)} and {len(test)} sentences of {len(people)} readers; language models of {len(rest)} sentences")


if __name__ == "__main__":
    main()
