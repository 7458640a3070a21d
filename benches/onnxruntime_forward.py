#!/usr/bin/env python3
"""Forward time of one TDNN here and in onnxruntime, one thread each, in turns.

    pip install numpy onnx onnxruntime
    benches/onnxruntime_forward.py [--programs=target/release] [--rounds=5] [--sequences=16] [--frames=64]

Makes a network of six layers of 1024 and 3000 outputs (affine, ReLU, log-softmax), writes its weights as two ONNX models
(convolutions with dilation; products of concatenated slices), checks that outputs agree, and prints one JSON object: median
seconds of processor time of this thread, the better model of onnxruntime, and the ratio. OpenBLAS chooses its kernels by
the processor, as onnxruntime does (OPENBLAS_CORETYPE is taken out of the environment).
"""

import argparse
import json
import os
import re
import statistics
import struct
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OFFSETS = [(-2, -1, 0, 1, 2), (-1, 0, 1), (-3, 0, 3), (-3, 0, 3), (-3, 0, 3), (0,)]
INPUT_DIM, HIDDEN, OUTPUTS = 40, 1024, 3000


def config():
    """The network's config lines, and (input dimension, output dimension, offsets) of each affine component."""
    lines, layers, below, dim = [f"input-node name=input dim={INPUT_DIM}"], [], "input", INPUT_DIM
    for i, offsets in enumerate([*OFFSETS, (0,)]):
        last = i == len(OFFSETS)
        out = OUTPUTS if last else HIDDEN
        spliced = ", ".join(f"Offset({below}, {o})" for o in offsets)
        lines += [
            f"component name=affine{i} type=AffineComponent input-dim={dim * len(offsets)} output-dim={out}",
            f"component-node name=affine{i} component=affine{i} input=Append({spliced})",
            f"component name=top{i} type={'LogSoftmax' if last else 'RectifiedLinear'}Component dim={out}",
            f"component-node name=top{i} component=top{i} input=affine{i}",
        ]
        layers.append((dim, out, offsets))
        below, dim = f"top{i}", out
    return "\n".join([*lines, f"output-node name=output input={below}"]) + "\n", layers


def parameters(text, layers):
    """Weights (outputs x spliced inputs) and biases of the affine components in a model's text form."""
    numbers = lambda s: np.array(s.replace("\n", " ").split(), dtype=np.float32)
    found = re.findall(r"<LinearParams>\s*\[(.*?)\]\s*<BiasParams>\s*\[(.*?)\]", text, re.S)
    assert len(found) == len(layers)
    return [
        (numbers(w).reshape(out, dim * len(offsets)), numbers(b))
        for (w, b), (dim, out, offsets) in zip(found, layers)
    ]


def as_convolutions(layers, weights, shape):
    """Sequences x dimensions x time."""
    nodes, tensors, below = [], [], "x"
    for i, ((dim, out, offsets), (w, b)) in enumerate(zip(layers, weights)):
        dilation = offsets[1] - offsets[0] if len(offsets) > 1 else 1
        kernel = w.reshape(out, len(offsets), dim).transpose(0, 2, 1)
        tensors += [numpy_helper.from_array(np.ascontiguousarray(kernel), f"w{i}"), numpy_helper.from_array(b, f"b{i}")]
        nodes.append(helper.make_node("Conv", [below, f"w{i}", f"b{i}"], [f"a{i}"], dilations=[dilation]))
        below = f"y{i}"
        last = i + 1 == len(layers)
        kind = {"axis": 1} if last else {}
        nodes.append(helper.make_node("LogSoftmax" if last else "Relu", [f"a{i}"], [below], **kind))
    return model(nodes, tensors, [shape[0], shape[2], shape[1]], below)


