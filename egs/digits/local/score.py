#!/usr/bin/env python3
"""Frame accuracy and digit error rate of a network's outputs, on seen and unseen voices.

Reads `<dir>/output.<set>.ark` (log-posteriors from nnet3-compute) for dev, test_seen and test_unseen.  The digit
penalty is chosen on dev.  Prints a table, and writes the recognised digits to `<dir>/scoring/<set>.txt` and the table to
`<dir>/scoring/results.txt`.
"""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import archives
import decode
import lang

PRIOR_SCALE = 0.5  # posteriors are divided by their priors to this power
PENALTIES = [0.0, -2.0, -4.0, -8.0, -12.0, -16.0, -20.0, -25.0, -30.0]


class ScoringSet:
    """One set's references and network outputs, checked to belong together."""

    def __init__(self, data, output, num_phones):
        self.ali, self.text = archives.alignments(data), archives.table(data / "text")
        self.voice = {key: fields[0] for key, fields in archives.table(data / "utt2spk").items()}
        self.output = archives.matrices(f"ark:{output}")
        for key, ali in self.ali.items():
            if key not in self.output:
                sys.exit(f"score.py: {output} has no utterance {key}; do the outputs belong to these data?")
            if self.output[key].shape != (len(ali), num_phones):
                expected = f"{len(ali)} x {num_phones}"
                sys.exit(f"score.py: {output}: utterance {key} is {self.output[key].shape}, expected {expected}")
        self.keys = list(self.ali)

    def recognise(self, loop, log_priors, penalty):
        scores = [self.output[key] - PRIOR_SCALE * log_priors for key in self.keys]
        return dict(zip(self.keys, loop.decode(scores, penalty)))


@dataclass
class Counts:
    frames: int = 0
    correct: int = 0
    digits: int = 0
    edits: np.ndarray = field(default_factory=lambda: np.zeros(3, int))

    def add(self, ali, output, reference, hypothesis):
        self.frames += len(ali)
        self.correct += int((output.argmax(axis=1) == ali).sum())
        self.digits += len(reference)
        self.edits += decode.edit_counts(reference, hypothesis)

    @property
    def accuracy(self):
        return 100 * self.correct / self.frames

    @property
    def error_rate(self):
        return 100 * self.edits.sum() / self.digits


def log_priors(data, num_phones):
    counts = sum(np.bincount(ali, minlength=num_phones) for ali in archives.alignments(data).values())
    return np.log(np.maximum(counts, 1) / counts.sum())


def best_penalty(dev, loop, priors):
    """The penalty with the fewest digit errors on the development set (the middle one, of several)."""
    errors = []
    for penalty in PENALTIES:
        recognised = dev.recognise(loop, priors, penalty)
        errors.append(sum(sum(decode.edit_counts(dev.text[key], recognised[key])) for key in dev.keys))
    best = np.flatnonzero(np.array(errors) == min(errors))
    return PENALTIES[best[len(best) // 2]]


def result_table(rows):
    """`rows`: [(label, Counts)]; a label that starts with a blank is a part of the row above."""
    header = f"{'voices':<18} {'frames':>8} {'frame acc. %':>13} {'digits':>8} {'DER %':>7} {'S':>5} {'D':>4} {'I':>4}"
    lines = [header, "-" * len(header)]
    for label, counts in rows:
        substitutions, deletions, insertions = counts.edits
        lines.append(
            f"{label:<18} {counts.frames:>8} {counts.accuracy:>13.2f} {counts.digits:>8} {counts.error_rate:>7.2f}"
            f" {substitutions:>5} {deletions:>4} {insertions:>4}"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the sets (default: data)")
    parser.add_argument("dir", type=Path, help="experiment folder, with output.<set>.ark")
    args = parser.parse_args()

    phones = lang.Phones()
    loop = decode.DigitLoop(lang.lexicon(phones), phones.silence)
    priors = log_priors(args.data / "train", len(phones))
    sets = {
        name: ScoringSet(args.data / name, args.dir / f"output.{name}.ark", len(phones))
        for name in ("dev", "test_seen", "test_unseen")
    }
    penalty = best_penalty(sets["dev"], loop, priors)

    scoring = args.dir / "scoring"
    scoring.mkdir(exist_ok=True)
    rows = []
    for name, label in (("test_seen", "seen"), ("test_unseen", "unseen")):
        one = sets[name]
        recognised = one.recognise(loop, priors, penalty)
        with open(scoring / f"{name}.txt", "w") as file:
            for key in one.keys:
                print(key, *recognised[key], file=file)
        total, by_voice = Counts(), {}
        for key in one.keys:
            for counts in (total, by_voice.setdefault(one.voice[key], Counts())):
                counts.add(one.ali[key], one.output[key], one.text[key], recognised[key])
        rows.append((f"{label} ({len(by_voice)})", total))
        if label == "unseen":
            rows += [(f"  {voice}", counts) for voice, counts in by_voice.items()]
    table = result_table(rows)
    (scoring / "results.txt").write_text(table + "\n")
    print(table)
    print("S, D, I: digits substituted, deleted, inserted; the penalty for a digit, chosen on dev, is", penalty)


if __name__ == "__main__":
    main()
