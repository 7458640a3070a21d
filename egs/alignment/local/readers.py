#!/usr/bin/env python3
"""Reads TextGrids with praatio, textgrid, tgt and parselmouth (Praat itself), and compares all intervals: readers.py FOLDER [COUNT]."""

import sys
from pathlib import Path

import parselmouth
import textgrid
import tgt
from praatio import textgrid as praatio


def with_praatio(file):
    grid = praatio.openTextgrid(str(file), includeEmptyIntervals=True)
    return [(name, [(i.start, i.end, i.label) for i in grid.getTier(name).entries]) for name in grid.tierNames]


def with_textgrid(file):
    return [(tier.name, [(i.minTime, i.maxTime, i.mark) for i in tier]) for tier in textgrid.TextGrid.fromFile(str(file)).tiers]


def with_tgt(file):
    grid = tgt.io.read_textgrid(str(file), include_empty_intervals=True)
    return [(tier.name, [(i.start_time, i.end_time, i.text) for i in tier.intervals]) for tier in grid.tiers]


def with_praat(file):
    grid, call = parselmouth.read(str(file)), parselmouth.praat.call
    tiers = []
    for tier in range(1, call(grid, "Get number of tiers") + 1):
        at = lambda what, i, tier=tier: call(grid, what, tier, i)
        count = call(grid, "Get number of intervals", tier)
        own = [(at("Get start time of interval", i), at("Get end time of interval", i), at("Get label of interval", i)) for i in range(1, count + 1)]
        tiers.append((call(grid, "Get tier name", tier), own))
    return tiers


# textgrid rounds times to five digits.
TOLERANCE = 1e-5


def same(one, other):
    return len(one) == len(other) and all(
        a[0] == b[0]
        and len(a[1]) == len(b[1])
        and all(abs(x[0] - y[0]) < TOLERANCE and abs(x[1] - y[1]) < TOLERANCE and x[2].strip() == y[2].strip() for x, y in zip(a[1], b[1]))
        for a, b in zip(one, other)
    )


def main():
    files = sorted(Path(sys.argv[1]).rglob("*.TextGrid"))[: int(sys.argv[2]) if len(sys.argv) > 2 else None]
    intervals = 0
    for file in files:
        read = [reader(file) for reader in (with_praat, with_praatio, with_textgrid, with_tgt)]
        for other in read[1:]:
            if not same(read[0], other):
                sys.exit(f"{file}: readers differ")
        for name, own in read[0]:
            if own[0][0] != 0 or any(a[1] != b[0] for a, b in zip(own, own[1:])):
                sys.exit(f"{file}: the intervals of {name} do not touch")
        intervals += sum(len(own) for _, own in read[0])
    print(f"{len(files)} TextGrids: praatio, textgrid, tgt and Praat read the same {intervals} intervals")


if __name__ == "__main__":
    main()
