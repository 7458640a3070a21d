#!/usr/bin/env bash
# A line of a script file of Kaldi may end with a range of rows and columns: feats.ark:2[2:4] is rows 2, 3 and 4, since both ends belong to
# it. kaldi_io cuts as Python does, so each matrix loses its last row, and with columns its last column, without a message; [2:2], one row
# in Kaldi, is empty. kaldiio and kaldi_native_io read what Kaldi reads.
# Seen with kaldi_io 0.9.8, kaldiio 2.18.1, kaldi_native_io 1.23.0, numpy 2.2.6 on Python 3.11, rows with values 0 to 9 of 4 columns:
#   range          kaldi_io   kaldiio and kaldi_native_io
#   [2:4]          2 by 4     3 by 4
#   [2:2]          0 by 4     1 by 4
#   [0:9,1:2]      9 by 1     10 by 2
# Consequence: features cut by Kaldi's scripts are a frame shorter than their alignments.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check kaldi_io==0.9.8 kaldiio==2.18.1 kaldi_native_io==1.23.0 numpy==2.2.6
venv/bin/python - 2>warnings <<'PYTHON' | grep -v KALDI_ROOT | grep -v '^#*$' | tee seen
import kaldi_io
import kaldi_native_io
import kaldiio
import numpy as np

with open("a.ark", "wb") as archive:
    kaldi_io.write_mat(archive, np.repeat(np.arange(10, dtype="float32")[:, None], 4, axis=1), key="a")
with open("a.scp", "w") as table:
    for key, cut in (("rows", "[2:4]"), ("row", "[2:2]"), ("columns", "[0:9,1:2]")):
        table.write(f"{key} a.ark:2{cut}\n")


def show(library, key, matrix):
    print(library, key, *matrix.shape, "rows", *(int(row[0]) for row in matrix))


for key, matrix in kaldi_io.read_mat_scp("a.scp"):
    show("kaldi_io", key, matrix)
for key, matrix in kaldiio.load_scp("a.scp").items():
    show("kaldiio", key, matrix)
with kaldi_native_io.SequentialFloatMatrixReader("scp:a.scp") as reader:
    for key, matrix in reader:
        show("kaldi_native_io", key, matrix)
PYTHON
diff seen - <<'EXPECTED'
kaldi_io rows 2 4 rows 2 3
kaldi_io row 0 4 rows
kaldi_io columns 9 1 rows 0 1 2 3 4 5 6 7 8
kaldiio rows 3 4 rows 2 3 4
kaldiio row 1 4 rows 2
kaldiio columns 10 2 rows 0 1 2 3 4 5 6 7 8 9
kaldi_native_io rows 3 4 rows 2 3 4
kaldi_native_io row 1 4 rows 2
kaldi_native_io columns 10 2 rows 0 1 2 3 4 5 6 7 8 9
EXPECTED
echo "as stated"
