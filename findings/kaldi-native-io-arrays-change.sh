#!/usr/bin/env bash
# kaldi-native-io reads Kaldi's archives as numpy arrays. Each array is a view of memory of the reader, which the next utterance overwrites or
# frees. Arrays that are kept, as dict(reader) and list(reader) do, then have numbers of other utterances, or of whatever is there later. Of two
# vectors of a RandomAccess reader the first becomes the second. Its README does not say so, and there is no message. Lists of integers are right.
# Seen with kaldi-native-io 1.23.0, kaldiio 2.18.1, numpy 2.2.6 on Python 3.11 (x86_64), an archive of 100 vectors, vector n of 40 times n:
#   first = reader["u1"]; second = reader["u2"]     first is 2 2 2, second is 2 2 2
#   dict(reader)                                    few of 100 vectors are right, or none
#   with value.copy()                               all
#   kaldiio                                         all
# Consequence: x-vectors are compared with themselves or with noise, and means are of other speakers. Copy each array at once, or read with kaldiio.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check kaldi-native-io==1.23.0 kaldiio==2.18.1 numpy==2.2.6
"$work/env/bin/python" - <<'PYTHON' | tee seen
import kaldi_native_io
import kaldiio
import numpy as np

vectors = {f"u{at}": np.full(40, at, "float32") for at in range(100)}
with kaldi_native_io.FloatVectorWriter("ark,scp:a.ark,a.scp") as writer:
    for key, vector in vectors.items():
        writer.write(key, vector)


def show(name, read):
    right = sum(np.array_equal(read[key], vector) for key, vector in vectors.items())
    print(f"{name}: {'all' if right == 100 else 'few' if right < 10 else right} of {len(read)} vectors are right")


with kaldi_native_io.RandomAccessFloatVectorReader("scp:a.scp") as reader:
    first = reader["u1"]
    print("first", *first[:3])
    second = reader["u2"]
    print("first", *first[:3], "second", *second[:3], f"equal {np.array_equal(first, second)}")
    show("reader[key]", {key: reader[key] for key in vectors})
with kaldi_native_io.SequentialFloatVectorReader("ark:a.ark") as reader:
    show("dict(reader)", dict(reader))
with kaldi_native_io.SequentialFloatVectorReader("ark:a.ark") as reader:
    show("with value.copy()", {key: value.copy() for key, value in reader})
show("kaldiio", dict(kaldiio.load_ark("a.ark")))
PYTHON
diff seen - <<'EXPECTED'
first 1.0 1.0 1.0
first 2.0 2.0 2.0 second 2.0 2.0 2.0 equal True
reader[key]: few of 100 vectors are right
dict(reader): few of 100 vectors are right
with value.copy(): all of 100 vectors are right
kaldiio: all of 100 vectors are right
EXPECTED
echo "as stated"
