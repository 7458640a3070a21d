#!/usr/bin/env python3
"""The networks tdnnf_train and lstmp_train in PyTorch: time of forward and backward, to be set beside nnet3-benchmark's.

Same layers, same numbers of frames as the compiled computations, derivatives for inputs and parameters, no update. Prints a
JSON object a line: case, sequences, math, mode (eager or compiled), seconds (median), output frames per second; first the
device's rate for a large matrix product of each kind of math.
"""
import argparse
import json
import statistics
import sys

import torch
import torch.nn.functional as F
from torch import nn


def batchnorm(x):
    flat = x.reshape(-1, x.shape[-1])
    return F.batch_norm(flat, None, None, training=True, eps=1e-3).reshape(x.shape)


def spliced(x, *offsets):
    """Frames x[t + offset] side by side, for each t where all of them exist (offsets ascending, the first <= 0)."""
    length = x.shape[1] - offsets[-1] + offsets[0]
    parts = [x[:, o - offsets[0]:o - offsets[0] + length] for o in offsets]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 2)


class Tdnnf(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step = step
        width = 2 if step else 1
        self.linear = nn.Linear(1024 * width, 128, bias=False)
        self.affine = nn.Linear(128 * width, 1024)

    def forward(self, x):
        s = self.step
        y = self.linear(spliced(x, -s, 0) if s else x)
        y = self.affine(spliced(y, 0, s) if s else y)
        return 0.66 * x[:, s:x.shape[1] - s] + batchnorm(F.relu(y))


class EveryThird(Tdnnf):
    """A layer with a step of one frame whose output is wanted at every third frame only."""

    def __init__(self):
        super().__init__(1)

    def forward(self, x):
        before, at, after = x[:, :-2:3], x[:, 1:-1:3], x[:, 2::3]
        y, next_y = self.linear(torch.stack([torch.cat([before, at], 2), torch.cat([at, after], 2)]))
        return 0.66 * at + batchnorm(F.relu(self.affine(torch.cat([y, next_y], 2))))


class Prefinal(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(128, 1024)
        self.linear = nn.Linear(1024, 128, bias=False)
        self.output = nn.Linear(128, 3000)

    def forward(self, x):
        return self.output(batchnorm(self.linear(batchnorm(F.relu(self.affine(x))))))


class TdnnfTrain(nn.Module):
    """40 features and an i-vector of 100; 174 frames in, 50 out at every third."""
    frames_in, frames_out = 174, 50

    def __init__(self):
        super().__init__()
        self.lin0 = nn.Linear(220, 1024, bias=False)
        self.tdnn1 = nn.Linear(1024, 1024)
        self.lower = nn.ModuleList([Tdnnf(1), EveryThird()])
        # At every third frame a step of one is three frames.
        self.upper = nn.ModuleList([Tdnnf(0), Tdnnf(1), Tdnnf(1), Tdnnf(1)])
        self.prefinal = nn.Linear(1024, 128, bias=False)
        self.chain, self.xent = Prefinal(), Prefinal()

    def inputs(self, n, device):
        return [torch.randn(n, self.frames_in, 40, device=device, requires_grad=True),
                torch.randn(n, 100, device=device, requires_grad=True)]

    def forward(self, x, ivector):
        # Nothing depends on the last two frames.
        x = spliced(x[:, :-2], -1, 0, 1)
        x = torch.cat([x, ivector[:, None].expand(-1, x.shape[1], -1)], 2)
        x = batchnorm(F.relu(self.tdnn1(self.lin0(x))))
        for layer in self.lower:
            x = layer(x)
        for layer in self.upper:
            x = layer(x)
        x = self.prefinal(x)
        return [self.chain(x), F.log_softmax(self.xent(x), 2)]


class Lstmp(nn.Module):
    """512 cells with peepholes, 256 projected of which 128 recur, three frames back: three frames a step."""

    def __init__(self):
        super().__init__()
        self.all = nn.Linear(640, 2048)
        self.peepholes = nn.Parameter(torch.randn(3, 512) * 0.1)
        self.projection = nn.Linear(512, 256)

    def forward(self, x):
        n, frames, _ = x.shape
        c = x.new_zeros(n, 3, 512)
        r = x.new_zeros(n, 3, 128)
        w_i, w_f, w_o = self.peepholes
        out = []
        for t in range(0, frames, 3):
            now = x[:, t:t + 3]
            k = now.shape[1]
            i, f, g, o = self.all(torch.cat([now, r[:, :k]], 2)).chunk(4, 2)
            previous = c[:, :k]
            i, f = torch.sigmoid(i + w_i * previous), torch.sigmoid(f + w_f * previous)
            c = f * previous + i * torch.tanh(g)
            m = torch.sigmoid(o + w_o * c) * torch.tanh(c)
            rp = self.projection(m)
            r = rp[:, :, :128]
            out.append(rp)
        return torch.cat(out, 1)


class LstmpTrain(nn.Module):
    """40 features; 30 frames in, 20 out."""
    frames_in, frames_out = 30, 20

    def __init__(self):
        super().__init__()
        self.tdnn1, self.tdnn2 = nn.Linear(200, 512), nn.Linear(768, 512)
        self.lstm1, self.lstm2 = Lstmp(), Lstmp()
        self.output = nn.Linear(256, 3000)

    def inputs(self, n, device):
        return [torch.randn(n, self.frames_in, 40, device=device, requires_grad=True)]

    def forward(self, x):
        x = self.lstm1(batchnorm(F.relu(self.tdnn1(spliced(x, -2, -1, 0, 1, 2)))))
        x = self.lstm2(batchnorm(F.relu(self.tdnn2(spliced(x, -3, 0, 3)))))
        return [F.log_softmax(self.output(x), 2)]


def median_time(run, device, repeats):
    times = []
    for k in range(repeats + 3):
        if device == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            seconds = begin.elapsed_time(end) / 1000
        else:
            import time
            started = time.perf_counter()
            run()
            seconds = time.perf_counter() - started
        if k >= 3:
            times.append(seconds)
    return statistics.median(times)


def set_math(math):
    torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
    torch.backends.cudnn.allow_tf32 = math == "tf32"


def gemm_rate(math, device, size):
    set_math(math)
    kind = torch.bfloat16 if math == "bf16" else torch.float32
    a, b = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    return 2 * size ** 3 / median_time(lambda: a @ b, device, 10)


def measure(model, n, math, device, repeats):
    set_math(math)
    inputs = model.inputs(n, device)
    with torch.autocast(device, torch.bfloat16, enabled=math == "bf16"):
        gradients = [torch.randn_like(y) for y in model(*inputs)]

    def run():
        model.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=math == "bf16"):
            outputs = model(*inputs)
        torch.autograd.backward(outputs, gradients)

    return median_time(run, device, repeats)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sequences", type=int, nargs="*", default=[128, 512])
    parser.add_argument("--math", nargs="*", default=["fp32", "tf32", "bf16"])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--eager-only", action="store_true", help="without torch.compile")
    parser.add_argument("--compiled-only", action="store_true", help="only with torch.compile")
    parser.add_argument("--gemm-size", type=int, default=8192)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("pytorch_compare.py: PyTorch sees no GPU")
    modes = [mode for mode, other in (("eager", options.compiled_only), ("compiled", options.eager_only)) if not other]
    for math in options.math:
        rate = gemm_rate(math, options.device, options.gemm_size)
        print(json.dumps({"gemm": math, "size": options.gemm_size, "tflops": round(rate / 1e12, 3)}), flush=True)
    for make in (TdnnfTrain, LstmpTrain):
        for mode in modes:
            for n in options.sequences:
                for math in options.math:
                    torch.manual_seed(0)
                    torch._dynamo.reset()
                    model = make().to(options.device)
                    run = torch.compile(model) if mode == "compiled" else model
                    # A compiled module passes attributes on.
                    seconds = measure(run, n, math, options.device, options.repeats)
                    frames = n * make.frames_out / seconds
                    case = "tdnnf_train" if make is TdnnfTrain else "lstmp_train"
                    print(json.dumps({"case": case, "sequences": n, "math": math, "mode": mode,
                                      "seconds": round(seconds, 6), "frames_per_second": round(frames)}), flush=True)


if __name__ == "__main__":
    main()
