#!/usr/bin/env python3
"""Diarization error rate: der.py REF.rttm HYP.rttm

Time that is scored: all time of one reference speaker but 0.25 s around the beginnings and ends of his turns. Errors are missed speech, false
speech and speech of the wrong speaker, with the assignment of speakers that has the fewest errors. Prints `%DER`, as a percentage of the
scored speech.
"""

import sys
from collections import defaultdict
from itertools import permutations

STEP, COLLAR = 0.01, 0.25


def turns(path):
    """{recording: [(begin, end, speaker)]}, in steps."""
    found = defaultdict(list)
    for line in open(path, encoding="utf-8"):
        fields = line.split()
        begin, length = float(fields[3]), float(fields[4])
        found[fields[1]].append((round(begin / STEP), round((begin + length) / STEP), fields[7]))
    return found


def errors(reference, found):
    """(steps with an error, steps of speech) of a recording."""
    length = max(end for _, end, _ in reference + found)
    said, heard, scored = [[] for _ in range(length)], [None] * length, [True] * length
    for begin, end, speaker in reference:
        for at in range(begin, end):
            said[at].append(speaker)
        for edge in (begin, end):
            for at in range(max(0, edge - round(COLLAR / STEP)), min(length, edge + round(COLLAR / STEP))):
                scored[at] = False
    for begin, end, speaker in found:
        heard[begin:end] = [speaker] * (end - begin)
    together, speech, false = defaultdict(int), 0, 0
    for at in range(length):
        if scored[at] and len(said[at]) == 1:
            speech += 1
            together[said[at][0], heard[at]] += 1
        elif scored[at] and not said[at] and heard[at]:
            false += 1
    names, others = sorted({a for a, _ in together}), sorted({b for _, b in together if b})
    others += [None] * max(0, len(names) - len(others))
    # (Recordings have up to four speakers, so all assignments can be tried; the most frequent clusters are enough.)
    weight = {other: sum(count for (_, b), count in together.items() if b == other) for other in others if other}
    others = sorted(others, key=lambda other: -weight.get(other, 0))[: max(len(names), 7)]
    right = max(sum(together[pair] for pair in zip(names, chosen) if pair[1]) for chosen in permutations(others, len(names)))
    return speech - right + false, speech


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: der.py REF.rttm HYP.rttm")
    reference, found = turns(sys.argv[1]), turns(sys.argv[2])
    counts = [errors(part, found.get(name, [])) for name, part in reference.items()]
    wrong, speech = (sum(part) for part in zip(*counts))
    print(f"%DER {100 * wrong / speech:.2f}")


if __name__ == "__main__":
    main()
