#!/usr/bin/env python3
"""How time and memory grow with the length of an utterance, the number of utterances, the minibatch and the layers.

    benches/scale.py [--programs=target/release]

Prints Markdown tables: seconds of processor time, peak memory of the process, and time by size relative to the first line.
"""

import argparse
import json
import os
import random
import resource
import struct
import subprocess
import tempfile
from array import array

DIM, OUTPUTS = 40, 100


def config(layers, width):
    lines, below, dim = [f"input-node name=input dim={DIM}"], "input", DIM
    for i in range(layers):
        lines += [
            f"component name=a{i} type=AffineComponent input-dim={3 * dim} output-dim={width}",
            f"component-node name=a{i} component=a{i} input=Append(Offset({below}, -1), {below}, Offset({below}, 1))",
            f"component name=r{i} type=RectifiedLinearComponent dim={width}",
            f"component-node name=r{i} component=r{i} input=a{i}",
        ]
        below, dim = f"r{i}", width
    lines += [
        f"component name=out type=AffineComponent input-dim={dim} output-dim={OUTPUTS}",
        f"component-node name=out component=out input={below}",
        "output-node name=output input=out",
    ]
    return "\n".join(lines) + "\n"


def request(sequences, context, frames):
    def node(name, times):
        size = sequences * len(times)
        indexes = " ".join(f"<I1> {n} {t} 0" for n in range(sequences) for t in times)
        return (
            f"<IoSpecification> \n{name} <NumIndexes> {size} <Indexes> <I1V> {size} {indexes} "
            "<HasDeriv> T \n</IoSpecification> \n"
        )

    return (
        f"<ComputationRequest> \n<NumInputs> 1 \n<Inputs> {node('input', range(-context, frames + context))}"
        f"\n<NumOutputs> 1 \n<Outputs> {node('output', range(frames))}"
        "\n<NeedModelDerivative> T <StoreComponentStats> F </ComputationRequest> \n"
    )


def write_features(path, lengths):
    random.seed(1)
    some = array("f", (random.gauss(0, 1) for _ in range(1000 * DIM))).tobytes()
    with open(path, "wb") as out:
        for i, rows in enumerate(lengths):
            out.write(b"utterance-%06d \0BFM \4%s\4%s" % (i, struct.pack("<i", rows), struct.pack("<i", DIM)))
            whole, rest = divmod(rows, 1000)
            for _ in range(whole):
                out.write(some)
            out.write(some[: rest * DIM * 4])


def measured(command):
    """Processor seconds and peak megabytes of a process, and its output."""
    out = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = out.stdout.read().decode()
    _, status, usage = os.wait4(out.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, text


def table(title, head, rows):
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release")
    options = parser.parse_args()
    program = lambda name: os.path.join(options.programs, name)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        open(path("config"), "w").write(config(4, 512))
        measured([program("nnet3-init"), path("config"), path("model")])

        def compute(lengths):
            write_features(path("feats"), lengths)
            arguments = ["--use-gpu=no", "--frames-per-chunk=150", path("model"), f"ark:{path('feats')}", "ark:/dev/null"]
            return measured([program("nnet3-compute"), *arguments])[:2]

        rows, base = [], None
        for frames in (100, 1000, 10000, 60000, 360000):
            seconds, megabytes = compute([frames])
            matrices = 4 * frames * (DIM + OUTPUTS) / 1e6
            rows.append([f"{frames // 100} s", f"{seconds:.2f}", f"{1e6 * seconds / frames:.0f}", f"{megabytes:.0f}",
                         f"{matrices:.0f}"])
        head = ["one utterance of", "seconds", "µs a frame", "MB", "of these features and outputs"]
        table("nnet3-compute, four layers of 512", head, rows)

        rows = []
        for count in (10, 100, 1000):
            seconds, megabytes = compute([150] * count)
            rows.append([str(count), f"{seconds:.2f}", f"{1e3 * seconds / count:.2f}", f"{megabytes:.0f}"])
        table("The same network", ["utterances of 1.5 s", "seconds", "ms each", "MB"], rows)

        def benchmark(layers, sequences):
            open(path("config"), "w").write(config(layers, 512))
            open(path("request"), "w").write(request(sequences, layers, 20))
            text = measured([program("nnet3-benchmark"), "--repeats=1", path("config"), path("request")])[2]
            return json.loads(text)

        for title, first, cases in (
            ("Forward and backward, four layers of 512, 20 frames", "sequences", [(4, n) for n in (8, 16, 32, 64, 128)]),
            ("Forward and backward, 32 sequences of 20 frames", "layers of 512", [(n, 32) for n in (2, 4, 8, 16)]),
        ):
            rows = []
            for layers, sequences in cases:
                found, size = benchmark(layers, sequences), sequences if first == "sequences" else layers
                seconds = found["forward_s"] + found["backward_s"]
                operations = found["gemm_gflop_forward"] + found["gemm_gflop_backward"]
                rows.append([str(size), f"{1e3 * seconds:.1f}", f"{1e3 * seconds / operations:.1f}",
                             f"{found['arena_bytes'] / 1e6:.1f}", f"{found['arena_bytes'] / 1e6 / size:.2f}",
                             f"{found['compile_ms']:.1f}"])
            table(title, [first, "ms", "ms by GFLOP", "arena, MB", f"MB by {first}", "compile, ms"], rows)


if __name__ == "__main__":
    main()
