#!/usr/bin/env python3
"""Processor time of whole trainings, in turns, one thread each: nnet3-fit, nnet3-train (natural gradient) and PyTorch.

usage: pytorch_learning.py [--nnet3=PROGRAM] [--turns=5] [--python=PYTHON] [--only=digits|chars] <digits.csv.gz> [<text>]

Digits: 8 x 8 pixels, 1297 images, two layers of convolutions, minibatches of 32, 10 epochs. Characters: an LSTM of 128 cells on windows of
20 + 50 of <text> (egs/chars/text/train.txt), minibatches of 16, one epoch. Medians of processor time in seconds, and their ratios. Of
PyTorch only the training is counted, in a process of its own, of ours the whole process. PYTHON has torch and numpy; if it has not,
only ours are measured.
"""
import gzip, os, resource, statistics, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EPOCHS = {"digits": 10, "chars": 1}
ADAM = "adam learning-rate=.002"
SGD = "sgd learning-rate=.1 momentum=.9"


# ---- PyTorch, in a process of its own -------------------------------------------------------------------------------

def torch_digits(csv, optimizer):
    import numpy as np
    import torch
    from torch import nn
    data = np.loadtxt(gzip.open(csv), delimiter=",")[:1297]
    x = torch.tensor(data[:, :64] / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    y = torch.tensor(data[:, 64], dtype=torch.int64)
    norm = lambda kind, dim: kind(dim, eps=1e-3, momentum=0.2, affine=False)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), norm(nn.BatchNorm2d, 16),
                        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), norm(nn.BatchNorm2d, 32), nn.Flatten(),
                        nn.Linear(512, 64), nn.ReLU(), norm(nn.BatchNorm1d, 64), nn.Linear(64, 10))
    steps = optimizer(net.parameters())

    def epoch():
        for rows in torch.randperm(len(x)).split(32):
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
            steps.zero_grad()
            loss.backward()
            steps.step()
    return epoch


def torch_chars(text, optimizer):
    import torch
    from torch import nn
    text = open(text).read()
    symbols = {c: k for k, c in enumerate(sorted(set(text)))}
    codes = torch.tensor([symbols[c] for c in text])
    dim = len(symbols)
    starts = torch.arange(0, len(codes) - 70, 50)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.out = nn.LSTM(dim, 128, batch_first=True), nn.Linear(128, dim)

        def forward(self, x):
            return self.out(self.lstm(x)[0][:, 20:])
    net = Net()
    steps = optimizer(net.parameters())

    def epoch():
        for begin in starts[torch.randperm(len(starts))].split(16):
            window = codes[begin[:, None] + torch.arange(71)]
            x = nn.functional.one_hot(window[:, :70], dim).float()
            loss = nn.functional.cross_entropy(net(x).reshape(-1, dim), window[:, 21:].reshape(-1))
            steps.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            steps.step()
    return epoch


def torch_training(task, file, kind):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    optimizer = {"sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, 0.002)}[kind]
    epoch = {"digits": torch_digits, "chars": torch_chars}[task](file, optimizer)
    began = time.process_time()
    for _ in range(EPOCHS[task]):
        epoch()
    print(time.process_time() - began)


# ---- ours ------------------------------------------------------------------------------------------------------------

def run(*command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1:]}")


