#!/usr/bin/env bash
# safetensors.numpy saves the memory of an array from its first number on, whatever the strides are. A transposed array, one in the order of Fortran,
# as scipy gives them, or a part of one, has its shape in the file and other numbers; a reversed one has what is behind it in memory. Up to 0.7.0
# all were saved right. The docstring asks for contiguous tensors, but nothing checks it, and there is no message.
# Seen with safetensors 0.8.0 and 0.7.0, numpy 2.2.6 on Python 3.11, the numbers 0 to 11 in 3 rows of 4:
#   first row of              0.8.0      0.7.0
#   x.T                       0 1 2      0 4 8
#   np.asfortranarray(x)      0 4 8 1    0 1 2 3
#   x[:, ::2]                 0 1        0 2
# Consequence: weights of converted models have the right shapes and wrong numbers. Save np.ascontiguousarray(x).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
cat >show.py <<'SCRIPT'
import numpy as np
import safetensors
from safetensors.numpy import load, load_file, save, save_file

print("safetensors", safetensors.__version__)
x = np.arange(12, dtype="float32").reshape(3, 4)
arrays = {"x": x, "x.T": x.T, "np.asfortranarray(x)": np.asfortranarray(x), "x[:, ::2]": x[:, ::2],
          "np.ascontiguousarray(x.T)": np.ascontiguousarray(x.T)}
save_file(arrays, "a.safetensors")
for read in (load_file("a.safetensors"), load(save(arrays))):
    for key, array in arrays.items():
        same = "right" if np.array_equal(read[key], array) else "other numbers"
        print(f"  {key}: shape {read[key].shape}, first row", *(f"{number:.0f}" for number in read[key][0]), same)
SCRIPT
for version in 0.8.0 0.7.0; do
  "$work/env/bin/pip" install --quiet --disable-pip-version-check "safetensors==$version" numpy==2.2.6
  "$work/env/bin/python" show.py
done | tee seen
diff seen - <<'EXPECTED'
safetensors 0.8.0
  x: shape (3, 4), first row 0 1 2 3 right
  x.T: shape (4, 3), first row 0 1 2 other numbers
  np.asfortranarray(x): shape (3, 4), first row 0 4 8 1 other numbers
  x[:, ::2]: shape (3, 2), first row 0 1 other numbers
  np.ascontiguousarray(x.T): shape (4, 3), first row 0 4 8 right
  x: shape (3, 4), first row 0 1 2 3 right
  x.T: shape (4, 3), first row 0 1 2 other numbers
  np.asfortranarray(x): shape (3, 4), first row 0 4 8 1 other numbers
  x[:, ::2]: shape (3, 2), first row 0 1 other numbers
  np.ascontiguousarray(x.T): shape (4, 3), first row 0 4 8 right
safetensors 0.7.0
  x: shape (3, 4), first row 0 1 2 3 right
  x.T: shape (4, 3), first row 0 4 8 right
  np.asfortranarray(x): shape (3, 4), first row 0 1 2 3 right
  x[:, ::2]: shape (3, 2), first row 0 2 right
  np.ascontiguousarray(x.T): shape (4, 3), first row 0 4 8 right
  x: shape (3, 4), first row 0 1 2 3 right
  x.T: shape (4, 3), first row 0 4 8 right
  np.asfortranarray(x): shape (3, 4), first row 0 1 2 3 right
  x[:, ::2]: shape (3, 2), first row 0 2 right
  np.ascontiguousarray(x.T): shape (4, 3), first row 0 4 8 right
EXPECTED
echo "as stated"
