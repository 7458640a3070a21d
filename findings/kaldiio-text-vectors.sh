#!/usr/bin/env bash
# kaldiio chooses the type of a vector in a text archive by its first number. Kaldi writes 1 and not 1.0, so a vector of floats that begins
# with a whole number is read as int32, and all its other numbers are cut to whole ones. NaN becomes -2147483648. No message. Matrices are
# read as floats. Seen with kaldiio 2.18.1, kaldi_native_io 1.23.0 (which writes as Kaldi does), numpy 2.2.6 on Python 3.11:
#   Kaldi's text   [ 1 0.5 0.25 ]   [ 0.5 1 ]        [ -1 0.75 ]
#   kaldiio        [1, 0, 0]        [0.5, 1.0]       [-1, 0]
# Consequence: weights, posteriors and speaker vectors of some utterances are wrong. Read binary archives.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check kaldiio==2.18.1 kaldi_native_io==1.23.0 numpy==2.2.6
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import kaldi_native_io
import kaldiio
import numpy as np

vectors = {"a": [1, 0.5, 0.25], "b": [0.5, 1], "c": [-1, 0.75]}
for name in ("binary", "text"):
    with kaldi_native_io.FloatVectorWriter("ark,t:text" if name == "text" else "ark:binary") as writer:
        for key, vector in vectors.items():
            writer.write(key, np.array(vector, np.float32))
print(open("text").read(), end="")
for name in ("binary", "text"):
    for key, vector in kaldiio.load_ark(name):
        print(name, key, vector.dtype, vector.tolist())
with kaldi_native_io.FloatMatrixWriter("ark,t:matrix") as writer:
    writer.write("d", np.array([[1, 0.5]], np.float32))
for key, matrix in kaldiio.load_ark("matrix"):
    print("matrix", key, matrix.dtype, matrix.tolist())
PYTHON
diff seen - <<'EXPECTED'
a  [ 1 0.5 0.25 ]
b  [ 0.5 1 ]
c  [ -1 0.75 ]
binary a float32 [1.0, 0.5, 0.25]
binary b float32 [0.5, 1.0]
binary c float32 [-1.0, 0.75]
text a int32 [1, 0, 0]
text b float32 [0.5, 1.0]
text c int32 [-1, 0]
matrix d float32 [[1.0, 0.5]]
EXPECTED
echo "as stated"
