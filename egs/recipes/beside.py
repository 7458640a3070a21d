#!/usr/bin/env python3
"""Compares runs of recipes with two sets of programs: processor seconds of their steps, and their results, side by side.

Usage: beside.py A B    folders of run.sh (--dir) that were made with different --programs
Steps that make data call none of the programs and are left out. So are steps that one of the two has not ended.
"""

import re
import sys
from pathlib import Path

DATA = {"corpus", "speech", "waves", "images"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?%?(?![\w/])")


def steps(recipe):
    """{step: processor seconds of all its starts} of the steps that have ended."""
    seconds, ended = {}, set()
    for line in (recipe / "steps.tsv").read_text().splitlines():
        name, _, processor, status = line.split("\t")
        seconds[name] = seconds.get(name, 0) + int(processor)
        if status == "0":
            ended.add(name)
    return {name: used for name, used in seconds.items() if name in ended}


def results(recipe):
    """{a line without its numbers: its numbers}."""
    path = recipe / "results.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return {NUMBER.sub("*", line): " ".join(NUMBER.findall(line)) for line in lines}


def row(name, a, b, more=""):
    print(f"{name:<64} {a:>16} {b:>16} {more:>7}")


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.split("\n\n")[1])
    first, second = map(Path, sys.argv[1:])
    recipes = sorted({path.parent.name for path in first.glob("*/steps.tsv")} & {path.parent.name for path in second.glob("*/steps.tsv")})
    if not recipes:
        sys.exit(f"beside.py: no recipe has been run in both {first} and {second}")
    row("", "A", "B", "A / B")
    all_a = all_b = 0
    for recipe in recipes:
        print(f"== {recipe}")
        a, b = steps(first / recipe), steps(second / recipe)
        for name in sorted(set(a) ^ set(b)):
            print(f"{name}: ended in one of the two only")
        for name in [name for name in a if name in b and name not in DATA]:
            row(name, a[name], b[name], f"{a[name] / max(b[name], 1):.2f}")
            all_a, all_b = all_a + a[name], all_b + b[name]
        a, b = results(first / recipe), results(second / recipe)
        for name in [name for name in a if name in b]:
            row(name, a[name], b[name])
    row("all", all_a, all_b, f"{all_a / max(all_b, 1):.2f}")


if __name__ == "__main__":
    main()
