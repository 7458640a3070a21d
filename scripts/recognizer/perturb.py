#!/usr/bin/env python3
"""Adds copies at other speeds to a data folder of data.py, and gives each recording a volume at random.

The copies' keys and speakers begin with `sp0.9-` and `sp1.1-`; volumes are uniform from 0.125 to 2. These are the usual factors of Kaldi's
recipes. Waves are changed by pipes of wav-perturb in wav.scp, when they are read.
"""

import argparse
import random
import shlex
from pathlib import Path

SPEEDS = ("1.0", "0.9", "1.1")
VOLUMES = (0.125, 2.0)


def rows(path):
    return [line.split(" ", 1) for line in path.read_text("utf-8").splitlines()]


def changed(source, speed, volume):
    """The entry of wav.scp for a file or a command at another speed and volume."""
    command = f"wav-perturb --print-args=false --speed={speed} --volume={volume:.3f}"
    if source.endswith("|"):
        return f"{source} {command} - - |"
    return f"{command} {shlex.quote(source if not source.startswith('-') else './' + source)} - |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--srand", type=int, default=0)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    draw = random.Random(args.srand)
    prefixes = {speed: "" if float(speed) == 1 else f"sp{speed}-" for speed in SPEEDS}

    def rewrite(name, change):
        path = args.folder / name
        if path.exists():
            new = [(prefixes[speed] + key, change(speed, rest)) for speed in SPEEDS for key, rest in rows(path)]
            path.write_text("".join(f"{key} {rest}\n" for key, rest in sorted(new)), encoding="utf-8")

    def segment(speed, rest):
        recording, begin, end = rest.split(" ")
        return f"{prefixes[speed]}{recording} {float(begin) / float(speed):.3f} {float(end) / float(speed):.3f}"

    rewrite("wav.scp", lambda speed, rest: changed(rest, speed, draw.uniform(*VOLUMES)))
    rewrite("segments", segment)
    rewrite("text", lambda speed, rest: rest)
    rewrite("utt2spk", lambda speed, rest: prefixes[speed] + rest)
    rewrite("spk2utt", lambda speed, rest: " ".join(prefixes[speed] + key for key in rest.split(" ")))
    rewrite("waves", lambda speed, rest: rest)


if __name__ == "__main__":
    main()
