#!/usr/bin/env python3
"""Pictures of a training and its results, as PNG files in `<dir>/figures`.

training.png    objective and frame accuracy after each iteration, on parts of the training and the validation set
confusion.png   which phones are taken for which, frame by frame, on seen and unseen voices
posteriors.png  one utterance of an unseen voice: log-mel bins, reference, and what the network makes of it
"""

import argparse
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import archives
import lang

TRAIN, VALID, INK, GREY = "#2a6fbb", "#d1652b", "#222222", "#8a8a8a"
plt.rcParams.update(
    {
        "font.size": 11,
        "axes.titlesize": 12,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "figure.dpi": 110,
        "savefig.bbox": "tight",
    }
)

# What scripts of the reference toolkit look for in the logs of nnet3-compute-prob.
RESULT = re.compile(
    r"LOG .nnet3.*compute-prob.*:PrintTotalStats..:nnet.*diagnostics.cc:[0-9]+. "
    r"Overall (log-likelihood|accuracy) for 'output' is (\S+) per frame"
)


def read_curves(log, part):
    """(iterations, objectives, accuracies in %) of `compute_prob_<part>.<iteration>.log`."""
    rows = []
    for path in log.glob(f"compute_prob_{part}.*.log"):
        iteration = path.name.split(".")[1]
        found = dict(RESULT.findall(path.read_text()))
        if iteration.isdigit() and len(found) == 2:
            rows.append((int(iteration), float(found["log-likelihood"]), 100 * float(found["accuracy"])))
    return np.array(sorted(rows)).T


def plot_training(log, path):
    curves = {part: read_curves(log, part) for part in ("train", "valid")}
    if any(curve.size == 0 for curve in curves.values()):
        sys.exit(f"plots.py: {log} has no results of nnet3-compute-prob (compute_prob_train.N.log)")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axis, row, title in (
        (axes[0], 1, "Objective (mean log-probability of a frame's phone)"),
        (axes[1], 2, "Frame accuracy, %"),
    ):
        lowest = []
        for part, colour, name, height in (
            ("train", TRAIN, "part of the training set", 0.24),
            ("valid", VALID, "validation set", 0.15),
        ):
            iterations, values = curves[part][0], curves[part][row]
            axis.plot(iterations, values, color=colour, marker="o", markersize=3, linewidth=1.8)
            last = f"{values[-1]:.{4 if row == 1 else 2}f}"
            place = {"transform": axis.transAxes, "color": colour}
            axis.text(0.80, height, name, ha="right", **place)
            axis.text(0.97, height, last, ha="right", **place)
            lowest.append(values[min(1, len(values) - 1)])
        axis.text(0.97, 0.06, f"after iteration {iterations[-1]:.0f}", ha="right", color=GREY, transform=axis.transAxes)
        best = 0.0 if row == 1 else 100.0
        span = best - min(lowest)  # model 0 knows nothing; leaving it out keeps the rest readable
        axis.set_ylim(best - 1.05 * span, best + 0.02 * span)
        axis.set_xlim(0, 1.02 * curves["valid"][0][-1])
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_xlabel("iteration")
        axis.set_title(title)
        axis.grid(axis="y", color="#e6e6e6")
    figure.savefig(path)
    plt.close(figure)


def confusions(outputs, alignments, num_phones):
    """Per cent of the frames of each phone (row) that are taken for each phone (column)."""
    counts = np.zeros((num_phones, num_phones))
    for key, ali in alignments.items():
        np.add.at(counts, (ali, outputs[key].argmax(axis=1)), 1)
    accuracy = 100 * np.trace(counts) / counts.sum()
    return 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), accuracy


