#!/usr/bin/env bash
# The optimizer of onnxconverter-common joins two Transposes. By the standard one without "perm" reverses the axes; the optimizer drops it if another
# Transpose is behind it. The result has other axes, and if they are equally long, nothing shows it but the numbers.
# Seen with onnxconverter-common 1.16.0, onnx 1.23.2, onnxruntime 1.32.0, numpy 2.2.6 on Python 3.11 (x86_64):
#   no perm, then perm 0 2 1, of 2 by 3 by 4      4 by 2 by 3 before, 2 by 4 by 3 behind
#   no perm, then perm 0 2 1, of 3 by 3 by 3      other numbers
#   no perm twice, of 3 by 3 by 3                 other numbers, one Transpose is left
#   perm 2 1 0, then perm 0 2 1                   right
# Consequence: attention has frames and features exchanged. Write perm in each Transpose, and compare each optimized model with the original.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check onnxconverter-common==1.16.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.2.6
"$work/env/bin/python" - <<'PYTHON' | tee seen
import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnxconverter_common.optimizer import optimize_onnx_model


def run(model, x):
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def compare(first, second, shape):
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    nodes = [helper.make_node("Transpose", ["x"], ["a"], name="first", **first), helper.make_node("Transpose", ["a"], ["y"], name="second", **second)]
    y = x.transpose(first.get("perm")).transpose(second.get("perm"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, x.shape)], [helper.make_tensor_value_info("y", 1, [None] * 3)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    before = run(model, x)
    assert np.array_equal(before, y)
    optimized = run(optimize_onnx_model(model), x)
    print(f"{first.get('perm', 'no perm')}, {second.get('perm', 'no perm')}, shape {shape}: before {before.shape}, behind {optimized.shape},",
          "equal" if np.array_equal(optimized, before) else "other numbers")


compare({}, {"perm": [0, 2, 1]}, (2, 3, 4))
compare({}, {"perm": [0, 2, 1]}, (3, 3, 3))
compare({}, {}, (3, 3, 3))
compare({"perm": [2, 1, 0]}, {"perm": [0, 2, 1]}, (3, 3, 3))
compare({"perm": [1, 2, 0]}, {"perm": [0, 2, 1]}, (2, 3, 4))
PYTHON
diff seen - <<'EXPECTED'
no perm, [0, 2, 1], shape (2, 3, 4): before (4, 2, 3), behind (2, 4, 3), other numbers
no perm, [0, 2, 1], shape (3, 3, 3): before (3, 3, 3), behind (3, 3, 3), other numbers
no perm, no perm, shape (3, 3, 3): before (3, 3, 3), behind (3, 3, 3), other numbers
[2, 1, 0], [0, 2, 1], shape (3, 3, 3): before (3, 3, 3), behind (3, 3, 3), equal
[1, 2, 0], [0, 2, 1], shape (2, 3, 4): before (3, 2, 4), behind (3, 2, 4), equal
EXPECTED
echo "as stated"
