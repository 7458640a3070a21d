#!/usr/bin/env python3
"""Kills trainings by nnet3-fit at random moments and resumes them: the last model must have the bytes of one that was left alone.

usage: test-fit-resume.py [--kills=50] [--seed=1] [--nnet3=PROGRAM] [<working folder>]

Half of the kills are SIGKILL, half SIGTERM, five to a training; trainings take turns in rules with and without state, schedules,
running averages, accumulation, random components, replicas, data in memory and not. Ends with the line `N passed, N failed`, and exit status
1 if a training failed.
"""
import math, os, random, shutil, signal, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KILLS_OF_A_TRAINING = 5

CONFIG = """\
input-node name=input dim=2
component name=a.affine type=NaturalGradientAffineComponent input-dim=2 output-dim=24
component-node name=a.affine component=a.affine input=input
component name=a.relu type=RectifiedLinearComponent dim=24 self-repair-scale=1e-3
component-node name=a.relu component=a.relu input=a.affine
component name=a.norm type=BatchNormComponent dim=24
component-node name=a.norm component=a.norm input=a.relu
component name=a.dropout type=DropoutComponent dim=24 dropout-proportion=0.2
component-node name=a.dropout component=a.dropout input=a.norm
component name=b.linear type=LinearComponent input-dim=24 output-dim=8 orthonormal-constraint=-1.0
component-node name=b.linear component=b.linear input=a.dropout
component name=b.scale type=ScaleAndOffsetComponent dim=8
component-node name=b.scale component=b.scale input=b.linear
component name=b.sigmoid type=SigmoidComponent dim=8
component-node name=b.sigmoid component=b.sigmoid input=b.scale
component name=o.affine type=NaturalGradientAffineComponent input-dim=8 output-dim=3
component-node name=o.affine component=o.affine input=b.sigmoid
component name=o.softmax type=LogSoftmaxComponent dim=3
component-node name=o.softmax component=o.softmax input=o.affine
output-node name=output input=o.softmax
"""

MIXED = """\
optimizer name=main type=adamw learning-rate=.02 weight-decay=.01
optimizer name=ng type=kaldi learning-rate=.005 momentum=.5
learn components=* optimizer=main
learn components=* part=bias weight-decay=0
learn components=o.* optimizer=ng
schedule optimizer=main type=cosine warm-up=.1
clip norm=1
initialize name=*.affine type=kaiming
"""

# Options of each training.
TRAININGS = [
    ["--rules=mixed.rules", "--average=decay=.99 warm-up=true", "--accumulate=3"],
    ["--optimizer=kaldi", "--momentum=0.9", "--schedule=exponential final-factor=.1"],
    ["--optimizer=kaldi", "--backstitch-training-scale=0.3", "--backstitch-training-interval=4"],
    ["--optimizer=sgd learning-rate=.1 momentum=.9 nesterov=true", "--schedule=plateau factor=.5 patience=1"],
    ["--optimizer=muon", "--schedule=linear warm-up=.2", "--zero-component-stats=false"],
    ["--optimizer=adam learning-rate=.01 precondition=true", "--in-memory=0"],
    ["--optimizer=adadelta learning-rate=10", "--minibatch-size=16,8"],
    ["--optimizer=rmsprop", "--shuffle=false", "--checkpoint-every=3"],
    ["--optimizer=adagrad learning-rate=.1", "--clip-value=.1", "--average=decay=.9"],
    ["--optimizer=lion learning-rate=.001", "--normalize=sequences", "--num-threads=2"],
    ["--rules=mixed.rules", "--average=decay=.99", "--accumulate=2", "--num-replicas=3", "--average-period=4"],
    ["--optimizer=kaldi", "--momentum=0.9", "--num-replicas=2"],
]


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--") and "=" in a)
    plain = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(plain) > 1 or set(options) - {"kills", "seed", "nnet3"}:
        sys.exit(__doc__)
    nnet3 = os.path.abspath(options.get("nnet3", os.path.join(TOP, "target", "debug", "nnet3")))
    draw = random.Random(int(options.get("seed", 1)))
    left, failed, passed, number = int(options.get("kills", 50)), 0, 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = plain[0] if plain else temporary
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        prepare(nnet3)
        while left > 0:
            kills = min(left, KILLS_OF_A_TRAINING)
            problem, kills = training(nnet3, TRAININGS[number % len(TRAININGS)], number, kills, draw)
            passed, failed = passed + (problem is None), failed + (problem is not None)
            print(f"{' '.join(TRAININGS[number % len(TRAININGS)])}: {problem or f'the same bytes after {kills} kills'}", flush=True)
            left, number = left - kills, number + 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run(*command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")


def prepare(nnet3):
    """A network, and examples: in which third of a circle is a point?"""
    open("config", "w").write(CONFIG)
    open("mixed.rules", "w").write(MIXED)
    run(nnet3, "nnet3-init", "--srand=3", "config", "0.raw")
    with open("points.csv", "w") as points:
        for t in range(1200):
            angle = (t * 7919 % 1000) / 1000
            points.write(f"{math.cos(math.tau * angle):.6f},{math.sin(math.tau * angle):.6f},{int(angle * 3)}\n")
    run(nnet3, "csv-to-feats", "points.csv", "ark:feats", "ark:labels")
    run(nnet3, "nnet3-get-egs-simple", "input=ark:feats",
        f"output=ark:{nnet3} ali-to-post ark:labels ark:- | {nnet3} post-to-smat --dim=3 ark:- ark:- |", "ark:egs")


def command(nnet3, options, name, seed, *more):
    return [nnet3, "nnet3-fit", "--use-gpu=no", "--num-epochs=12", "--minibatch-size=8", f"--srand={seed}",
            "--valid=ark:egs", "--checkpoint-minibatches=11", *options, *more, f"--checkpoint-dir={name}", "0.raw", "ark:egs",
            f"{name}.raw"]


def training(nnet3, options, number, kills, draw):
    """None, or what is wrong; and the number of kills: fewer if it ended before one, as when other work has slowed down the first run."""
    for name in ("whole", "killed"):
        shutil.rmtree(name, ignore_errors=True)
    began = time.monotonic()
    run(*command(nnet3, options, "whole", number))
    duration = time.monotonic() - began
    done = 0
    while done < kills:
        process = subprocess.Popen(command(nnet3, options, "killed", number, "--resume=true"), stderr=subprocess.PIPE, text=True)
        # On the whole the kills go through the training; the last ones come early enough to be kills.
        time.sleep(draw.uniform(0, 1.3 * duration / kills))
        sent = signal.SIGKILL if done % 2 == 0 else signal.SIGTERM
        process.send_signal(sent)
        errors = process.communicate()[1]
        if process.returncode == 0:
            break
        if process.returncode not in (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM):
            return f"status {process.returncode} after signal {sent}: {errors}", done
        done += 1
    run(*command(nnet3, options, "killed", number, "--resume=true"))
    if open("whole.raw", "rb").read() != open("killed.raw", "rb").read():
        return "other bytes", done
    events = [strip_times(os.path.join(name, "events.jsonl")) for name in ("whole", "killed")]
    return None if events[0] == events[1] else "other events", done


def strip_times(path):
    import json
    events = [json.loads(line) for line in open(path)]
    for event in events:
        event.pop("seconds")
    return events


if __name__ == "__main__":
    sys.exit(main())
