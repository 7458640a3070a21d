#!/usr/bin/env python3
"""Draws images in place of CIFAR-10 and CIFAR-100, as folders of images for Kaldi's scripts.

OUT/cifar{10,100}_{train,test} have 32 by 32 pixels in three colours, in random places, sizes, colours and noise. A class is a shape (disc, square,
triangle, cross, ring) with stripes in one of two directions; in the folders of 100 classes also with one of ten numbers of stripes. An image
is a matrix with a row a column of pixels and the three colours of each pixel side by side, as egs/cifar/v1/local/process_data.py writes it.
"""

import argparse
import struct
from pathlib import Path

import numpy as np

SIZE = 32
SHAPES = ("disc", "square", "triangle", "cross", "ring")


def mask(shape, x, y):
    """True within a shape of radius 1 around the origin."""
    distance = np.hypot(x, y)
    return {
        "disc": distance < 1,
        "square": np.maximum(abs(x), abs(y)) < 0.85,
        "triangle": (y < 0.8) & (y > 2 * abs(x) - 1),
        "cross": (np.minimum(abs(x), abs(y)) < 0.3) & (np.maximum(abs(x), abs(y)) < 1),
        "ring": (distance < 1) & (distance > 0.55),
    }[shape]


def draw(rng, label, fine):
    """An image with values from 0 to 1, [column, row, colour]."""
    shape, upright, stripes = SHAPES[label % 5], label // 5 % 2, (1 + label // 10) if fine else 3
    centre, radius = rng.uniform(11, 21, size=2), rng.uniform(7, 11)
    column, row = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")
    x, y = (column - centre[0]) / radius, (row - centre[1]) / radius
    wave = np.sin(np.pi * stripes * (y if upright else x) + rng.uniform(0, 2 * np.pi))
    back, front = rng.uniform(0, 1, size=(2, 3))
    pixels = np.where(mask(shape, x, y)[..., None], front * (0.6 + 0.4 * wave[..., None]), back * 0.6)
    return np.clip(pixels + rng.normal(0, 0.03, size=pixels.shape), 0, 1)


def write_folder(folder, count, classes, seed):
    """`images.ark` (float matrices), `images.scp`, `labels.txt`, `classes.txt`, `num_channels`."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    archive = folder / "data/images.ark"
    places, labels = [], []
    with open(archive, "wb") as file:
        for number in range(count):
            rng = np.random.default_rng([*seed, number])
            key, label = f"{number + 1:05d}", number % classes
            matrix = draw(rng, label, classes > 10).reshape(SIZE, -1).astype("<f4")
            file.write(f"{key} ".encode())
            places.append(f"{key} {archive.resolve()}:{file.tell()}\n")
            file.write(b"\0BFM " + struct.pack("<bibi", 4, matrix.shape[0], 4, matrix.shape[1]) + matrix.tobytes())
            labels.append(f"{key} {label}\n")
    (folder / "images.scp").write_text("".join(places))
    (folder / "labels.txt").write_text("".join(labels))
    (folder / "classes.txt").write_text("".join(f"class{number} {number}\n" for number in range(classes)))
    (folder / "num_channels").write_text("3\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--num-train", type=int, default=5000, help="images of each training set (5000)")
    parser.add_argument("--num-test", type=int, default=1000, help="images of each test set (1000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other images (1)")
    args = parser.parse_args()
    for classes in (10, 100):
        for part, count, seed in (("train", args.num_train, 2 * args.seed - 1), ("test", args.num_test, 2 * args.seed)):
            write_folder(args.out / f"cifar{classes}_{part}", count, classes, [seed, classes])
    print(f"{args.num_train} and {args.num_test} images, of 10 and of 100 classes")


if __name__ == "__main__":
    main()
