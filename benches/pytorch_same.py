#!/usr/bin/env python3
"""Whether the networks of pytorch_compare.py are those of nnet3-benchmark: from the same parameters and inputs, outputs, and
parameters' derivatives for random output derivatives, to within single precision; without self-repair of the cells. Takes the folder of our programs and the
folder with tdnnf_train and lstmp_train (config, request.txt); needs PyTorch, no GPU.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

import pytorch_compare as theirs

SEQUENCES = 2


def matrices(text):
    """Matrices and vectors in square brackets, by the token before."""
    out = {}
    for token, body in re.findall(r"<(\w+)>\s+\[([^\]]*)\]", text):
        rows = [[float(x) for x in line.split()] for line in body.strip().split("\n")]
        out[token] = torch.tensor(rows[0] if len(rows) == 1 else rows)
    return out


def components(text):
    """Name of each component, and its matrices."""
    parts = re.split(r"<ComponentName> (\S+) ", text)
    return {name: matrices(body) for name, body in zip(parts[1::2], parts[2::2])}


def table(text):
    return {name: torch.tensor([[float(x) for x in line.split()] for line in body.strip().split("\n")])
            for name, body in re.findall(r"(\S+)\s+\[([^\]]*)\]", text)}


def written(named):
    return "".join(name + "  [\n" + "\n".join(" ".join(f"{x:.9g}" for x in row) for row in m.tolist()) + " ]\n"
                   for name, m in named.items())


def layers(model):
    """Our name of each layer of a network, with the matrices of its parameters here, those of <LinearParams> or <Params> first."""
    def affine(layer):
        return [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
    if isinstance(model, theirs.TdnnfTrain):
        yield "lin0", affine(model.lin0)
        yield "tdnn1.affine", affine(model.tdnn1)
        for k, layer in enumerate([*model.lower, *model.upper]):
            yield f"tdnnf{k + 2}.linear", affine(layer.linear)
            yield f"tdnnf{k + 2}.affine", affine(layer.affine)
        yield "prefinal-l", affine(model.prefinal)
        for name, output, part in (("chain", "output", model.chain), ("xent", "output-xent", model.xent)):
            yield f"prefinal-{name}.affine", affine(part.affine)
            yield f"prefinal-{name}.linear", affine(part.linear)
            yield f"{output}.affine", affine(part.output)
    else:
        for k, (tdnn, lstm) in enumerate([(model.tdnn1, model.lstm1), (model.tdnn2, model.lstm2)], 1):
            yield f"tdnn{k}.affine", affine(tdnn)
            yield f"lstm{k}.W_all", affine(lstm.all)
            yield f"lstm{k}.lstm_nonlin", [lstm.peepholes]
            yield f"lstm{k}.W_rp", affine(lstm.projection)
        yield "output.affine", affine(model.output)


def params(found):
    return [found[token] for token in ("LinearParams", "Params", "BiasParams")
            if token in found and found[token].numel() > 0]


def difference(a, b):
    return ((a - b).norm() / b.norm()).item()


def compare(name, model, programs, folder, work):
    def run(program, *args):
        return subprocess.run([programs / program, *args], check=True, capture_output=True, text=True, cwd=work).stdout

    config = (folder / name / "config").read_text().replace("param-stddev=0.0 bias-stddev=0.0", "")
    config = re.sub(r"(type=LstmNonlinearityComponent.*)", r"\1 self-repair-scale=0.0", config)
    (work / "config").write_text(config)
    scale = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "scale-request.py"
    request = subprocess.run([sys.executable, scale, folder / name / "request.txt", str(SEQUENCES)], check=True,
                             capture_output=True, text=True).stdout
    (work / "request").write_text(request)
    run("nnet3-init", "config", "model")
    ours = components(run("nnet3-copy", "--binary=false", "model", "-"))
    with torch.no_grad():
        for layer, own in layers(model):
            for mine, yours in zip(own, params(ours[layer]), strict=True):
                mine.copy_(yours)
    inputs = model.inputs(SEQUENCES, "cpu")
    named = dict(zip(["input", "ivector"], (x.detach().reshape(-1, x.shape[-1]) for x in inputs)))
    outputs = model(*inputs)
    names = ["output", "output-xent"][:len(outputs)]
    # So small that derivatives are not clipped on their way through time.
    derivs = [1e-3 * torch.randn_like(y) for y in outputs]
    torch.autograd.backward(outputs, derivs)
    (work / "inputs").write_text(written(named))
    (work / "derivs").write_text(written({n: d.reshape(-1, d.shape[-1]) for n, d in zip(names, derivs)}))
    run("nnet3-compute-request", "--output-derivs=ark:derivs", "--gradient=gradient", "--binary=false", "model", "request",
        "ark:inputs", "ark,t:outputs")
    found = table((work / "outputs").read_text())
    gradient = components((work / "gradient").read_text())
    worst = {"outputs": max(difference(y.reshape(-1, y.shape[-1]), found[n]) for n, y in zip(names, outputs))}
    worst["gradient"], worst["layer"] = max(
        (difference(mine.grad, yours), layer)
        for layer, own in layers(model) for mine, yours in zip(own, params(gradient[layer]), strict=True))
    count = sum(p.numel() for p in model.parameters())
    print(f"{name}: {count} parameters, relative differences {worst}")
    return worst["outputs"] < 1e-4 and worst["gradient"] < 1e-2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path, help="folder of our programs")
    parser.add_argument("cases", type=pathlib.Path, help="folder with tdnnf_train and lstmp_train")
    arguments = parser.parse_args()
    programs, folder = arguments.programs.resolve(), arguments.cases.resolve()
    torch.manual_seed(0)
    good = True
    for name, make in (("tdnnf_train", theirs.TdnnfTrain), ("lstmp_train", theirs.LstmpTrain)):
        with tempfile.TemporaryDirectory() as work:
            good &= compare(name, make(), programs, folder, pathlib.Path(work))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
