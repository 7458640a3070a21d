#!/usr/bin/env python3
"""Speaks recordings for telling speakers apart, as Kaldi data folders, with what Kaldi's scripts add to them.

OUT/train and OUT/test have recordings of several sentences by different readers; OUT/test/trials pairs test recordings with and without the
same reader. OUT/musan has noises, chords and babble in the layout of the corpus MUSAN; OUT/RIRS_NOISES has room responses in the layout of
the corpus RIRS_NOISES. OUT/mixed1 and OUT/mixed2 have recordings of two to four readers of the test set in turn, and who spoke when
(`ref.rttm`, `reco2num_spk`). All that is drawn at random depends on the seed and the recording's number only.
"""

import argparse
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import readers
import sentences

sys.path.append(str(Path(__file__).resolve().parents[2] / "digits/local"))

import espeak
import sound

CHUNK = 25  # recordings that one process makes: espeak-ng carries state over, so a chunk starts with a fresh library
BABBLE, NOISES, CHORDS, ROOMS = 40, 30, 30, 20
MIXED_FIRST = 100_000  # number of the first recording with several readers
TRIALS = 20  # pairs of the same reader for each test reader, and as many of different ones


def save(path, samples):
    """Writes a wave, whole or not at all."""
    part = path.with_suffix(".part")
    sound.write_wav(part, samples)
    part.rename(path)


def speech(synthesiser, reader, texts, number, seed, seconds):
    """Sentences of a reader, in turn from `number` on, until they take `seconds`."""
    rng = np.random.default_rng([seed, number])
    parts, at = [], number * 7
    while sum(len(part) for part in parts) < seconds * sound.SAMPLE_RATE:
        parts.append(reader.read(synthesiser, " ".join(texts[at % len(texts)]), rng))
        at += 1
    return np.concatenate(parts)


def make(job):
    """Makes a chunk: [(number, [reader, …], seconds, wave)], with an RTTM file beside a wave of several readers."""
    chunk, texts, seed = job
    synthesiser = espeak.Espeak()
    for number, people, seconds, path in chunk:
        if path.exists():
            continue
        if len(people) == 1:
            save(path, speech(synthesiser, people[0], texts, number, seed, seconds))
            continue
        rng, parts, turns, time = np.random.default_rng([seed, number]), [], [], 0.0
        last = -1
        while time < seconds:
            who = int(rng.choice([k for k in range(len(people)) if k != last]))
            spoken = speech(synthesiser, people[who], texts, number + len(turns), seed, rng.uniform(2, 7))
            length = len(spoken) / sound.SAMPLE_RATE
            turns.append(f"SPEAKER {path.stem} 0 {time:.3f} {length:.3f} <NA> <NA> {people[who].number} <NA> <NA>\n")
            parts.append(spoken)
            time, last = time + length, who
        path.with_suffix(".rttm").write_text("".join(turns))
        save(path, np.concatenate(parts))


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def data_folder(folder, wanted):
    """`wav.scp` and `utt2spk` of recordings by one reader each."""
    write_lines(folder / "wav.scp", (f"{path.stem} {path.resolve()}" for _, _, _, path in wanted))
    write_lines(folder / "utt2spk", (f"{path.stem} {path.stem.rpartition('-')[0]}" for _, _, _, path in wanted))
    by_reader = {}
    for _, _, _, path in wanted:
        by_reader.setdefault(path.stem.rpartition("-")[0], []).append(path.stem)
    write_lines(folder / "spk2utt", (f"{reader} {' '.join(names)}" for reader, names in by_reader.items()))
    return by_reader


def trials(by_reader, seed):
    """Pairs of recordings, as many with the same reader as with two."""
    rng, everyone = np.random.default_rng(seed), list(by_reader)
    for reader, names in by_reader.items():
        for _ in range(TRIALS):
            first, second = rng.choice(len(names), 2, replace=False)
            yield f"{names[first]} {names[second]} target"
            other = by_reader[rng.choice([one for one in everyone if one != reader])]
            yield f"{names[first]} {other[rng.integers(len(other))]} nontarget"


def write_rooms(root, seed):
    """Room responses with echoes that fade by 60 dB in 0.2 to 0.8 seconds, and their lists."""
    for kind, (low, high) in (("smallroom", (0.2, 0.4)), ("mediumroom", (0.4, 0.8))):
        folder = root / "RIRS_NOISES/simulated_rirs" / kind
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for number in range(ROOMS):
            rng = np.random.default_rng([seed, len(kind), number])
            fading = rng.uniform(low, high)
            times = np.arange(int(fading * sound.SAMPLE_RATE)) / sound.SAMPLE_RATE
            response = rng.standard_normal(len(times)) * 10 ** (-3 * times / fading) * 0.1
            response[0] = 1.0
            save(folder / f"rir-{number}.wav", response * 20000)
            path = f"RIRS_NOISES/simulated_rirs/{kind}/rir-{number}.wav"
            lines.append(f"--rir-id {kind}-{number} --room-id {kind}-{number} {path}")
        write_lines(folder / "rir_list", lines)


