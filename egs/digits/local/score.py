#!/usr/bin/env python3
"""Frame accuracy and word error rate on seen and unseen voices.

Reads `<dir>/output.<set>.ark` (log-posteriors from nnet3-compute) and `<dir>/scoring/<set>.txt` (recognised words) for
test_seen and test_unseen, counts errors with compute-wer, prints a table, and writes it to `<dir>/scoring/results.txt`.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import archives
import lang

COUNTS = re.compile(r"%WER \S+ \[ (\d+) / (\d+), (\d+) ins, (\d+) del, (\d+) sub \]")


@dataclass
class Row:
    """`label` begins with a blank if it is a part of the row above."""

    label: str
    frames: int
    correct: int
    words: int
    substitutions: int
    deletions: int
    insertions: int

    def __str__(self):
        errors = self.substitutions + self.deletions + self.insertions
        accuracy, rate = 100 * self.correct / self.frames, 100 * errors / self.words
        return (
            f"{self.label:<18} {self.frames:>8} {accuracy:>13.2f} {self.words:>8} {rate:>7.2f}"
            f" {self.substitutions:>5} {self.deletions:>4} {self.insertions:>4}"
        )


HEADER = f"{'voices':<18} {'frames':>8} {'frame acc. %':>13} {'words':>8} {'WER %':>7} {'S':>5} {'D':>4} {'I':>4}"


class ScoringSet:
    """One set's references, network outputs and recognised words, checked to belong together."""

    def __init__(self, name, data, folder, num_phones):
        self.ali, self.text = archives.alignments(data / name), archives.table(data / name / "text")
        self.voice = {key: fields[0] for key, fields in archives.table(data / name / "utt2spk").items()}
        self.hypotheses, self.folder = folder / "scoring" / f"{name}.txt", folder / "scoring"
        file = folder / f"output.{name}.ark"
        self.output = archives.matrices(f"ark:{file}")
        for key, ali in self.ali.items():
            if key not in self.output:
                sys.exit(f"score.py: {file} has no utterance {key}; do the outputs belong to these data?")
            if self.output[key].shape != (len(ali), num_phones):
                expected = f"{len(ali)} x {num_phones}"
                sys.exit(f"score.py: {file}: utterance {key} is {self.output[key].shape}, expected {expected}")

    def row(self, label, keys):
        references = self.folder / "references.txt"
        references.write_text("".join(" ".join([key, *self.text[key]]) + "\n" for key in keys))
        command = ["compute-wer", "--text", "--mode=all", f"ark:{references}", f"ark:{self.hypotheses}"]
        counted = subprocess.run(command, capture_output=True, text=True)
        found = COUNTS.search(counted.stdout)
        if counted.returncode or not found:
            sys.exit(f"score.py: compute-wer failed:\n{counted.stderr}")
        references.unlink()
        _, words, insertions, deletions, substitutions = map(int, found.groups())
        frames = sum(len(self.ali[key]) for key in keys)
        correct = sum(int((self.output[key].argmax(axis=1) == self.ali[key]).sum()) for key in keys)
        return Row(label, frames, correct, words, substitutions, deletions, insertions)

    def rows(self, label, by_voice):
        voices = dict.fromkeys(self.voice[key] for key in self.ali)
        rows = [self.row(f"{label} ({len(voices)})", list(self.ali))]
        if by_voice:
            rows += [self.row(f"  {voice}", [key for key in self.ali if self.voice[key] == voice]) for voice in voices]
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the sets (default: data)")
    parser.add_argument("dir", type=Path, help="experiment folder, with output.<set>.ark and scoring/<set>.txt")
    args = parser.parse_args()
    num_phones = len(lang.Phones())
    rows = ScoringSet("test_seen", args.data, args.dir, num_phones).rows("seen", by_voice=False)
    rows += ScoringSet("test_unseen", args.data, args.dir, num_phones).rows("unseen", by_voice=True)
    table = "\n".join([HEADER, "-" * len(HEADER), *map(str, rows)])
    (args.dir / "scoring" / "results.txt").write_text(table + "\n")
    print(table)
    print("S, D, I: words substituted, deleted, inserted")


if __name__ == "__main__":
    main()
