#!/usr/bin/env python3
"""Trains scikit-learn's digits by each optimizer, and compares means over seeds with the figures of PyTorch and neon.

usage: learning-figures.py [--nnet3=PROGRAM] [--seeds=10] [--only=TEXT] <digits.csv.gz> [<working folder>]

1297 images are for training, 500 by other writers for testing: 10 epochs, minibatches of 32. For each row of the table: mean and standard
deviation of the loss on both sets and of the share of test images that are read, and below it what PyTorch or neon gave over 30, 10
or 20 seeds. A mean that is more than their standard deviation away makes the exit status 1, unless it is a better one: then it is marked.
<digits.csv.gz> is sklearn/datasets/data/digits.csv.gz of the package scikit-learn.
"""
import os, re, statistics, subprocess, sys, tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONF = os.path.join(TOP, "egs", "images", "conf")
KAIMING = "initialize name=* part=linear type=kaiming\ninitialize name=* part=bias type=constant\n"
SMALL = "initialize name=* part=linear type=gaussian stddev=.01\ninitialize name=* part=bias type=constant\ncost output=output type=binary\n"
NEON_SGD = "optimizer name=sgd type=sgd learning-rate=.1 momentum=.9\nlearn components=* optimizer=sgd\n"
# Neon's mnist_mlp has no biases: zeros that do not learn.
MNIST_MLP = NEON_SGD + SMALL + "learn components=* part=bias optimizer=none\n"
# Its multi_optimizer: biases and the last layer by rmsprop, with the same settings as in the row of that name.
RMSPROP = "rmsprop learning-rate=.002 rho=.95 epsilon=1e-6"
MULTI = NEON_SGD + SMALL + (f"optimizer name=rmsprop type={RMSPROP}\nlearn components=* part=bias optimizer=rmsprop\n"
                            "learn components=output.affine optimizer=rmsprop\n")
MAIN = ("adamw learning-rate=.005 weight-decay=.01", "cosine warm-up=.05")

# Name, network, optimizer, schedule, rules; then mean and standard deviation of train loss, test loss, test %.
ROWS = [
    ("sgd", "mlp", "sgd learning-rate=.1", "", KAIMING, (.1340, .0057, .3335, .0136, 89.81, .53)),
    ("sgd, momentum", "mlp", "sgd learning-rate=.1 momentum=.9", "", KAIMING, (.0204, .0147, .2862, .0418, 92.69, 1.11)),
    ("rmsprop", "mlp", RMSPROP, "", KAIMING, (.0614, .0086, .2743, .0157, 91.63, .57)),
    ("adagrad", "mlp", "adagrad learning-rate=.05 epsilon=1e-6", "", KAIMING, (.0378, .0062, .2527, .0158, 92.37, .46)),
    ("adadelta", "mlp", "adadelta rho=.95", "", KAIMING, (.0587, .0101, .2714, .0178, 92.00, .67)),
    ("adam", "mlp", "adam learning-rate=.002", "", KAIMING, (.0778, .0052, .2840, .0157, 91.33, .77)),
    ("adamw, cosine", "mlp", *MAIN, KAIMING, (.0635, .0040, .2723, .0114, 91.92, .58)),
    ("neon's mnist_mlp", "logits", "", "", MNIST_MLP, (.0755, .0157, .4890, .0376, 93.11, .71)),
    ("neon's multi_optimizer", "logits", "", "", MULTI, (.2582, .0128, .6203, .0231, 90.73, .48)),
    ("sgd, momentum", "conv", "sgd learning-rate=.1 momentum=.9", "", KAIMING, (.0024, .0042, .1618, .0425, 95.92, .90)),
    ("adam", "conv", "adam learning-rate=.002", "", KAIMING, (.0031, .0002, .1544, .0170, 95.72, .50)),
    ("adamw, cosine", "conv", *MAIN, KAIMING, (.0046, .0011, .1543, .0150, 95.64, .44)),
]


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--") and "=" in a)
    plain = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(plain) not in (1, 2) or set(options) - {"nnet3", "seeds", "only"}:
        sys.exit(__doc__)
    csv, seeds = os.path.abspath(plain[0]), int(options.get("seeds", 10))
    nnet3 = os.path.abspath(options.get("nnet3", os.path.join(TOP, "target", "release", "nnet3")))
    with tempfile.TemporaryDirectory() as temporary:
        folder = plain[1] if len(plain) == 2 else temporary
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        for network in ("mlp", "logits", "conv"):
            prepare(nnet3, csv, network)
        missed = [row for row in ROWS if options.get("only", "") in row[0] + " " + row[1] and not row_agrees(nnet3, row, seeds)]
    print(f"{len(missed)} rows do not agree")
    return 1 if missed else 0


