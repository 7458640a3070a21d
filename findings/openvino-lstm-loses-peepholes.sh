#!/usr/bin/env bash
# OpenVINO reads an ONNX LSTM with peepholes (the input P) and computes one without them. Seen with openvino 2026.4.1 beside onnxruntime
# 1.32.0 (Python packages, x86_64), an LSTM of one cell whose weights are 0, whose bias opens the cell, and whose output gate looks at the
# cell only:
#   onnxruntime   0.3163, as the standard's formulas: sigmoid(5 c) tanh(c), c = sigmoid(0) tanh(1)
#   OpenVINO      0.1817: sigmoid(0) tanh(c), as if P were 0
# There is no message. The importer turns P into OpenVINO's order of gates, and makes an LSTMSequence, which has no such input.
# Consequence: recurrent networks with peepholes (Kaldi's LSTMs have them) give other numbers. Written out as MatMul, Sigmoid and Tanh, step by
# step or in a Scan or Loop, they are right.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.1
cat >compare.py <<'PYTHON'
import math

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import TensorProto, helper, numpy_helper

# Gates of W, R and B are in the order input, output, forget, cell; those of P are input, output, forget.
constants = {"W": np.zeros((1, 4, 1)), "R": np.zeros((1, 4, 1)), "B": np.array([[0, 0, 0, 1, 0, 0, 0, 0]]), "P": np.array([[0, 5, 0]])}
lstm = helper.make_node("LSTM", ["x", "W", "R", "B", "", "", "", "P"], ["y"], hidden_size=1)
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 1])]
weights = [numpy_helper.from_array(value.astype("f4"), name) for name, value in constants.items()]
graph = helper.make_graph([lstm], "peepholes", inputs, outputs, weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "peepholes.onnx")

sigmoid = lambda value: 1 / (1 + math.exp(-value))
cell = sigmoid(0) * math.tanh(1)
print(f"formulas {sigmoid(5 * cell) * math.tanh(cell):.4f}, with P = 0 {sigmoid(0) * math.tanh(cell):.4f}")
x = np.zeros((1, 1, 1), "f4")
print(f"onnxruntime {onnxruntime.InferenceSession('peepholes.onnx').run(None, {'x': x})[0].item():.4f}")
compiled = openvino.Core().compile_model("peepholes.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
print(f"OpenVINO {compiled(x)[0].item():.4f}")
PYTHON
venv/bin/python compare.py | tee seen
diff seen - <<'EXPECTED'
formulas 0.3163, with P = 0 0.1817
onnxruntime 0.3163
OpenVINO 0.1817
EXPECTED
echo "as stated"