def as_products(layers, weights, shape):
    """Time x sequences x dimensions: a slice for each offset, concatenated, one product."""
    nodes, tensors, below, frames = [], [], "x", shape[1]
    for i, ((dim, out, offsets), (w, b)) in enumerate(zip(layers, weights)):
        span = offsets[-1] - offsets[0]
        parts = []
        for k, offset in enumerate(offsets):
            if span == 0:
                parts.append(below)
                continue
            first = offset - offsets[0]
            for name, value in (("s", first), ("e", first + frames - span), ("z", 0)):
                tensors.append(numpy_helper.from_array(np.array([value], dtype=np.int64), f"{name}{i}_{k}"))
            parts.append(f"p{i}_{k}")
            nodes.append(helper.make_node("Slice", [below, f"s{i}_{k}", f"e{i}_{k}", f"z{i}_{k}"], [parts[-1]]))
        frames -= span
        spliced = parts[0]
        if len(parts) > 1:
            spliced = f"c{i}"
            nodes.append(helper.make_node("Concat", parts, [spliced], axis=2))
        tensors += [numpy_helper.from_array(np.ascontiguousarray(w.T), f"w{i}"), numpy_helper.from_array(b, f"b{i}")]
        nodes.append(helper.make_node("MatMul", [spliced, f"w{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]))
        below = f"y{i}"
        last = i + 1 == len(layers)
        kind = {"axis": 2} if last else {}
        nodes.append(helper.make_node("LogSoftmax" if last else "Relu", [f"a{i}"], [below], **kind))
    return model(nodes, tensors, [shape[1], shape[0], shape[2]], below)


def model(nodes, tensors, shape, output):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info(output, TensorProto.FLOAT, [None] * 3)
    graph = helper.make_graph(nodes, "tdnn", [x], [y], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    onnx.checker.check_model(made)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def request(sequences, first, last, frames):
    """The text form of the request; all indexes sequence by sequence."""

    def node(name, times):
        indexes = " ".join(f"<I1> {n} {t} 0" for n in range(sequences) for t in times)
        size = sequences * len(times)
        return f"<IoSpecification> \n{name} <NumIndexes> {size} <Indexes> <I1V> {size} {indexes} <HasDeriv> F \n</IoSpecification> \n"

    return (
        f"<ComputationRequest> \n<NumInputs> 1 \n<Inputs> {node('input', range(first, last + frames))}"
        f"\n<NumOutputs> 1 \n<Outputs> {node('output', range(frames))}"
        "\n<NeedModelDerivative> F <StoreComponentStats> F </ComputationRequest> \n"
    )


def write_archive(path, key, matrix):
    with open(path, "wb") as out:
        out.write(key.encode() + b" \0BFM \4" + struct.pack("<i", matrix.shape[0]))
        out.write(b"\4" + struct.pack("<i", matrix.shape[1]) + matrix.astype("<f4").tobytes())


def read_archive(path):
    data = open(path, "rb").read()
    start = data.index(b" \0BFM ") + 6
    rows, cols = struct.unpack("<i", data[start + 1 : start + 5])[0], struct.unpack("<i", data[start + 6 : start + 10])[0]
    return np.frombuffer(data, "<f4", rows * cols, start + 10).reshape(rows, cols)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--frames", type=int, default=64)
    options = parser.parse_args()
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}

    def program(name, *arguments):
        command = [os.path.join(options.programs, name), *arguments]
        return subprocess.run(
            command, check=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ).stdout.decode()

    text, layers = config()
    left, right = (sum(f(o) for *_, o in layers) for f in (min, max))
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        open(path("config"), "w").write(text)
        open(path("request"), "w").write(request(options.sequences, left, right, options.frames))
        program("nnet3-init", "--binary=false", path("config"), path("model"))
        weights = parameters(open(path("model")).read(), layers)
        shape = (options.sequences, options.frames + right - left, INPUT_DIM)
        x = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
        write_archive(path("in"), "input", x.reshape(-1, INPUT_DIM))
        program("nnet3-compute-request", path("model"), path("request"), f"ark:{path('in')}", f"ark:{path('out')}")
        ours = read_archive(path("out")).reshape(options.sequences, options.frames, OUTPUTS)

        sessions = {}
        for name, make, to, back in [
            ("convolutions", as_convolutions, (0, 2, 1), (0, 2, 1)),
            ("products", as_products, (1, 0, 2), (1, 0, 2)),
        ]:
            session = make(layers, weights, shape)
            given = np.ascontiguousarray(x.transpose(to))
            theirs = session.run(None, {"x": given})[0].transpose(back)
            difference = float(np.abs(ours - theirs).max())
            assert difference < 1e-3 * float(np.abs(ours).max()), f"{name}: outputs differ by {difference}"
            sessions[name] = (session, given)
        seconds = {name: [] for name in [*sessions, "nnet3"]}
        for _ in range(options.rounds):
            for name, (session, given) in sessions.items():
                for _ in range(3):
                    start = time.thread_time()
                    session.run(None, {"x": given})
                    seconds[name].append(time.thread_time() - start)
            measured = json.loads(program("nnet3-benchmark", "--repeats=1", path("model"), path("request")))
            seconds["nnet3"].append(measured["forward_s"])
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    best = min(medians[name] for name in sessions)
    print(
        json.dumps(
            {
                "nnet3_s": medians["nnet3"],
                "onnxruntime_s": best,
                "onnxruntime_convolutions_s": medians["convolutions"],
                "onnxruntime_products_s": medians["products"],
                "onnxruntime_by_nnet3": best / medians["nnet3"],
                "onnxruntime_version": onnxruntime.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