def plot_confusion(sets, names, path):
    """`sets`: [(title, outputs, alignments)]"""
    figure, axes = plt.subplots(1, len(sets), figsize=(8.2 * len(sets), 8.4), layout="constrained")
    ticks = np.arange(len(names))
    for axis, (title, outputs, alignments) in zip(axes, sets):
        table, accuracy = confusions(outputs, alignments, len(names))
        image = axis.imshow(np.sqrt(table), cmap="Blues", vmin=0, vmax=10)  # square root: small shares stay visible
        for row, column in zip(*np.nonzero(table >= 0.5)):
            share = table[row, column]
            text = f"{share:.0f}" if share < 99.95 else "100"
            axis.text(
                column, row, text, ha="center", va="center", fontsize=8, color="white" if share > 35 else INK
            )
        axis.set_xticks(ticks, names)
        axis.set_yticks(ticks, names)
        axis.set_xticks(ticks[:-1] + 0.5, minor=True)
        axis.set_yticks(ticks[:-1] + 0.5, minor=True)
        axis.grid(which="minor", color="#eeeeee", linewidth=0.6)
        axis.tick_params(which="both", length=0)
        axis.set_xlabel("recognised")
        axis.set_ylabel("spoken")
        axis.set_title(f"{title}: {accuracy:.1f} % of frames right")
    bar = figure.colorbar(image, ax=axes, shrink=0.5, pad=0.01)
    percents = [0, 1, 5, 10, 25, 50, 100]
    bar.set_ticks(np.sqrt(percents), labels=[f"{p} %" for p in percents])
    bar.set_label("share of the spoken phone's frames")
    figure.savefig(path)
    plt.close(figure)


def phone_runs(ali):
    """[(first frame, frame after the last, phone)]"""
    edges = np.flatnonzero(np.diff(ali)) + 1
    bounds = [0, *edges, len(ali)]
    return [(a, b, ali[a]) for a, b in zip(bounds, bounds[1:])]


def plot_posteriors(key, words, feats, output, ali, names, path):
    seconds = len(ali) / 100
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(13, 8.5), sharex=True, height_ratios=[1, 1.7], layout="constrained"
    )
    upper.imshow(feats.T, origin="lower", aspect="auto", cmap="magma", extent=(0, seconds, 0, feats.shape[1]))
    upper.set_ylabel("log-mel bin")
    wrong = (output.argmax(axis=1) != ali).mean()
    upper.set_title(f"{key}: {' '.join(words)}", pad=24)
    for first, after, phone in phone_runs(ali):
        upper.axvline(first / 100, color="white", linewidth=0.7)
        if after - first > 1:
            upper.annotate(
                names[phone],
                ((first + after) / 200, 1.02),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="bottom",
                fontsize=9,
                color=GREY if phone == 0 else INK,
            )

    extent = (0, seconds, len(names) - 0.5, -0.5)
    image = lower.imshow(np.exp(output).T, aspect="auto", cmap="Blues", vmin=0, vmax=1, extent=extent, interpolation="nearest")
    for first, after, phone in phone_runs(ali):
        box = plt.Rectangle(
            (first / 100, phone - 0.5), (after - first) / 100, 1, fill=False, edgecolor=VALID, linewidth=1.4
        )
        lower.add_patch(box)
    lower.set_yticks(np.arange(len(names)), names, fontsize=9)
    lower.set_yticks(np.arange(len(names) - 1) + 0.5, minor=True)
    lower.grid(axis="y", which="minor", color="#eeeeee", linewidth=0.6)
    lower.tick_params(axis="y", which="both", length=0)
    lower.set_xlabel("seconds")
    lower.set_title(f"Posteriors of the network; boxes: what was spoken ({100 * (1 - wrong):.1f} % of frames right)")
    figure.colorbar(image, ax=lower, pad=0.01, label="probability")
    figure.savefig(path)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the sets (default: data)")
    parser.add_argument("dir", type=Path, help="experiment folder, with log/ and output.<set>.ark")
    args = parser.parse_args()

    names = lang.Phones().names
    figures = args.dir / "figures"
    figures.mkdir(exist_ok=True)
    plot_training(args.dir / "log", figures / "training.png")

    sets = []
    for name, title in (("test_seen", "Seen voices"), ("test_unseen", "Unseen voices")):
        outputs = archives.matrices(f"ark:{args.dir}/output.{name}.ark")
        sets.append((title, outputs, archives.alignments(args.data / name)))
    plot_confusion(sets, names, figures / "confusion.png")

    _, outputs, alignments = sets[-1]
    text = archives.table(args.data / "test_unseen" / "text")
    key = next((key for key in alignments if 200 <= len(alignments[key]) <= 260), next(iter(alignments)))
    feats = archives.matrices(f"scp:{args.data}/test_unseen/feats.scp")[key]
    plot_posteriors(key, text[key], feats, outputs[key], alignments[key], names, figures / "posteriors.png")
    print("drawn:", *sorted(path.name for path in figures.glob("*.png")))


if __name__ == "__main__":
    main()
