#!/usr/bin/env python3
"""Compares an alignment with the reference times of words: compare.py RESULTS REFERENCE. Reads alignment.csv, takes no shift off."""

import csv
import sys
from pathlib import Path


def main():
    results, reference = Path(sys.argv[1]), Path(sys.argv[2])
    expected = {}
    for line in reference.read_text().splitlines():
        key, word, begin, end = line.split("\t")
        expected.setdefault(key, []).append((word, float(begin), float(end)))
    found = {}
    with open(results / "alignment.csv", encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            if row["type"] == "word":
                found.setdefault(row["recording"].split("/")[-1], []).append((row["label"], float(row["begin"]), float(row["end"])))
    distances, missing = [], 0
    for key, words in expected.items():
        # (Recordings have their folder's name before their own.)
        own = next((own for name, own in found.items() if name.endswith(key)), None)
        if own is None or [word for word, _, _ in own] != [word for word, _, _ in words]:
            missing += 1
            continue
        for (_, begin, end), (_, begin_own, end_own) in zip(words, own):
            distances += [abs(begin_own - begin), abs(end_own - end)]
    if not distances:
        sys.exit("no sentence could be compared")
    distances.sort()
    within = "  ".join(f"{ms} ms {100 * sum(d <= ms / 1000 for d in distances) / len(distances):.1f} %" for ms in (10, 25, 50))
    print(f"{len(distances)} boundaries of words in {len(expected) - missing} of {len(expected)} sentences: within {within}; "
          f"median {1000 * distances[len(distances) // 2]:.1f} ms, mean {1000 * sum(distances) / len(distances):.1f} ms")


if __name__ == "__main__":
    main()
