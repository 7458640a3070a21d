#!/usr/bin/env bash
# pnnx converts an ONNX Gather with a list of rows to a model that takes one column, without a message. Seen with pnnx 20261020 and ncnn
# 1.0.20261020 beside onnxruntime 1.32.0 (Python packages, x86_64), rows 0, 2 and 3 of a matrix of 5 rows:
#   onnxruntime   3 rows of 4 numbers
#   ncnn          5 numbers, the second of each row; pnnx has ended with status 0
# Consequence: a network that chooses frames (a TDNN with time strides) gives other numbers in ncnn. Slice with begin and end, Reshape and
# Concat are converted as they are.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.3.5 onnx==1.20.0 onnxruntime==1.32.0 ncnn==1.0.20261020 pnnx==20261020
cat >make.py <<'PYTHON'
import onnx
from onnx import TensorProto, helper

rows = helper.make_tensor("rows", TensorProto.INT64, [3], [0, 2, 3])
gather = helper.make_node("Gather", ["x", "rows"], ["y"], axis=1)
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 5, 4])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 4])]
graph = helper.make_graph([gather], "rows", inputs, outputs, [rows])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "rows.onnx")
PYTHON
venv/bin/python make.py
pnnx=$(find venv -path '*pnnx/bin/pnnx' -o -path '*/pnnx' -type f -perm -1 | head -n 1)
"$pnnx" rows.onnx 'inputshape=[1,5,4]' fp16=0 >pnnx.log 2>&1 && echo "pnnx: status 0" | tee seen
venv/bin/python - <<'PYTHON' | tee -a seen
import ncnn
import numpy as np
import onnxruntime

x = np.arange(20, dtype=np.float32).reshape(1, 5, 4)
right, = onnxruntime.InferenceSession("rows.onnx").run(None, {"x": x})
print("onnxruntime", right.shape, right[0, :, 0].tolist())
net = ncnn.Net()
net.load_param("rows.ncnn.param")
net.load_model("rows.ncnn.bin")
with net.create_extractor() as extractor:
    extractor.input("in0", ncnn.Mat(x[0]).clone())
    status, out = extractor.extract("out0")
print("ncnn", np.array(out).shape, np.array(out).tolist())
PYTHON
diff seen - <<'EXPECTED'
pnnx: status 0
onnxruntime (1, 3, 4) [0.0, 8.0, 12.0]
ncnn (5,) [1.0, 5.0, 9.0, 13.0, 17.0]
EXPECTED
echo "as stated"
