#!/usr/bin/env python3
"""Compares the training of two sets of programs over many seeds: the held-out objective of a chain2 network.

usage: seed-comparison.py [options] <reference> <ours> <misc> <examples> <heldout> <model> <folder>

<reference> and <ours> are folders with nnet3-chain-train2. All other programs come from <ours>, for both sides. <misc> is the
folder egs/misc of a chain2 system. <examples> and <heldout> are archives of merged examples, <model> is the network that
every training starts from. <folder> receives results.jsonl. A stopped comparison continues when it is started again.

  --seeds=20          trainings of each side and case; a job has --srand = 1000 seed + its number
  --cases=NAME,...    cases, by default all (below)
  --rate=0.002        learning rate of one pass, and the first one of a whole training, whose last one is a tenth of it
  --minibatches=16    minibatches of one pass, of the first part of the examples; a whole training has all parts
  --language=default  name of the language: the network's output is output-<language>
  --table             prints the table of <folder> and stops

Cases of one pass: `all` has every option of the recipe; the others lack one of them.
  plain-gradient   affine components without natural gradient, a quarter of the learning rate
  no-self-repair   rectifiers with a self-repair scale of 0; no number is random then, so the seed shuffles the minibatches
  no-max-change    neither a limit of each component nor a global one, with a tenth of the learning rate
  small-limits     every option, with a tenth of all limits of the change, so that they are enforced in every minibatch
In the last two cases, seeds differ little, so that small systematic differences show.
Cases of a whole training: all parts of the examples, one after the other, with a falling learning rate.
  whole-one-job    one job an iteration, each on the next part
  whole-two-jobs   two jobs an iteration on two parts, twice the rate; their models are averaged

The table has mean and standard deviation of the objective per frame, the difference of the means (ours - reference), its standard
error, and the difference in standard errors. Below -2, ours is worse.
"""
import json, math, os, re, statistics, subprocess, sys
from pathlib import Path

OPTIONS = {"seeds": "20", "cases": "", "rate": "0.002", "minibatches": "16", "language": "default", "table": ""}
TRAIN = (
    "--use-gpu=no --apply-deriv-weights=false --leaky-hmm-coefficient=0.1 --xent-regularize=0.1 --out-of-range-regularize=0.01 "
    "--momentum=0.0 --verbose=0"
).split()
SIDES = ("reference", "ours")
NATURAL = re.compile(r"<RankIn> .*? </NaturalGradientAffineComponent>")


def plain_gradient(text):
    text = text.replace("<NaturalGradientAffineComponent>", "<AffineComponent>")
    return NATURAL.sub("</AffineComponent>", text)


def no_self_repair(text):
    return re.sub(r"<SelfRepairScale> \S+", "<SelfRepairScale> 0", text)


def no_max_change(text):
    return re.sub(r"<MaxChange> \S+", "<MaxChange> 0", text)


def small_max_change(text):
    return re.sub(r"<MaxChange> (\S+)", lambda match: f"<MaxChange> {0.1 * float(match[1]):.6g}", text)


# Name: change of the model's text, global max-change, factor of the learning rate, jobs (0: one pass over the first part).
CASES = {
    "all": (None, 2.0, 1.0, 0),
    "plain-gradient": (plain_gradient, 2.0, 0.25, 0),
    "no-self-repair": (no_self_repair, 2.0, 1.0, 0),
    "no-max-change": (no_max_change, 0.0, 0.1, 0),
    "small-limits": (small_max_change, 0.2, 1.0, 0),
    "whole-one-job": (None, 2.0, 1.0, 1),
    "whole-two-jobs": (None, 2.0, 1.0, 2),
}


