#!/usr/bin/env python3
"""Draws what came of the recipe, as SVG: the lattice of one utterance, and errors by word. Copies the reports of the trainings beside them.

The utterance is one that was understood wrongly, if there is one, and whose lattice has few enough ways to be looked at. Needs the programs on
the PATH.
"""

import argparse
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from math import exp, inf, log1p
from pathlib import Path

from svg import FAINT, INK, Svg

BLUE, ORANGE, RED = "#1f6fb4", "#e08a1e", "#c23b3b"
SECONDS_OF_FRAME = 0.03  # of the network's output
LEAST_POSTERIOR = 0.005
LANE = 46  # pixels between ways that are beside each other


def log_add(a, b):
    high, low = max(a, b), min(a, b)
    return high if low == -inf else high + log1p(exp(low - high))


# ---- lattices -------------------------------------------------------------------------------------------------------
class Lattice:
    """Arcs (from, to, word, log-probability, frames) and final states of a compact lattice as text; states are in topological order."""

    def __init__(self):
        self.arcs, self.finals = [], {}

    def add_line(self, fields):
        weight = fields[-1].split(",") if "," in fields[-1] else ["0", "0", ""]
        score = -float(weight[0] or 0) - float(weight[1] or 0)
        frames = len(weight[2].split("_")) if len(weight) > 2 and weight[2] else 0
        if len(fields) >= 3:
            self.arcs.append((int(fields[0]), int(fields[1]), int(fields[2]), score, frames))
        else:
            self.finals[int(fields[0])] = score

    def posteriors(self):
        """The probability of each arc."""
        alpha, beta = defaultdict(lambda: -inf), defaultdict(lambda: -inf, self.finals)
        alpha[self.arcs[0][0]] = 0.0
        order = sorted(self.arcs)
        for source, to, _, score, _ in order:
            alpha[to] = log_add(alpha[to], alpha[source] + score)
        for source, to, _, score, _ in reversed(order):
            beta[source] = log_add(beta[source], beta[to] + score)
        total = beta[self.arcs[0][0]]
        return [exp(alpha[s] + score + beta[t] - total) for s, t, _, score, _ in self.arcs]

    def times(self):
        found = {self.arcs[0][0]: 0}
        for source, to, _, _, frames in sorted(self.arcs):
            found[to] = found[source] + frames
        return found


def read_lattices(lines):
    lattices, lattice = {}, None
    for line in lines:
        fields = line.split()
        if lattice is None and fields:
            lattice = lattices.setdefault(fields[0], Lattice())
        elif fields:
            lattice.add_line(fields)
        else:
            lattice = None
    return {key: lattice for key, lattice in lattices.items() if lattice.arcs}


