#!/usr/bin/env python3
"""Time of single convolutions over time and height, forward and backward.

    benches/convolutions.py [--programs=target/release] [--beside=DIR] [--repeats=3]

For each shape the programs of both folders run nnet3-benchmark in turns, on one thread; the least time of each counts.
Prints a Markdown table; ratios are to --beside.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

# Input filters, output filters, input heights, distance of output heights, chunks, output times; training or forward only.
SHAPES = [
    (48, 48, 32, 1, 32, 32, True),
    (64, 64, 40, 1, 64, 50, True),
    (128, 128, 20, 1, 64, 50, True),
    (256, 256, 10, 1, 64, 50, True),
    (512, 512, 5, 1, 16, 30, True),
    (32, 32, 40, 1, 64, 50, True),
    (16, 16, 40, 1, 64, 50, True),
    (8, 64, 40, 1, 64, 50, True),
    (64, 128, 40, 2, 64, 50, True),
    (128, 256, 20, 2, 64, 50, True),
    (16, 32, 40, 2, 64, 50, True),
    (64, 64, 40, 1, 64, 1, True),
    (64, 64, 40, 1, 1, 50, False),
    (256, 256, 10, 1, 1, 50, False),
    (64, 64, 40, 1, 1, 8, False),
]


def config(filters_in, filters_out, height, stride):
    return (
        f"input-node name=input dim={filters_in * height}\n"
        f"component name=conv type=TimeHeightConvolutionComponent num-filters-in={filters_in} num-filters-out={filters_out}"
        f" height-in={height} height-out={height // stride} height-subsample-out={stride}"
        " height-offsets=-1,0,1 time-offsets=-1,0,1\n"
        "component-node name=conv component=conv input=input\noutput-node name=output input=conv\n"
    )


def request(chunks, times, training):
    flag = "T" if training else "F"

    def rows(name, first, last):
        indexes = [f"<I1> {n} {t} 0 " for n in range(chunks) for t in range(first, last)]
        return (
            f"<IoSpecification> {name} <NumIndexes> {len(indexes)} <Indexes> <I1V> {len(indexes)} "
            f"{''.join(indexes)}<HasDeriv> {flag} </IoSpecification> "
        )

    return (
        f"<ComputationRequest> <NumInputs> 1 <Inputs> {rows('input', -1, times + 1)}"
        f"<NumOutputs> 1 <Outputs> {rows('output', 0, times)}"
        f"<NeedModelDerivative> {flag} <StoreComponentStats> F </ComputationRequest> "
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release")
    parser.add_argument("--beside", help="another folder of programs to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    programs = [folder for folder in (options.beside, options.programs) if folder]
    print("| filters | heights | chunks × times | forward, ms | backward, ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("config", "request")]
        for filters_in, filters_out, height, stride, chunks, times, training in SHAPES:
            files[0].write_text(config(filters_in, filters_out, height, stride))
            files[1].write_text(request(chunks, times, training))
            least = {}
            for _ in range(options.repeats):
                for program in programs:
                    run = subprocess.run(
                        [f"{program}/nnet3", "nnet3-benchmark", "--repeats=3", *map(str, files)],
                        check=True,
                        capture_output=True,
                    )
                    found = json.loads(run.stdout)
                    for part in ("forward_s", "backward_s"):
                        least[part, program] = min(found[part], least.get((part, program), found[part]))

            def cell(part):
                if part == "backward_s" and not training:
                    return ""
                times = [1000 * least[part, program] for program in programs]
                ratio = f" ({times[1] / times[0]:.2f})" if len(times) == 2 else ""
                return " → ".join(f"{time:.3g}" for time in times) + ratio

            print(
                f"| {filters_in} → {filters_out} | {height} → {height // stride} | {chunks} × {times} "
                f"| {cell('forward_s')} | {cell('backward_s')} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