class Comparison:
    def __init__(self, options, arguments):
        reference, ours, misc, examples, heldout, model, folder = arguments
        self.programs = {"reference": Path(reference), "ours": Path(ours)}
        self.misc, self.heldout, self.model, self.folder = Path(misc), Path(heldout), Path(model), Path(folder)
        self.options, self.examples = options, Path(examples)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results = self.folder / "results.jsonl"

    def run(self, side, name, *arguments):
        """Runs a program and returns its log; a failure shows the log's end."""
        environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", PATH=f"{self.programs['ours']}:{os.environ['PATH']}")
        command = [str(self.programs[side] / name), *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stderr

    def parts(self):
        """The files of the examples' parts, of --minibatches each. The remainder is left out."""
        size = int(self.options["minibatches"])
        if not list(self.folder.glob("part.*.ark")):
            text = self.folder / "scp"
            self.run("ours", "nnet3-chain-copy-egs", f"ark:{self.examples}", f"ark,scp:{self.folder}/copied.ark,{text}")
            lines = text.read_text().splitlines()
            for part in range(len(lines) // size):
                (self.folder / "part.scp").write_text("\n".join(lines[part * size : (part + 1) * size]) + "\n")
                self.run("ours", "nnet3-chain-copy-egs", f"scp:{self.folder}/part.scp", f"ark:{self.folder}/part.{part:03}.ark")
        return sorted(self.folder.glob("part.*.ark"))

    def initial(self, case):
        change = CASES[case][0]
        if change is None:
            return self.model
        made, text = self.folder / f"initial.{case}.raw", self.folder / "initial.txt"
        if not made.exists():
            self.run("ours", "nnet3-copy", "--binary=false", self.model, text)
            text.write_text(change(text.read_text()))
            self.run("ours", "nnet3-copy", text, made)
        return made

    def train(self, side, case, seed, rate, before, part, after):
        log = self.run(
            side, "nnet3-chain-train2", *TRAIN, f"--max-param-change={CASES[case][1]}", f"--srand={seed}",
            f"nnet3-copy --learning-rate={rate:.6g} {before} - |", self.misc, f"ark:{part}", after,
        )  # fmt: skip
        enforced = re.search(r"global max-change was enforced (\S+) %", log)
        return float(enforced.group(1)) if enforced else 0.0

    def objective(self, model):
        """The held-out objective per frame of the language's output, and of its cross-entropy output."""
        language = self.options["language"]
        edits = "remove-output-nodes name=output;remove-output-nodes name=output-xent;"
        edits += "".join(f"rename-node old-name=output-{language}{end} new-name=output{end};" for end in ("", "-xent"))
        copy = f"nnet3-copy --edits='{edits}' {model} - |"
        log = self.run(
            "ours", "nnet3-chain-compute-prob", "--leaky-hmm-coefficient=0.1", "--xent-regularize=0.1", copy,
            self.misc / f"{language}.den.fst", f"ark:{self.heldout}",
        )  # fmt: skip
        found = dict(re.findall(r"Overall log-probability for '(\S+)' is (\S+) per frame", log))
        return float(found["output"]), float(found["output-xent"])

    def training(self, side, case, seed):
        """Trains once; returns the result."""
        parts, (_, _, factor, jobs) = self.parts(), CASES[case]
        rate, model, number = float(self.options["rate"]) * factor, self.initial(case), 0
        if not jobs:
            parts, jobs = parts[:1], 1
        iterations, enforced = len(parts) // jobs, []
        if case == "no-self-repair":
            shuffled = self.folder / "shuffled.ark"
            self.run("ours", "nnet3-chain-shuffle-egs", f"--srand={seed}", f"ark:{parts[0]}", f"ark:{shuffled}")
            parts = [shuffled]
        for iteration in range(iterations):
            made = []
            falling = rate * jobs * 0.1 ** (iteration / max(1, iterations - 1))
            for job in range(jobs):
                made.append(self.folder / f"{side}.{iteration % 2}.{job}.raw")
                enforced.append(self.train(side, case, 1000 * seed + number, falling, model, parts[number], made[-1]))
                number += 1
            model = self.folder / f"{side}.{iteration % 2}.raw"
            self.run("ours", "nnet3-average", *made, model)
        objective, cross_entropy = self.objective(model)
        return {
            "case": case, "side": side, "seed": seed, "objective": objective, "xent": cross_entropy,
            "enforced": statistics.mean(enforced),
        }  # fmt: skip

    def read(self):
        return [json.loads(line) for line in self.results.read_text().splitlines()] if self.results.exists() else []

    def compare(self):
        names = self.options["cases"].split(",") if self.options["cases"] else list(CASES)
        done = {(result["case"], result["side"], result["seed"]) for result in self.read()}
        for case in names:
            for seed in range(1, int(self.options["seeds"]) + 1):
                for side in SIDES:
                    if (case, side, seed) not in done:
                        result = self.training(side, case, seed)
                        with self.results.open("a") as file:
                            file.write(json.dumps(result) + "\n")

    def table(self):
        results = self.read()
        for field in ("objective", "xent", "enforced"):
            print(f"\n| {field} | seeds | reference | ours | difference | in standard errors |\n|---|---|---|---|---|---|")
            for case in dict.fromkeys(result["case"] for result in results):
                values = {side: [r[field] for r in results if r["case"] == case and r["side"] == side] for side in SIDES}
                counts = [len(values[side]) for side in SIDES]
                if min(counts) < 2:
                    continue
                mean = {side: statistics.mean(values[side]) for side in SIDES}
                spread = {side: statistics.stdev(values[side]) for side in SIDES}
                error = math.sqrt(sum(spread[side] ** 2 / len(values[side]) for side in SIDES))
                difference = mean["ours"] - mean["reference"]
                digits = max(2, 2 - math.floor(math.log10(error))) if error else 2
                cells = [f"{mean[side]:.{digits}f} ± {spread[side]:.{digits}f}" for side in SIDES]
                ratio = f"{difference / error:+.1f}" if error else "–"
                counts = str(counts[0]) if counts[0] == counts[1] else f"{counts[0]}, {counts[1]}"
                print(f"| {case} | {counts} | {cells[0]} | {cells[1]} | {difference:+.{digits}f} ± {error:.{digits}f} | {ratio} |")


def main(arguments):
    options, places = dict(OPTIONS), []
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--"):
            places.append(argument)
        elif name in options:
            options[name] = value or "true"
        else:
            print(f"seed-comparison.py: unknown option {argument}\n{__doc__}", file=sys.stderr)
            return 2
    unknown = [case for case in options["cases"].split(",") if case and case not in CASES]
    if len(places) != 7 or unknown:
        print(f"seed-comparison.py: unknown case {unknown[0]}" if unknown else __doc__, file=sys.stderr)
        return 2
    comparison = Comparison(options, places)
    if options["table"] != "true":
        comparison.compare()
    comparison.table()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