def draw_lattice(lattice, names, title, path):
    """Time goes to the right; an arc is as thick as it is probable, and blue on the most probable way."""
    posteriors, times = lattice.posteriors(), lattice.times()
    arcs = [(*arc, p) for arc, p in zip(lattice.arcs, posteriors) if p >= LEAST_POSTERIOR]
    best, state = set(), lattice.arcs[0][0]
    while True:
        leaving = [arc for arc in arcs if arc[0] == state]
        if not leaving:
            break
        arc = max(leaving, key=lambda arc: arc[5])
        best.add(arc)
        state = arc[1]
    # The most probable way lies in lane 0; arcs beside it take the nearest lane that is free while they last.
    taken = defaultdict(list)
    lanes = {}
    for arc in sorted(arcs, key=lambda arc: (arc not in best, -arc[5])):
        begin, end = times[arc[0]], max(times[arc[1]], times[arc[0]] + 1)
        for lane in sorted(range(-30, 31), key=lambda lane: (abs(lane), lane)):
            if (lane == 0) == (arc in best) and all(end <= b or begin >= e for b, e in taken[lane]):
                break
        taken[lane].append((begin, end))
        lanes[arc] = lane
    highest, lowest = min(lanes.values()), max(lanes.values())
    shortest = min((times[t] - times[s] for s, t, w, *_ in arcs if w and times[t] > times[s]), default=1)
    scale = max(6.0, min(60.0 / shortest, 40.0))
    middle = 60 - highest * LANE
    last = max(times.values())
    svg = Svg(40 + last * scale + 40, middle + lowest * LANE + 70)
    svg.text(20, 24, title, 14)
    x = lambda state: 30 + times[state] * scale
    for arc in sorted(arcs, key=lambda arc: arc in best):
        source, to, word, _, _, posterior = arc
        y = middle + lanes[arc] * LANE
        colour = BLUE if arc in best else INK if word else FAINT
        a, b = x(source), x(to)
        bend = min(14.0, (b - a) / 3)
        svg.raw(
            f'<path d="M {a:.1f} {middle} C {a + bend / 2:.1f} {y}, {a + bend / 2:.1f} {y}, {a + bend:.1f} {y} L {b - bend:.1f} {y} '
            f'C {b - bend / 2:.1f} {y}, {b - bend / 2:.1f} {y}, {b:.1f} {middle}" fill="none" stroke="{colour}" '
            f'stroke-opacity="{0.35 + 0.65 * posterior:.2f}" stroke-width="{0.8 + 4 * posterior:.1f}"/>'
        )
        if word:
            svg.text((a + b) / 2, y - 7, names[word], 13, colour, "middle")
            svg.text((a + b) / 2, y + 15, f"{posterior:.2f}" if posterior >= 0.01 else "<0.01", 10, colour, "middle")
    for state in {arc[0] for arc in arcs} | {arc[1] for arc in arcs}:
        svg.raw(f'<circle cx="{x(state):.1f}" cy="{middle}" r="3" fill="{INK}"/>')
    base = middle + lowest * LANE + 40
    for tenth in range(0, int(last * SECONDS_OF_FRAME * 2) + 1):
        at = 30 + tenth / 2 / SECONDS_OF_FRAME * scale
        svg.raw(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{base}" y2="{base + 5}" stroke="{INK}"/>')
        svg.text(at, base + 18, f"{tenth / 2} s", 10, INK, "middle")
    svg.save(path)


def choose_utterance(lattices, said, heard):
    """An utterance with an error if there is one, and of those the one with the most arcs up to forty."""

    def worth(key):
        shown = sum(p >= LEAST_POSTERIOR for p in lattices[key].posteriors())
        return (said[key] != heard.get(key, []), shown if shown <= 40 else -shown)

    return max(sorted(lattices), key=worth)


# ---- errors ---------------------------------------------------------------------------------------------------------
def draw_errors(tables, path):
    """Bars: how often each word was replaced, missed, or put in where it was not said, of all sets together."""
    spoken, kinds = Counter(), [Counter(), Counter(), Counter()]
    for table in tables:
        for line in table.read_text("utf-8").splitlines():
            word, said, _, *wrong = line.split()
            spoken[word] += int(said)
            for kind, count in zip(kinds, wrong):
                kind[word] += int(count)
    errors = {word: sum(kind[word] for kind in kinds) for word in spoken}
    words = [word for word in sorted(errors, key=lambda word: (-errors[word], word)) if errors[word]][:25]
    svg = Svg(720, 80 + 22 * max(1, len(words)))
    svg.text(20, 24, f"Words that were wrong most often, of {sum(spoken.values())} spoken in {len(tables)} sets", 14)
    for place, (name, colour) in enumerate((("replaced", BLUE), ("missed", ORANGE), ("put in", RED))):
        svg.raw(f'<rect x="{130 + 110 * place}" y="36" width="12" height="12" fill="{colour}"/>')
        svg.text(147 + 110 * place, 46, name, 12)
    if not words:
        svg.text(130, 80, "none", 13)
    scale = 400 / max([errors[word] for word in words], default=1)
    for row, word in enumerate(words):
        y, x = 60 + 22 * row, 130.0
        svg.text(122, y + 13, word, 13, INK, "end")
        for kind, colour in zip(kinds, (BLUE, ORANGE, RED)):
            width = kind[word] * scale
            if width:
                svg.raw(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="16" fill="{colour}"/>')
            x += width
        svg.text(x + 6, y + 13, f"{errors[word]} of {spoken[word]}", 11, INK)
    svg.save(path)


def words_by_key(path):
    return {key: words for key, *words in (line.split() for line in path.read_text("utf-8").splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exp", type=Path, help="folder of recognizer.sh")
    parser.add_argument("set", help="set whose lattices are looked at")
    parser.add_argument("out", type=Path, help="folder for the pictures")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    for name, folder in (("training_flat_start", "flat/model"), ("training", "chain/model")):
        shutil.copyfile(args.exp / folder / "report.html", args.out / f"{name}.html")
    sets = (args.exp / "data/tests").read_text().split()
    draw_errors([args.exp / "decode" / name / "errors.txt" for name in sets], args.out / "errors.svg")

    decoded, graph = args.exp / "decode" / args.set, args.exp / "graph"
    command = ["lattice-align-words", "--print-args=false", graph / "phones/word_boundary.int", args.exp / "chain/model/final.mdl"]
    command += [f"ark:gunzip -c {decoded}/lat.*.gz |", "ark,t:-"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"pictures.py: lattice-align-words failed: {result.stderr}")
    lattices = read_lattices(result.stdout.splitlines())
    said, heard = words_by_key(args.exp / "data" / args.set / "text"), words_by_key(decoded / "text")
    key = choose_utterance(lattices, said, heard)
    names = dict((int(number), word) for word, number in (line.split() for line in (graph / "words.txt").read_text("utf-8").splitlines()))
    title = f"{key}: said “{' '.join(said[key])}”, understood “{' '.join(heard.get(key, []))}”"
    draw_lattice(lattices[key], names, title, args.out / "lattice.svg")


if __name__ == "__main__":
    main()
