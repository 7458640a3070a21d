#!/usr/bin/env python3
"""Writes a computation request (text form) with as many sequences as wanted, each like sequence 0 of the given one."""
import argparse
import re
import sys


def scaled(text, sequences):
    def specification(match):
        name, items, rest = match.groups()
        first = [item for item in re.findall(r"<I1> (-?\d+) (-?\d+) (-?\d+) ", items) if item[0] == "0"]
        indexes = [f"<I1> {n} {t} {x} " for n in range(sequences) for _, t, x in first]
        count = len(indexes)
        return f"{name} <NumIndexes> {count} <Indexes> <I1V> {count} {''.join(indexes)}{rest}"

    pattern = r"(\S+) <NumIndexes> \d+ <Indexes> <I1V> \d+ ((?:<I1> -?\d+ -?\d+ -?\d+ )+)(<HasDeriv>)"
    return re.sub(pattern, specification, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("request", help="file with the request")
    parser.add_argument("sequences", type=int, help="how many it is to have")
    arguments = parser.parse_args()
    sys.stdout.write(scaled(open(arguments.request).read(), arguments.sequences))
