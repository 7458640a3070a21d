#!/usr/bin/env bash
# onnx.reference computes graphs slowly and, by its name, as the standard says. Of recurrent layers it ignores the lengths of the sequences,
# other activations, clip and input_forget: padding frames change the last state of a short utterance, and an LSTM of HardSigmoid is one of
# Sigmoid. Softmax of a graph before opset 13 is normalised over one axis instead of over all from it on. The model is valid, and nothing warns.
# Seen with onnx 1.23.2 beside onnxruntime 1.32.0, numpy 2.2.6 on Python 3.11 (x86_64), two sequences of 4 and 2 frames in a batch of 4:
#                               onnxruntime       onnx.reference
#   LSTM, last states           0.476 and 0.309   0.476 and 0.476
#   LSTM of HardSigmoid         0.423             0.476
#   LSTM with clip 0.1          0.053             0.476
#   Softmax of 2 by 3 zeros     6 times 1/6       6 times 1/2
# Consequence: an export that is checked against it alone may be wrong, or may be right and look wrong. Check with a runtime too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator


def compare(name, node, x, constants, opset=14):
    rank = x.ndim
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", 1, x.shape)],
        [helper.make_tensor_value_info("y", 1, [None] * rank)],
        [onnx.numpy_helper.from_array(value, key) for key, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    reference = ReferenceEvaluator(model).run(None, {"x": x})[0]
    print(f"{name:22}", *(" ".join(f"{value:.3f}" for value in np.ravel(result)) for result in (run, reference)), sep=" | ")


frames = np.ones((4, 2, 1), "float32")
for layer, gates, activations in (("LSTM", 4, ["HardSigmoid", "Tanh", "Tanh"]), ("GRU", 3, ["HardSigmoid", "Tanh"])):
    weights = {"w": np.full((1, gates, 1), 0.5, "float32")}
    lengths = {"n": np.array([4, 2], "int32")}
    inputs = ["x", "w", "w"]
    state = ["", "y"]
    compare(f"{layer} plain", helper.make_node(layer, inputs, state, hidden_size=1), frames, weights)
    compare(f"{layer} lengths 4, 2", helper.make_node(layer, [*inputs, "", "n"], state, hidden_size=1), frames, weights | lengths)
    compare(f"{layer} HardSigmoid", helper.make_node(layer, inputs, state, hidden_size=1, activations=activations), frames, weights)
    compare(f"{layer} clip", helper.make_node(layer, inputs, state, hidden_size=1, clip=0.1), frames, weights)
compare("Softmax", helper.make_node("Softmax", ["x"], ["y"], axis=1), np.zeros((1, 2, 3), "float32"), {}, opset=11)
PYTHON
diff seen - <<'EXPECTED'
LSTM plain             | 0.476 0.476 | 0.476 0.476
LSTM lengths 4, 2      | 0.476 0.309 | 0.476 0.476
LSTM HardSigmoid       | 0.423 0.423 | 0.476 0.476
LSTM clip              | 0.053 0.053 | 0.476 0.476
GRU plain              | 0.436 0.436 | 0.436 0.436
GRU lengths 4, 2       | 0.436 0.293 | 0.436 0.436
GRU HardSigmoid        | 0.450 0.450 | 0.436 0.436
GRU clip               | 0.092 0.092 | 0.436 0.436
Softmax                | 0.167 0.167 0.167 0.167 0.167 0.167 | 0.500 0.500 0.500 0.500 0.500 0.500
EXPECTED
echo "as stated"
