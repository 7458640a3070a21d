#!/usr/bin/env python3
"""Chooses chunks of utterances as examples of an x-vector network, as nnet3-xvector-get-egs reads them.

Writes ranges.N for archive N, and ranges.valid, ranges.subset and ranges.combine. All chunks of an archive have the same length. The last utterance of each
speaker is for validation. Labels are the numbers of speakers in the order of their names, which go to `speakers`.
"""

import argparse
import random
from pathlib import Path

LENGTHS = (120, 240)  # frames


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--num-archives", type=int, default=4)
    parser.add_argument("--passes", type=int, default=4, help="how often all archives together draw as many frames as there are")
    parser.add_argument("--srand", type=int, default=0)
    parser.add_argument("utt2spk", type=Path)
    parser.add_argument("utt2num_frames", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    speaker_of = dict(line.split() for line in args.utt2spk.read_text().splitlines())
    frames = {key: int(count) for key, count in (line.split() for line in args.utt2num_frames.read_text().splitlines())}
    of = {}
    for key in sorted(frames):
        if frames[key] >= LENGTHS[0]:
            of.setdefault(speaker_of[key], []).append(key)
    speakers = sorted(speaker for speaker, keys in of.items() if len(keys) > 1)
    (args.out / "speakers").write_text("".join(f"{speaker} {label}\n" for label, speaker in enumerate(speakers)))
    draw = random.Random(args.srand)

    def chunks(keys_of, length, count):
        """`count` chunks, in turn of all speakers."""
        rows = []
        for i in range(count):
            label = i % len(speakers)
            keys = [key for key in keys_of(speakers[label]) if frames[key] >= length]
            if keys:
                key = draw.choice(keys)
                rows.append((key, draw.randint(0, frames[key] - length), length, label))
        return sorted(rows)

    def write(name, rows):
        text = (f"{key} 0 1 {first} {length} {label}\n" for key, first, length, label in rows)
        (args.out / f"ranges.{name}").write_text("".join(text))

    train, valid = (lambda speaker: of[speaker][:-1]), (lambda speaker: of[speaker][-1:])
    total = sum(frames[key] for speaker in speakers for key in train(speaker))
    for n in range(args.num_archives):
        length = LENGTHS[0] + (LENGTHS[1] - LENGTHS[0]) * n // max(1, args.num_archives - 1)
        write(n + 1, chunks(train, length, args.passes * total // args.num_archives // length))
    write("valid", chunks(valid, LENGTHS[0], 2 * len(speakers)))
    write("subset", chunks(train, LENGTHS[0], 2 * len(speakers)))
    write("combine", chunks(train, LENGTHS[0], 10 * len(speakers)))


if __name__ == "__main__":
    main()
