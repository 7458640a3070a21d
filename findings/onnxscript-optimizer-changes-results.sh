#!/usr/bin/env bash
# onnxscript.optimizer.optimize makes graphs smaller. Where a Clip leaves numbers below 0 alone, it drops the Relu behind it, or a Clip to higher
# numbers. Two Bernoulli nodes of the same input become one, so that two dropout masks are equal. It computes a constant Softmax of a graph before
# opset 13 by the rules of newer ones. The results are valid models, and there is no message.
# Seen with onnxscript 0.7.2, onnx-ir 1.1.0, onnx 1.23.2, onnxruntime 1.32.0, numpy 2.2.6 on Python 3.11 (x86_64):
#                                        before           behind
#   Clip to -2 to -1, then Relu          0                -1
#   Clip to at most -1, then to 0 to 6   0                -1
#   difference of two Bernoulli          other than 0     0
#   Softmax of 2 by 3 zeros, opset 11    6 times 1/6      6 times 1/2
# Consequence: compare each optimized model with the original in a runtime.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check onnxscript==0.7.2 onnx-ir==1.1.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.2.6
"$work/env/bin/python" - <<'PYTHON' | tee seen
import logging

import numpy as np
import onnx
import onnxruntime
import onnxscript.optimizer
from onnx import helper, numpy_helper

logging.disable()


def run(model, x):
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0].ravel()


def compare(name, x, nodes, constants=None, opset=17, show=lambda y: " ".join(f"{value:.3f}" for value in y)):
    shape = list(x.shape)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, shape)], [helper.make_tensor_value_info("y", 1, shape)],
                              [numpy_helper.from_array(np.array(value, "float32"), key) for key, value in (constants or {}).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    optimized = onnxscript.optimizer.optimize(model)
    print(name)
    for kind, each in (("before", model), ("behind", optimized)):
        print(f"  {kind}: {' '.join(node.op_type for node in each.graph.node)}: {show(run(each, x))}")


node = helper.make_node
x = np.array([-3, -1.5, 0, 2], "float32")
compare("Clip to -2 to -1, Relu", x, [node("Clip", ["x", "a", "b"], ["c"]), node("Relu", ["c"], ["y"])], {"a": -2, "b": -1})
compare("Clip to at most -1, Clip to 0 to 6", x, [node("Clip", ["x", "", "b"], ["c"]), node("Clip", ["c", "d", "e"], ["y"])],
        {"b": -1, "d": 0, "e": 6})
compare("Clip to at most 1, Relu", x, [node("Clip", ["x", "", "b"], ["c"]), node("Relu", ["c"], ["y"])], {"b": 1})
compare("two Bernoulli of 0.5", np.full(1000, 0.5, "float32"),
        [node("Bernoulli", ["x"], ["a"]), node("Bernoulli", ["x"], ["b"]), node("Sub", ["a", "b"], ["y"])],
        show=lambda y: f"they {'differ' if y.any() else 'are equal'}")
compare("Softmax of 2 by 3 zeros, opset 11", np.zeros((1, 2, 3), "float32"), [node("Softmax", ["c"], ["s"], axis=1), node("Add", ["x", "s"], ["y"])],
        {"c": np.zeros((1, 2, 3))}, opset=11)
PYTHON
diff seen - <<'EXPECTED'
Clip to -2 to -1, Relu
  before: Clip Relu: 0.000 0.000 0.000 0.000
  behind: Clip: -1.000 -1.000 -1.000 -1.000
Clip to at most -1, Clip to 0 to 6
  before: Clip Clip: 0.000 0.000 0.000 0.000
  behind: Clip: -1.000 -1.000 -1.000 -1.000
Clip to at most 1, Relu
  before: Clip Relu: 0.000 0.000 0.000 1.000
  behind: Clip: 0.000 0.000 0.000 1.000
two Bernoulli of 0.5
  before: Bernoulli Bernoulli Sub: they differ
  behind: Bernoulli Sub: they are equal
Softmax of 2 by 3 zeros, opset 11
  before: Softmax Add: 0.167 0.167 0.167 0.167 0.167 0.167
  behind: Add: 0.500 0.500 0.500 0.500 0.500 0.500
EXPECTED
echo "as stated"