def prepare(nnet3, task, file):
    """Examples `egs`, all minibatches of all epochs `merged`, and a network `0.raw`."""
    conf = os.path.join(TOP, "egs", {"digits": "images", "chars": "chars"}[task], "conf")
    if task == "digits":
        xconfig = open(os.path.join(conf, "conv.xconfig")).read()
        run(nnet3, "csv-to-feats", "--count=1297", "--scale=0.0625", "--image=8x8", f"gunzip -c {file} |", "ark:in", "ark:labels")
        inputs, dim, size = "ark:in", 10, 32
        targets = f"ark:{nnet3} ali-to-post ark:labels ark:- | {nnet3} post-to-smat --dim={dim} ark:- ark:- |"
    else:
        run(nnet3, "text-to-ali", "--vocab-out=vocab", file, "ark:in", "ark:post")
        dim, size = len(open("vocab").read().splitlines()), 16
        xconfig = open(os.path.join(conf, "lstm.xconfig")).read().replace("DIM", str(dim))
        inputs = f"ark:{nnet3} ali-to-post ark:in ark:- | {nnet3} post-to-smat --dim={dim} ark:- ark:- |"
        targets = f"ark:{nnet3} post-to-smat --dim={dim} ark:post ark:- |"
    run(nnet3, "nnet3-get-egs-simple", f"input={inputs}", f"output={targets}", "ark:egs")
    open("xconfig", "w").write(xconfig)
    run(nnet3, "nnet3-xconfig-to-configs", "--xconfig-file=xconfig", "--config-dir=configs")
    run(nnet3, "nnet3-init", "configs/final.config", "0.raw")
    with open("merged", "wb") as merged:
        for epoch in range(EPOCHS[task]):
            run(nnet3, "nnet3-merge-egs", f"--minibatch-size=1:{size}", f"ark:{nnet3} nnet3-shuffle-egs --srand={epoch} ark:egs ark:- |",
                "ark:part")
            merged.write(open("part", "rb").read())
    return size


def commands(nnet3, task, size):
    fit = [nnet3, "nnet3-fit", "--use-gpu=no", "--num-threads=1", f"--num-epochs={EPOCHS[task]}", f"--minibatch-size={size}"]
    files = ["0.raw", "ark:egs", "out.raw"]
    clip = ["--clip-norm=1"] if task == "chars" else []
    return {
        "nnet3-train": [nnet3, "nnet3-train", "--use-gpu=no", "--num-threads=1", "0.raw", "ark:merged", "out.raw"],
        "fit, kaldi": [*fit, *files],
        "fit, sgd": [*fit, f"--optimizer={SGD}", *clip, *files],
        "fit, adam": [*fit, f"--optimizer={ADAM}", *clip, *files],
    }


def processor_time(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    if sys.argv[1:2] == ["--torch"]:
        return torch_training(*sys.argv[2:])
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--") and "=" in a)
    plain = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(plain) not in (1, 2) or set(options) - {"nnet3", "turns", "python", "only"}:
        sys.exit(__doc__)
    nnet3 = os.path.abspath(options.get("nnet3", os.path.join(TOP, "target", "release", "nnet3")))
    python, turns = options.get("python", "/usr/bin/python3"), int(options.get("turns", 5))
    files = {"digits": os.path.abspath(plain[0]),
             "chars": os.path.abspath(plain[1] if len(plain) > 1 else os.path.join(TOP, "egs", "chars", "text", "train.txt"))}
    has_torch = subprocess.run([python, "-c", "import torch, numpy"], stderr=subprocess.DEVNULL).returncode == 0
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    script = os.path.abspath(__file__)
    for task in [task for task in files if options.get("only", task) == task]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            all_commands = commands(nnet3, task, prepare(nnet3, task, files[task]))
            times = {}
            for _ in range(turns):
                for name, command in all_commands.items():
                    times.setdefault(name, []).append(processor_time(command))
                for kind in ("sgd", "adam") if has_torch else ():
                    out = subprocess.run([python, script, "--torch", task, files[task], kind], check=True, stdout=subprocess.PIPE, text=True)
                    times.setdefault(f"PyTorch, {kind}", []).append(float(out.stdout))
            medians = {name: statistics.median(all_times) for name, all_times in times.items()}
            for name, median in medians.items():
                ratios = f"{median / medians['nnet3-train']:6.2f} x nnet3-train"
                kind = name.rpartition(", ")[2]
                if f"PyTorch, {kind}" in medians and name.startswith("fit"):
                    ratios += f"{median / medians[f'PyTorch, {kind}']:6.2f} x PyTorch"
                print(f"{task:8}{name:16}{median:8.2f} s{ratios}", flush=True)
            os.chdir(TOP)


if __name__ == "__main__":
    sys.exit(main())
