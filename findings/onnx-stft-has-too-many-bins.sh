#!/usr/bin/env bash
# ONNX's STFT returns half of the spectrum by default (onesided is 1), which is N / 2 + 1 bins of frames of N samples. The shape inference of
# the package onnx gives it all N bins when the attribute is not written, as if it were 0. A model with the right shape is then refused in
# strict mode, and one without a shape gets the wrong one. onnxruntime and onnx.reference compute what the standard says.
# Seen with onnx 1.23.2, onnxruntime 1.32.0, numpy 2.2.6 on Python 3.11 (x86_64), 400 samples in frames of 64, 16 apart:
#   onesided not written   inferred 64 bins   computed 33 bins
#   onesided = 1           inferred 33 bins   computed 33 bins
# Consequence: tools that trust inferred shapes reserve or cut wrongly. Write the attribute though it is the default.
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
from onnx import TensorProto, helper, shape_inference
from onnx.reference import ReferenceEvaluator

SOUND = {"x": np.ones((1, 400, 1), "float32")}


def model(shape, **attributes):
    graph = helper.make_graph(
        [helper.make_node("STFT", ["x", "step", "", "length"], ["y"], **attributes)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 400, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [helper.make_tensor("step", TensorProto.INT64, [], [16]), helper.make_tensor("length", TensorProto.INT64, [], [64])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


for attributes in ({}, {"onesided": 1}, {"onesided": 0}):
    plain = model([1, "frames", "bins", 2], **attributes)
    run = onnxruntime.InferenceSession(plain.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, SOUND)[0]
    inferred = shape_inference.infer_shapes(plain).graph.output[0].type.tensor_type.shape.dim
    try:
        shape_inference.infer_shapes(model(run.shape, **attributes), strict_mode=True)
        strict = "accepted"
    except shape_inference.InferenceError:
        strict = "refused"
    print(attributes, "inferred", *(size.dim_value for size in inferred), "onnxruntime", *run.shape,
          "reference", *ReferenceEvaluator(plain).run(None, SOUND)[0].shape, "right shape", strict)
PYTHON
diff seen - <<'EXPECTED'
{} inferred 1 22 64 2 onnxruntime 1 22 33 2 reference 1 22 33 2 right shape refused
{'onesided': 1} inferred 1 22 33 2 onnxruntime 1 22 33 2 reference 1 22 33 2 right shape accepted
{'onesided': 0} inferred 1 22 64 2 onnxruntime 1 22 64 2 reference 1 22 64 2 right shape accepted
EXPECTED
echo "as stated"
