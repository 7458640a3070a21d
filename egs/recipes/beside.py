#!/usr/bin/env python3
"""Compares runs of recipes with two sets of programs: processor seconds and seconds of their steps, and their results, side by side.

Usage: beside.py A B    folders of run.sh (--dir) that were made with different --programs
Steps that make data call none of the programs and are left out. So are steps that one of the two has not ended.
Seconds of recipes that ran at the same time (--at-once) overlap.
"""

import re
import sys
from pathlib import Path

DATA = {"corpus", "speech", "waves", "images"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?%?(?![\w/])")


def steps(recipe):
    """{step: (processor seconds, seconds) of all its starts} of the steps that have ended."""
    times, ended = {}, set()
    for line in (recipe / "steps.tsv").read_text().splitlines():
        name, wall, processor, status = line.split("\t")
        times[name] = add(times.get(name, (0, 0)), (int(processor), int(wall)))
        if status == "0":
            ended.add(name)
    return {name: both for name, both in times.items() if name in ended}


def add(a, b):
    return tuple(x + y for x, y in zip(a, b))


def results(recipe):
    """{a line without its numbers: its numbers}."""
    path = recipe / "results.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return {NUMBER.sub("*", line): " ".join(NUMBER.findall(line)) for line in lines}


def row(name, a, b):
    print(f"{name:<64} {a:>16} {b:>16}")


def times_row(name, a, b):
    ratios = "".join(f" {x:>7} {y:>7} {x / max(y, 1):>6.2f}" for x, y in zip(a, b))
    print(f"{name:<28}{ratios}")


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.split("\n\n")[1])
    first, second = map(Path, sys.argv[1:])
    recipes = sorted({path.parent.name for path in first.glob("*/steps.tsv")} & {path.parent.name for path in second.glob("*/steps.tsv")})
    if not recipes:
        sys.exit(f"beside.py: no recipe has been run in both {first} and {second}")
    print(f"{'':<28}{' processor seconds':<23} seconds")
    print(f"{'':<28}" + 2 * f" {'A':>7} {'B':>7} {'A / B':>6}")
    all_a = all_b = (0, 0)
    for recipe in recipes:
        print(f"== {recipe}")
        a, b = steps(first / recipe), steps(second / recipe)
        for name in sorted(set(a) ^ set(b)):
            print(f"{name}: ended in one of the two only")
        for name in [name for name in a if name in b and name not in DATA]:
            times_row(name, a[name], b[name])
            all_a, all_b = add(all_a, a[name]), add(all_b, b[name])
        a, b = results(first / recipe), results(second / recipe)
        for name in [name for name in a if name in b]:
            row(name, a[name], b[name])
    times_row("all", all_a, all_b)


if __name__ == "__main__":
    main()
