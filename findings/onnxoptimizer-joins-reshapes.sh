#!/usr/bin/env bash
# A 0 in the shape that ONNX's Reshape gets stands for the dimension of its input. If two Reshapes follow each other, onnxoptimizer drops the first by
# default. The 0 of the second is another dimension then: in a network that joins two frames and then divides them into groups, the frames are
# no longer joined. The model is valid, and computes something else. There is no message.
# Seen with onnxoptimizer 0.4.2, onnx 1.23.2 (which computes the results), numpy 2.4.6 on Python 3.11, 6 frames of 40 numbers,
# Reshape to (-1, 80), Reshape to (0, -1, 20), mean of axis 1, first column of the result:
#   as it is                    3 rows: 30 110 190
#   behind onnxoptimizer        6 rows: 10 50 90 130 170 210
#   with (3, -1, 20), both      3 rows: 30 110 190
# Consequence: features or attention of other frames. Write shapes without 0, or leave the pass out, and compare outputs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check onnxoptimizer==0.4.2 onnx==1.23.2 numpy==2.4.6
venv/bin/python - <<'PYTHON' | tee seen
import numpy as np
import onnx
import onnxoptimizer
from onnx import helper
from onnx.reference import ReferenceEvaluator

frames = np.arange(240, dtype=np.float32).reshape(6, 40)
for groups in ([0, -1, 20], [3, -1, 20]):
    nodes = [helper.make_node("Reshape", ["x", "joined"], ["a"]), helper.make_node("Reshape", ["a", "groups"], ["b"]),
             helper.make_node("ReduceMean", ["b"], ["y"], axes=[1], keepdims=0)]
    shapes = [onnx.numpy_helper.from_array(np.array(shape), name) for name, shape in (("joined", [-1, 80]), ("groups", groups))]
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["frames", 40])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["pairs", 20])], shapes)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    for name, version in (("as it is", model), ("behind onnxoptimizer", onnxoptimizer.optimize(model))):
        onnx.checker.check_model(version)
        result = ReferenceEvaluator(version).run(None, {"x": frames})[0]
        print(f"{groups} {name}: {[node.op_type for node in version.graph.node]}, {len(result)} rows:", *result[:, 0])
PYTHON
diff seen - <<'EXPECTED'
[0, -1, 20] as it is: ['Reshape', 'Reshape', 'ReduceMean'], 3 rows: 30.0 110.0 190.0
[0, -1, 20] behind onnxoptimizer: ['Reshape', 'ReduceMean'], 6 rows: 10.0 50.0 90.0 130.0 170.0 210.0
[3, -1, 20] as it is: ['Reshape', 'Reshape', 'ReduceMean'], 3 rows: 30.0 110.0 190.0
[3, -1, 20] behind onnxoptimizer: ['Reshape', 'ReduceMean'], 3 rows: 30.0 110.0 190.0
EXPECTED
echo "as stated"