def run(*command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stderr


def prepare(nnet3, csv, network):
    """Examples for a network, and the network itself."""
    image = ["--image=8x8"] if network == "conv" else []
    for name, skip, count in (("train", 0, 1297), ("test", 1297, 500)):
        run(nnet3, "csv-to-feats", f"--skip={skip}", f"--count={count}", "--scale=0.0625", *image, f"gunzip -c {csv} |",
            "ark:feats", "ark:labels")
        run(nnet3, "nnet3-get-egs-simple", "input=ark:feats",
            f"output=ark:{nnet3} ali-to-post ark:labels ark:- | {nnet3} post-to-smat --dim=10 ark:- ark:- |",
            f"ark:{name}.{network}.egs")
    lines = open(os.path.join(CONF, ("conv" if network == "conv" else "mlp") + ".xconfig")).read()
    if network == "logits":
        lines = lines.replace("name=output dim=10", "name=output dim=10 include-log-softmax=false")
    open(network + ".xconfig", "w").write(lines)
    run(nnet3, "nnet3-xconfig-to-configs", f"--xconfig-file={network}.xconfig", f"--config-dir={network}.configs")
    run(nnet3, "nnet3-init", f"{network}.configs/final.config", f"{network}.0.raw")


def figures(nnet3, row, seed, valid):
    """Loss and accuracy on a set after a training."""
    name, network, optimizer, schedule, rules, _ = row
    open("rules", "w").write(rules)
    log = run(nnet3, "nnet3-fit", "--use-gpu=no", "--num-threads=1", "--num-epochs=10", "--minibatch-size=32", "--valid-every=10",
              # An epoch e is shuffled with srand + e.
              f"--srand={1 + 100 * seed}", "--rules=rules", *([f"--optimizer={optimizer}"] if optimizer else []),
              *([f"--schedule={schedule}"] if schedule else []), f"--valid=ark:{valid}.{network}.egs", f"{network}.0.raw",
              f"ark:train.{network}.egs", "final.raw")
    found = re.search(r"Epoch 10 of 10: .* valid loss ([\d.e-]+), accuracy ([\d.e-]+)", log)
    return float(found[1]), 100 * float(found[2])


def row_agrees(nnet3, row, seeds):
    name, network, *_, expected = row
    losses, tests = [], []
    for seed in range(seeds):
        losses.append(figures(nnet3, row, seed, "train")[0])
        tests.append(figures(nnet3, row, seed, "test"))
    columns = [losses, [loss for loss, _ in tests], [share for _, share in tests]]
    ours, verdicts = [], []
    for k, column in enumerate(columns):
        mean, deviation = statistics.mean(column), statistics.stdev(column) if seeds > 1 else 0.0
        digits = 2 if k == 2 else 4
        ours.append(f"{mean:.{digits}f} ± {deviation:.{digits}f}")
        off = (mean - expected[2 * k]) / expected[2 * k + 1]
        better = off > 0 if k == 2 else off < 0
        verdicts.append(f"{off:+.2f} sd" + ("" if abs(off) <= 1 else " (better)" if better else " (WORSE)"))
    theirs = [f"{expected[2 * k]:.{2 if k == 2 else 4}f} ± {expected[2 * k + 1]:.{2 if k == 2 else 4}f}" for k in range(3)]
    print(f"{network:7}{name:26}" + "".join(f"{figure:>20}" for figure in ours))
    print(f"{'':33}" + "".join(f"{figure:>20}" for figure in theirs))
    print(f"{'':33}" + "".join(f"{verdict:>20}" for verdict in verdicts), flush=True)
    return not any("WORSE" in verdict for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
