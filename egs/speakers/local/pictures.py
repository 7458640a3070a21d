#!/usr/bin/env python3
"""Draws who speaks when: for each recording the turns of the reference and those that were found, over time, and the vectors of its pieces in a
plane, coloured by who speaks, with the number of the cluster.

Usage: pictures.py REFERENCE FOUND OUT.svg; FOUND is a folder with rttm, pieces, labels and plane.
"""

import sys
from collections import defaultdict
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "commands/local"))

from diarize import read_pieces, read_rttm
from svg import FAINT, INK, Svg

COLOURS = ("#1f6fb4", "#e08a1e", "#3a923a", "#c23b3b", "#8a5fb0", "#7f6a54", "#d070b0", "#777")
LEFT, PLANE, ROW = 90, 150, 22


def mapping(reference, found):
    """The speaker with whom each label shares most time."""
    shared = defaultdict(float)
    for b, e, label in found:
        for begin, end, who in reference:
            shared[(label, who)] += max(0.0, min(e, end) - max(b, begin))
    best = {}
    for (label, who), seconds in sorted(shared.items()):
        if seconds > best.get(label, (None, 0.0))[1]:
            best[label] = (who, seconds)
    return {label: who for label, (who, _) in best.items()}


def draw(svg, top, key, reference, found, points, width):
    speakers = sorted({who for *_, who in reference})
    colour = {who: COLOURS[i % len(COLOURS)] for i, who in enumerate(speakers)}
    label_of = mapping(reference, found)
    scale = width / max(end for _, end, _ in reference + found)
    svg.text(10, top + 14, key, size=13)
    for row, (name, turns, who_of) in enumerate((("speakers", reference, lambda w: w), ("found", found, lambda w: label_of.get(w)))):
        y = top + 24 + row * (ROW + 8)
        svg.text(10, y + 15, name, size=12)
        for begin, end, who in turns:
            fill = colour.get(who_of(who), FAINT)
            svg.raw(f'<rect x="{LEFT + begin * scale:.1f}" y="{y}" width="{(end - begin) * scale:.1f}" height="{ROW}" fill="{fill}"><title>{who}</title></rect>')
    y = top + 24 + 2 * (ROW + 8) + 14
    for i, second in enumerate(range(0, int(width / scale) + 1, 10)):
        svg.text(LEFT + second * scale, y, f"{second} s", size=11, anchor="middle")
    for i, who in enumerate(speakers):
        x = LEFT + i * 170
        svg.raw(f'<rect x="{x}" y="{y + 12}" width="12" height="12" fill="{colour[who]}"/>')
        svg.text(x + 17, y + 22, who, size=12)
    # The plane: a point for each piece.
    left = LEFT + width + 30
    svg.raw(f'<rect x="{left}" y="{top + 4}" width="{PLANE}" height="{PLANE}" fill="none" stroke="{FAINT}"/>')
    if points:
        xs, ys = [x for x, *_ in points], [y for _, y, *_ in points]
        for x, y, who, label in points:
            px = left + 8 + (PLANE - 16) * (x - min(xs)) / max(1e-9, max(xs) - min(xs))
            py = top + 12 + (PLANE - 16) * (y - min(ys)) / max(1e-9, max(ys) - min(ys))
            svg.raw(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{colour.get(who, FAINT)}" fill-opacity="0.7"><title>{who}, cluster {label}</title></circle>')


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    reference, folder = read_rttm(sys.argv[1]), Path(sys.argv[2])
    found, pieces = read_rttm(folder / "rttm"), read_pieces(folder / "pieces")
    labels = dict(line.split() for line in (folder / "labels").read_text().splitlines())
    points = defaultdict(list)
    for line in (folder / "plane").read_text().splitlines():
        name, x, y = line.replace("[", " ").replace("]", " ").split()
        recording, begin, end = pieces[name]
        middle = (begin + end) / 2
        who = next((who for b, e, who in reference[recording] if b <= middle < e), None)
        points[recording].append((float(x), float(y), who, labels[name]))
    width, height = 900, PLANE + 34
    svg = Svg(LEFT + width + PLANE + 50, 40 + height * len(reference))
    svg.text(10, 22, "Turns of speakers over time, as they are and as they were found; right: vectors of pieces of 1.5 s in a plane", size=15, fill=INK)
    for i, key in enumerate(sorted(reference)):
        draw(svg, 40 + i * height, key, reference[key], found.get(key, []), points[key], width)
    svg.save(Path(sys.argv[3]))


if __name__ == "__main__":
    main()
