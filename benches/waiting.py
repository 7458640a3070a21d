#!/usr/bin/env python3
"""What people wait for: programs that start, one short utterance, a batch, chunks of streams, training; and the memory of each.

    benches/waiting.py [--programs=target/release] [--beside=DIR] [--repeats=3] [--only=REGEX] [--check] [MODEL]

Networks and data are made by the programs themselves. One thread. Times are processor time, the least of several; "of sgemm" is
the time by that of 10^9 operations of a matrix product in the same run (of nnet3-benchmark, before and after each case), which is
what stands in the column "was". With --beside the programs of that folder run in turns with the others.

With --check the status is 1, and a sentence says why, if something takes more than --allow (1.5) times what it did, in time
or memory; beside other work, which takes the third-level cache, it is up to 1.35 times. A case that seems to is measured a second
time first. MODEL, an acoustic model with 40 features and an output for every third frame, with or without i-vectors, takes the
place of the networks for utterances and streams; what it took before is not known.
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

DIM, IVECTOR_DIM, PDFS = 40, 100, 500
UTTERANCES, SECONDS = 48, 133

SLOWEST = "start-up of the slowest program"

# Times by that of 10^9 operations, and megabytes, on a Xeon (Sapphire Rapids) with AVX-512, with the priority of real time.
WAS = {
    "start-up": (0.231, 16),
    "one utterance of 3.6 s, TDNN-F": (3.86, 29),
    "batch, TDNN-F": (45.8, 44),
    "batch, LSTMP": (68.4, 46),
    "batch, GRU": (47.5, 47),
    "stream, chunks of 150, TDNN-F": (45, 37),
    "stream, chunks of 21, TDNN-F": (49.6, 28),
    "stream, chunks of 9, TDNN-F": (83.6, 28),
    "stream, chunks of 3, TDNN-F": (197, 28),
    "stream, chunks of 21, LSTMP": (205, 26),
    "stream, chunks of 3, LSTMP": (266, 26),
    "stream, chunks of 21, GRU": (90.6, 25),
    "stream, chunks of 3, GRU": (202, 24),
    "training, TDNN": (528, 142),
    "shuffling examples": (1.96, 16),
    SLOWEST: (0.29, 18),
}

NETWORKS = {
    "TDNN-F": """
        input dim=100 name=ivector
        input dim=40 name=input
        relu-batchnorm-layer name=tdnn1 dim=512 input=Append(Offset(input,-1),input,Offset(input,1),ReplaceIndex(ivector,t,0))
        tdnnf-layer name=tdnnf2 dim=512 bottleneck-dim=64 time-stride=1
        tdnnf-layer name=tdnnf3 dim=512 bottleneck-dim=64 time-stride=1
        tdnnf-layer name=tdnnf4 dim=512 bottleneck-dim=64 time-stride=0
        tdnnf-layer name=tdnnf5 dim=512 bottleneck-dim=64 time-stride=3
        tdnnf-layer name=tdnnf6 dim=512 bottleneck-dim=64 time-stride=3
        tdnnf-layer name=tdnnf7 dim=512 bottleneck-dim=64 time-stride=3
        tdnnf-layer name=tdnnf8 dim=512 bottleneck-dim=64 time-stride=3
        linear-component name=prefinal-l dim=128
        prefinal-layer name=prefinal input=prefinal-l big-dim=512 small-dim=128
        output-layer name=output dim=2500""",
    "LSTMP": """
        input dim=100 name=ivector
        input dim=40 name=input
        fast-lstmp-layer name=lstm1 input=Append(input,ReplaceIndex(ivector,t,0)) cell-dim=512 recurrent-projection-dim=128 \
            non-recurrent-projection-dim=128 delay=-3
        fast-lstmp-layer name=lstm2 cell-dim=512 recurrent-projection-dim=128 non-recurrent-projection-dim=128 delay=-3
        output-layer name=output dim=2500""",
    "GRU": """
        input dim=100 name=ivector
        input dim=40 name=input
        fast-opgru-layer name=gru1 input=Append(input,ReplaceIndex(ivector,t,0)) cell-dim=512 delay=-3
        fast-opgru-layer name=gru2 cell-dim=512 delay=-3
        output-layer name=output dim=2500""",
    "TDNN": f"""
        input dim=40 name=input
        relu-batchnorm-layer name=tdnn1 dim=512 input=Append(-2,-1,0,1,2)
        relu-batchnorm-layer name=tdnn2 dim=512 input=Append(-1,0,1)
        relu-batchnorm-layer name=tdnn3 dim=512 input=Append(-3,0,3)
        relu-batchnorm-layer name=tdnn4 dim=512 input=Append(-3,0,3)
        output-layer name=output dim={PDFS}""",
}

# A product by itself: what nnet3-benchmark multiplies beside it tells the rate of sgemm.
PRODUCT = "input-node name=input dim=64\ncomponent name=a type=AffineComponent input-dim=64 output-dim=64\n" \
    "component-node name=a component=a input=input\noutput-node name=output input=a\n"
REQUEST = "<ComputationRequest> <NumInputs> 1 <Inputs> {} <NumOutputs> 1 <Outputs> {} " \
    "<NeedModelDerivative> F <StoreComponentStats> F </ComputationRequest>\n".format(*[
        f"<IoSpecification> {name} <NumIndexes> 1 <Indexes> <I1V> 1 <I1> 0 0 0 <HasDeriv> F </IoSpecification>"
        for name in ("input", "output")])


class Tools:
    """Programs that make what the cases read."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder

    def run(self, name, *arguments):
        process = subprocess.run([f"{self.programs}/{name}", *arguments], capture_output=True, text=True)
        if process.returncode != 0:
            sys.exit(f"waiting.py: {name} failed: {process.stderr.strip().splitlines()[-1:]}")
        return process.stdout

    def path(self, name, content=None):
        path = f"{self.folder}/{name}"
        if content is not None:
            with open(path, "w") as file:
                file.write(content)
        return path

    def network(self, name):
        """A file with the network, made when it is first asked for."""
        path = self.path(f"{name}.raw")
        if not os.path.exists(path):
            text = NETWORKS[name].replace("\\\n", "")
            xconfig = self.path(f"{name}.xconfig", "\n".join(line.strip() for line in text.splitlines()) + "\n")
            configs = self.path(f"{name}.configs")
            self.run("nnet3-xconfig-to-configs", f"--xconfig-file={xconfig}", f"--config-dir={configs}")
            self.run("nnet3-init", "--srand=1", f"{configs}/final.config", path)
        return path

    def examples(self):
        """Minibatches of 128 examples of 8 frames for the network TDNN, from the batch's features."""
        egs = self.path("minibatches.egs")
        if not os.path.exists(egs):
            lengths = [line.split() for line in self.run("feat-to-len", f"ark:{self.path('all.feats')}", "ark,t:-").splitlines()]
            post = lambda n: " ".join(f"[ {random.randrange(PDFS)} 1 ]" for _ in range(n))
            posts = self.path("post.txt", "".join(f"{key} {post(int(n))}\n" for key, n in lengths))
            single = self.path("single.egs")
            context = ["--left-context=9", "--right-context=9", "--num-frames=8", f"--num-pdfs={PDFS}"]
            self.run("nnet3-get-egs", *context, f"ark:{self.path('all.feats')}", f"ark:{posts}", f"ark:{single}")
            self.run("nnet3-merge-egs", "--minibatch-size=128", f"ark:{single}", f"ark:{egs}")
            self.path("product.config", PRODUCT)
        return egs

    def product_rate(self):
        """10^9 operations a second."""
        config = self.path("product.config", PRODUCT)
        request = self.path("product.request", REQUEST)
        return json.loads(self.run("nnet3-benchmark", "--repeats=3", config, request))["sgemm_gflops"]


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
    nowhere = [(os.POSIX_SPAWN_OPEN, to, "/dev/null", os.O_WRONLY, 0) for to in (1, 2)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=nowhere)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        sys.exit(f"waiting.py: failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ivector_dim(tools, model):
    found = re.search(r"^ivector-dim: (\d+)$", tools.run("nnet3-am-info", model), re.MULTILINE)
    return max(int(found[1]), 0) if found else 0


def make_cases(tools, model):
    """Name → (a command as a list whose first word is a program's name, how many times as often as others it runs)."""
    dim = IVECTOR_DIM if model is None else ivector_dim(tools, model)
    weights = [random.uniform(0.4, 1.6) for _ in range(UTTERANCES)]
    write_data(tools.folder, "all", [int(100 * SECONDS * w / sum(weights)) for w in weights], max(dim, 1))
    write_data(tools.folder, "one", [356], max(dim, 1))

    def compute(network, data, *arguments):
        ivectors = [f"--online-ivectors=ark:{tools.path(data)}.ivectors", "--online-ivector-period=10"] if dim else []
        tables = [model or tools.network(network), f"ark:{tools.path(data)}.feats", f"ark:{tools.path('out')}"]
        return ["nnet3-compute", "--use-gpu=no", "--frame-subsampling-factor=3", *ivectors, *arguments, *tables]

    names = ["the model"] if model else ["TDNN-F", "LSTMP", "GRU"]
    cases = {"start-up": (["nnet3-copy", "--version"], 60)}
    cases[f"one utterance of 3.6 s, {names[0]}"] = (compute(names[0], "one", "--frames-per-chunk=150"), 8)
    for name in names:
        cases[f"batch, {name}"] = (compute(name, "all", "--frames-per-chunk=150"), 1)
    for name in names:
        for n in (150, 21, 9, 3) if name == names[0] else (21, 3):
            cases[f"stream, chunks of {n}, {name}"] = (compute(name, "all", "--looped=true", f"--frames-per-chunk={n}"), 1)
    if model is None:
        train = ["nnet3-train", "--use-gpu=no", "--num-threads=1", tools.network("TDNN"), f"ark:{tools.examples()}"]
        cases["training, TDNN"] = ([*train, tools.path("out")], 1)
        copy = ["nnet3-shuffle-egs", "--srand=1", f"ark:{tools.path('single.egs')}", f"ark:{tools.path('out')}"]
        cases["shuffling examples"] = (copy, 2)
    return cases


def measure(tools, folders, command, times):
    """For each folder the least seconds and megabytes; and the rate of products meanwhile, the largest of two."""
    rates = [tools.product_rate()]
    least = [(float("inf"), float("inf"))] * len(folders)
    for _ in range(times):
        for i, programs in enumerate(folders):
            found = run([f"{programs}/{command[0]}", *command[1:]])
            least[i] = tuple(map(min, least[i], found))
    rates.append(tools.product_rate())
    return least, max(rates)


def slowest_start(tools, repeats):
    """The program that takes the longest to say its version, and what it takes: the least of several."""
    least = {}
    for name in tools.run("nnet3", "--list").split():
        found = [run([f"{tools.programs}/{name}", "--version"]) for _ in range(4 * repeats)]
        least[name] = tuple(map(min, zip(*found)))
    name = max(least, key=least.get)
    return name, least[name]


def excess(name, seconds, megabytes, rate, allow):
    """A sentence, if the case is beyond what it was."""
    was = WAS.get(name)
    if was is None:
        return f"waiting.py: '{name}': nothing is known of what it took"
    if seconds * rate > allow * was[0]:
        return f"waiting.py: '{name}' takes {seconds * rate:.3g} times as long as 10^9 operations of a product, " \
            f"more than {allow:.2f} times the {was[0]:.3g} of before"
    if megabytes > allow * was[1]:
        return f"waiting.py: '{name}' takes {megabytes:.0f} MB, more than {allow:.2f} times the {was[1]} of before"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release")
    parser.add_argument("--beside")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose names fit")
    parser.add_argument("--allow", type=float, default=1.5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("model", nargs="?")
    options = parser.parse_args()
    if options.check and options.model:
        parser.error("--check is for the networks that are made here")
    folders = [options.programs] + ([options.beside] if options.beside else [])
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    random.seed(1)
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        tools = Tools(options.programs, folder)
        cases = {name: case for name, case in make_cases(tools, options.model).items() if re.search(options.only, name)}
        if not cases:
            parser.error(f"--only={options.only}: there is no such case")
        print("| what | ms of a processor | of sgemm | was | MB | was | sgemm, GFLOP/s |" + (" beside, ms | MB |" if options.beside else ""))
        print("|---" * (7 + 2 * (len(folders) - 1)) + "|")
        for name, (command, often) in cases.items():
            for attempt in range(2):
                least, rate = measure(tools, folders, command, options.repeats * often)
                complaint = options.check and excess(name, *least[0], rate, options.allow)
                if not complaint:
                    break
            if complaint:
                complaints.append(complaint)
            (seconds, megabytes), was = least[0], WAS.get(name, ("–", "–"))
            beside = f" {1e3 * least[1][0]:.1f} | {least[1][1]:.0f} |" if options.beside else ""
            print(
                f"| {name} | {1e3 * seconds:.1f} | {seconds * rate:.3g} | {was[0]} | {megabytes:.0f} | {was[1]} | {rate:.0f} |{beside}",
                flush=True,
            )
        if "start-up" in cases:
            for attempt in range(2):
                rate, (name, took) = tools.product_rate(), slowest_start(tools, options.repeats)
                complaint = options.check and excess(SLOWEST, *took, rate, options.allow)
                if not complaint:
                    break
            if complaint:
                complaints.append(f"{complaint} ({name})")
            print(f"\nThe slowest of all programs to start is {name}: {1e3 * took[0]:.2f} ms, {took[0] * rate:.3g} of sgemm.")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
