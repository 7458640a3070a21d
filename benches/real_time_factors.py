#!/usr/bin/env python3
"""Processor time by audio time of nnet3-compute on short utterances, for networks of the performance cases.

    benches/real_time_factors.py [--programs=target/release] [--beside=DIR]... [--repeats=3] DIR

DIR holds tdnn_train/config, tdnnf_train/config and lstmp_train/config. 120 utterances of 1 to 2 s, --frames-per-chunk=150, one
thread. The programs of all folders run in turns; the least time of each counts. Prints a Markdown table; ratios are to
the last folder.
"""

import argparse
import os
import random
import resource
import struct
import subprocess
import tempfile
from array import array

UTTERANCES, DIM, IVECTOR_DIM = 120, 40, 100
CASES = {
    "tdnn_train": [],
    "tdnnf_train": ["--frame-subsampling-factor=3", "--ivectors=ark:{ivectors}"],
    "lstmp_train": ["--extra-left-context=40"],
}


def write_data(features, ivectors):
    """Returns the seconds of audio."""
    random.seed(1)
    normal = lambda count: array("f", (random.gauss(0, 1) for _ in range(count))).tobytes()
    frames = 0
    with open(features, "wb") as rows, open(ivectors, "wb") as vectors:
        for i in range(UTTERANCES):
            length = random.randint(100, 200)
            frames += length
            rows.write(b"u%03d \0BFM \4%s\4%s" % (i, struct.pack("<i", length), struct.pack("<i", DIM)))
            rows.write(normal(length * DIM))
            vectors.write(b"u%03d \0BFV \4%s" % (i, struct.pack("<i", IVECTOR_DIM)))
            vectors.write(normal(IVECTOR_DIM))
    return 0.01 * frames


def processor_seconds(command):
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release")
    parser.add_argument("--beside", action="append", default=[], help="another folder of programs to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("cases", metavar="DIR")
    options = parser.parse_args()
    folders = [options.programs, *options.beside]
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        audio = write_data(path("features"), path("ivectors"))
        print("| network | " + " | ".join(folders) + " | ratios |\n|" + "---|" * (len(folders) + 2))
        for case, arguments in CASES.items():
            config = os.path.join(options.cases, case, "config")
            processor_seconds([os.path.join(options.programs, "nnet3-init"), config, path("model")])
            arguments = [a.format(ivectors=path("ivectors")) for a in arguments]
            arguments += [path("model"), f"ark:{path('features')}", f"ark:{path('outputs')}"]
            command = ["nnet3-compute", "--use-gpu=no", "--frames-per-chunk=150", *arguments]
            least = [float("inf")] * len(folders)
            for _ in range(options.repeats):
                for i, programs in enumerate(folders):
                    seconds = processor_seconds([os.path.join(programs, command[0]), *command[1:]])
                    least[i] = min(least[i], seconds / audio)
            ratios = " ".join(f"{factor / least[-1]:.2f}" for factor in least[:-1])
            print(f"| {case} | " + " | ".join(f"{factor:.4f}" for factor in least) + f" | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
