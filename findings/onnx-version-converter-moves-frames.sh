#!/usr/bin/env bash
# onnx.version_converter brings a model to a newer opset. In opsets 9 and 10 the first frame of Upsample and Resize is at the first frame of the
# input; from 11 on Resize has places half a frame elsewhere by default, and the converter does not write the attribute that keeps the old ones.
# Linear interpolation moves. Hardmax up to opset 11 is over all axes from its own on, and from 13 on over one axis. The checker passes both, and
# there is no message.
# Seen with onnx 1.23.2, onnxruntime 1.32.0, numpy 2.2.6 on Python 3.11 (x86_64), 10 frames 0 to 9, from opset 9 or 10 to 11 and 18:
#                                before           behind
#   linear, twice as many        0 0.5 1 1.5      0 0.25 0.75 1.25
#   linear, half as many         0 2 4 6          0.5 2.5 4.5 6.5
#   Hardmax of 2 by 3 values     one 1            three
# Consequence: networks that interpolate features give other results. Set coordinate_transformation_mode to "asymmetric" in the converted Resize.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.2.6
"$work/env/bin/python" - <<'PYTHON' | tee seen
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, version_converter


def run(model, x):
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0].ravel()


def numbers(values):
    return " ".join(f"{value:g}" for value in values[:6])


def compare(name, node, opset, x, constants, newer, repaired=False):
    shape = [None] * x.ndim
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, x.shape)], [helper.make_tensor_value_info("y", 1, shape)],
                              [numpy_helper.from_array(value, key) for key, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6)
    print(f"{name}, opset {opset}: {numbers(run(model, x))}")
    for version in newer:
        converted = version_converter.convert_version(model, version)
        print(f"  opset {version}: {numbers(run(converted, x))}")
        if repaired:
            converted.graph.node[-1].attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
            print(f"  asymmetric: {numbers(run(converted, x))}")


frames = np.arange(10, dtype="float32").reshape(1, 1, 1, 10)
for kind, opset, scale in (("Upsample", 9, 2), ("Resize", 10, 2), ("Resize", 10, 0.5)):
    node = helper.make_node(kind, ["x", "s"], ["y"], mode="linear")
    compare(f"{kind} {scale}", node, opset, frames, {"s": np.array([1, 1, 1, scale], "float32")}, [11, 18], True)
values = np.array([[[3, 1, 2], [2, 4, 3], [1, 3, 5]]], "float32")[:, :2]
compare("Hardmax", helper.make_node("Hardmax", ["x"], ["y"], axis=1), 11, values, {}, [13])
PYTHON
diff seen - <<'EXPECTED'
Upsample 2, opset 9: 0 0.5 1 1.5 2 2.5
  opset 11: 0 0.25 0.75 1.25 1.75 2.25
  asymmetric: 0 0.5 1 1.5 2 2.5
  opset 18: 0 0.25 0.75 1.25 1.75 2.25
  asymmetric: 0 0.5 1 1.5 2 2.5
Resize 2, opset 10: 0 0.5 1 1.5 2 2.5
  opset 11: 0 0.25 0.75 1.25 1.75 2.25
  asymmetric: 0 0.5 1 1.5 2 2.5
  opset 18: 0 0.25 0.75 1.25 1.75 2.25
  asymmetric: 0 0.5 1 1.5 2 2.5
Resize 0.5, opset 10: 0 2 4 6 8
  opset 11: 0.5 2.5 4.5 6.5 8.5
  asymmetric: 0 2 4 6 8
  opset 18: 0.5 2.5 4.5 6.5 8.5
  asymmetric: 0 2 4 6 8
Hardmax, opset 11: 0 0 0 0 1 0
  opset 13: 1 0 0 0 1 1
EXPECTED
echo "as stated"
