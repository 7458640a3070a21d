#!/usr/bin/env python3
"""Pictures of the trainings: curves of all optimizers in one chart, first-layer filters, confusion matrix, misread images."""

import json
import pathlib
import re
import sys

COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf"]
SIDE = 8  # pixels of an image


def svg(path, width, height, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    path.write_text("\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>\n"]))
    print(f"Picture: {path}")


def text(x, y, words, **attributes):
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{words}</text>'


def grey(value):
    level = round(255 * min(max(value, 0.0), 1.0))
    return f"rgb({level},{level},{level})"


def image(x, y, pixels, size, colour=grey):
    cell = size / SIDE
    return [
        f'<rect x="{x + k % SIDE * cell:.2f}" y="{y + k // SIDE * cell:.2f}" width="{cell:.2f}" height="{cell:.2f}" '
        f'fill="{colour(value)}"/>'
        for k, value in enumerate(pixels)
    ]


def curves(folder):
    """Test losses by epochs, one chart for each network."""
    for network in ["mlp", "conv"]:
        series = {}
        for events in sorted(folder.glob(f"{network}.*/events.jsonl")):
            lines = [json.loads(line) for line in events.read_text().splitlines()]
            losses = [(e["epoch"], e["valid"]["loss"]) for e in lines if e["event"] == "epoch" and e["valid"]]
            series[events.parent.name.split(".", 1)[1]] = losses
        top = min(1.0, max(loss for losses in series.values() for _, loss in losses))
        last = max(epoch for losses in series.values() for epoch, _ in losses)
        x = lambda epoch: 60 + 480 * epoch / last
        y = lambda loss: 340 - 300 * min(loss, top) / top
        parts = [text(60, 25, f"{network}: test loss after each epoch")]
        for k in range(6):
            value = top * k / 5
            parts.append(f'<line x1="60" y1="{y(value):.1f}" x2="540" y2="{y(value):.1f}" stroke="#ddd"/>')
            parts.append(text(52, y(value) + 4, f"{value:.2f}", text_anchor="end"))
        parts += [text(x(epoch), 358, epoch, text_anchor="middle") for epoch in range(0, last + 1, max(1, last // 10))]
        for k, (name, losses) in enumerate(series.items()):
            colour = COLOURS[k % len(COLOURS)]
            points = " ".join(f"{x(epoch):.1f},{y(loss):.1f}" for epoch, loss in losses)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts.append(text(555, 60 + 18 * k, f"{name} {losses[-1][1]:.3f}", fill=colour))
        svg(folder / f"curves.{network}.svg", 680, 370, parts)


def filters(folder):
    """What each hidden unit of the first layer looks for: its weights, blue below 0 and red above."""
    model = (folder / "mlp.txt").read_text()
    matrix = re.search(r"<LinearParams>\s*\[(.*?)\]", model, re.S).group(1)
    rows = [[float(x) for x in line.split()] for line in matrix.splitlines() if line.strip()]
    largest = max(abs(x) for row in rows for x in row)

    def colour(value):
        share = min(abs(value) / largest * 1.5, 1.0)
        other = round(255 * (1 - share))
        return f"rgb(255,{other},{other})" if value > 0 else f"rgb({other},{other},255)"

    parts = []
    for k, row in enumerate(rows):
        parts += image(10 + k % 20 * 46, 10 + k // 20 * 46, row, 42, colour)
    svg(folder / "filters.svg", 930, 10 + 46 * ((len(rows) + 19) // 20), parts)


def matrices(path):
    for key, values in re.findall(r"(\S+)\s+\[(.*?)\]", path.read_text(), re.S):
        yield key, [float(x) for x in values.split()]


def readings(folder):
    """The confusion matrix, and the images that are misread."""
    truth = {line.split()[0]: int(line.split()[1]) for line in (folder / "test.ali.txt").read_text().splitlines()}
    pixels = dict(matrices(folder / "test.txt"))
    counts = [[0] * 10 for _ in range(10)]
    wrong = []
    for key, scores in matrices(folder / "test.out"):
        said = max(range(10), key=lambda k: scores[k])
        counts[truth[key]][said] += 1
        if said != truth[key]:
            wrong.append((key, said))
    parts = [text(60, 20, "digit down, reading across")]
    for i in range(10):
        parts += [text(40, 57 + 32 * i, i), text(72 + 32 * i, 36, i)]
        for j in range(10):
            share = counts[i][j] / max(1, sum(counts[i]))
            parts.append(f'<rect x="{60 + 32 * j}" y="{42 + 32 * i}" width="30" height="22" fill="{grey(1 - share)}" stroke="#ccc"/>')
            if counts[i][j]:
                fill = "white" if share > 0.5 else "black"
                parts.append(text(75 + 32 * j, 57 + 32 * i, counts[i][j], text_anchor="middle", fill=fill))
    svg(folder / "confusion.svg", 400, 380, parts)
    parts = []
    for k, (key, said) in enumerate(wrong):
        x, y = 10 + k % 10 * 70, 10 + k // 10 * 84
        parts += image(x, y, [1 - value for value in pixels[key]], 56)
        parts.append(text(x, y + 70, f"{truth[key]} as {said}", font_size=10))
    svg(folder / "misread.svg", 720, 20 + 84 * ((len(wrong) + 9) // 10), parts)
    total = sum(map(sum, counts))
    print(f"{len(wrong)} of {total} test images are misread by the network with one hidden layer")


def main():
    folder = pathlib.Path(sys.argv[1])
    curves(folder)
    filters(folder)
    readings(folder)


if __name__ == "__main__":
    main()