def write_musan(root, people, texts, seed):
    """Noises, chords and speech by readers of the training set."""
    for kind in ("noise", "music", "speech"):
        (root / "musan" / kind / "made").mkdir(parents=True, exist_ok=True)
    length = 10 * sound.SAMPLE_RATE
    times = np.arange(length) / sound.SAMPLE_RATE
    for number in range(NOISES):
        rng = np.random.default_rng([seed, 1, number])
        save(root / f"musan/noise/made/noise-{number}.wav", 2000 * sound.coloured_noise(rng, length, tilt=rng.uniform(0, 2)))
    for number in range(CHORDS):
        rng = np.random.default_rng([seed, 2, number])
        chord = np.zeros(length)
        for start in range(0, length, sound.SAMPLE_RATE // 2):
            for tone in rng.choice(24, 3, replace=False):
                part = times[: min(sound.SAMPLE_RATE, length - start)]
                chord[start : start + len(part)] += np.sin(2 * np.pi * 110 * 2 ** (tone / 12) * part) * np.exp(-3 * part)
        save(root / f"musan/music/made/music-{number}.wav", 3000 * chord)
    write_lines(root / "musan/music/made/ANNOTATIONS", (f"music-{number} chords N nobody" for number in range(CHORDS)))
    folder = root / "musan/speech/made"
    return [(50_000 + k, [people[k % len(people)]], 10.0, folder / f"speech-{k}.wav") for k in range(BABBLE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=Path, help="a plain text in English")
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--train-readers", type=int, default=120, help="readers of the training set (120)")
    parser.add_argument("--test-readers", type=int, default=40, help="readers of the test set (40)")
    parser.add_argument("--train-recordings", type=int, default=12, help="recordings of each training reader (12)")
    parser.add_argument("--test-recordings", type=int, default=6, help="recordings of each test reader (6)")
    parser.add_argument("--mixed", type=int, default=10, help="recordings of several readers in each of two sets (10)")
    parser.add_argument("--seconds", type=float, default=8, help="length of a recording; those of several readers are eight times as long (8)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other data (1)")
    parser.add_argument("--nj", type=int, default=2, help="parallel processes (2)")
    args = parser.parse_args()

    texts = sentences.sentences(args.text)
    people = readers.readers(args.train_readers + args.test_readers, args.seed)
    sets = {"train": people[: args.train_readers], "test": people[args.train_readers :]}
    counts = {"train": args.train_recordings, "test": args.test_recordings}
    jobs, number = [], 0
    for name, members in sets.items():
        folder = args.out / name
        (folder / "wav").mkdir(parents=True, exist_ok=True)
        wanted = []
        for reader in members:
            for k in range(counts[name]):
                wanted.append((number, [reader], args.seconds, folder / f"wav/r{reader.number:03d}-{k:02d}.wav"))
                number += 1
        by_reader = data_folder(folder, wanted)
        if name == "test":
            write_lines(folder / "trials", trials(by_reader, args.seed))
        jobs += wanted
    mixed = {}
    for part in (1, 2):
        folder = args.out / f"mixed{part}"
        (folder / "wav").mkdir(parents=True, exist_ok=True)
        mixed[folder] = []
        for k in range(args.mixed):
            rng = np.random.default_rng([args.seed, 3, part, k])
            who = rng.choice(len(sets["test"]), int(rng.integers(2, 5)), replace=False)
            at = MIXED_FIRST + 1000 * (part * args.mixed + k)
            mixed[folder].append((at, [sets["test"][i] for i in who], 8 * args.seconds, folder / f"wav/mixed{part}-{k:02d}.wav"))
        jobs += mixed[folder]
    write_rooms(args.out, args.seed)
    jobs += write_musan(args.out, sets["train"], texts, args.seed)
    chunks = [(jobs[first : first + CHUNK], texts, args.seed) for first in range(0, len(jobs), CHUNK)]
    # `spawn`: the children start without this process's copy of espeak-ng.
    with multiprocessing.get_context("spawn").Pool(args.nj, maxtasksperchild=1) as pool:
        for _ in pool.imap(make, chunks):
            pass
    for folder, wanted in mixed.items():
        names = [path.stem for _, _, _, path in wanted]
        write_lines(folder / "wav.scp", (f"{path.stem} {path.resolve()}" for _, _, _, path in wanted))
        for table in ("utt2spk", "spk2utt"):
            write_lines(folder / table, (f"{name} {name}" for name in names))
        turns = {path.stem: path.with_suffix(".rttm").read_text() for _, _, _, path in wanted}
        (folder / "ref.rttm").write_text("".join(turns[name] for name in names))
        write_lines(folder / "reco2num_spk", (f"{name} {len({line.split()[7] for line in turns[name].splitlines()})}" for name in names))
    print(f"{number} recordings of {len(people)} readers, and {sum(map(len, mixed.values()))} of several readers")


if __name__ == "__main__":
    main()
