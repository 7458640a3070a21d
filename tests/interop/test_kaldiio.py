"""Matrices and vectors against kaldiio, which reads and writes Kaldi's formats in Python of its own."""

import sys
import unittest
from pathlib import Path

import kaldiio
import numpy as np

from support import COPY_TABLE, InteropTest, add_tests

RANDOM = np.random.default_rng(2)


def normal(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


ARRAYS = {
    "float_matrix": ("matrix", {"a": normal(3, 4), "b": normal(17, 2)}),
    "double_matrix": ("double-matrix", {"a": normal(3, 4, dtype=np.float64)}),
    "float_vector": ("vector", {"a": normal(5), "b": normal(1)}),
    "double_vector": ("double-vector", {"a": normal(5, dtype=np.float64)}),
    "int_vector": ("int-vector", {"a": np.array([1, -2, 300000], np.int32), "b": np.array([7], np.int32)}),
}
FORMS = {"binary": "ark", "text": "ark,t"}


class KaldiioTest(InteropTest):
    def assert_equal(self, ours, theirs, tolerance=1e-6):
        ours, theirs = dict(ours), dict(theirs)
        self.assertEqual(list(ours), list(theirs))
        for key, value in theirs.items():
            np.testing.assert_allclose(ours[key], value, rtol=tolerance, atol=1e-7, err_msg=key)


def both_ways(self, table_type, arrays, form):
    kaldiio.save_ark("theirs", arrays, text=form == "ark,t")
    self.copy_table(table_type, "ark:theirs", f"{form}:ours")
    self.assert_equal(kaldiio.load_ark("ours"), arrays)
    self.copy_table(table_type, "ark:theirs", "ark:binary")
    self.assert_equal(kaldiio.load_ark("binary"), arrays)


def scripts(self, table_type, arrays, form):
    with kaldiio.WriteHelper(f"{form},scp:theirs.ark,theirs.scp") as writer:
        for key, value in arrays.items():
            writer(key, value)
    self.copy_table(table_type, "scp:theirs.scp", f"{form},scp:ours.ark,ours.scp")
    self.assert_equal(kaldiio.load_scp("ours.scp"), arrays)


def pipes(self, table_type, arrays, form):
    kaldiio.save_ark("theirs", arrays, text=form == "ark,t")
    command = f"{COPY_TABLE} {table_type} ark:theirs {form}:- 2>/dev/null"
    with kaldiio.ReadHelper(f"ark:{command} |") as reader:
        self.assert_equal(reader, arrays)
    python = "import kaldiio, sys; kaldiio.save_ark(sys.stdout.buffer, dict(kaldiio.load_ark('theirs')))"
    self.copy_table(table_type, f'ark:{sys.executable} -c "{python}" |', "ark:ours")
    self.assert_equal(kaldiio.load_ark("ours"), arrays)


CASES = {f"{name}_{form}": (*of_type, FORMS[form]) for name, of_type in ARRAYS.items() for form in FORMS}
# kaldiio writes lists of integers as Kaldi does in binary only; its text is a vector's, with brackets.
del CASES["int_vector_text"]
add_tests(KaldiioTest, "both_ways", both_ways, CASES)
add_tests(KaldiioTest, "scripts", scripts, CASES)
add_tests(KaldiioTest, "pipes", pipes, CASES)


def compressed(self, method):
    matrices = {"a": RANDOM.integers(0, 256, (20, 5)).astype(np.float32) / (255 if method == 7 else 1)}
    kaldiio.save_ark("theirs", matrices, compression_method=method)
    self.copy_table("matrix", "ark:theirs", "ark:expanded")
    # kaldiio rounds elsewhere; that values are exactly Kaldi's is checked with kaldi_native_io.
    self.assert_equal(kaldiio.load_ark("expanded"), kaldiio.load_ark("theirs"), tolerance=1e-4)
    self.copy_table("compressed-matrix", "ark:theirs", "ark:copied")
    self.assertEqual(Path("copied").read_bytes(), Path("theirs").read_bytes())
    kaldiio.save_ark("full", matrices)
    self.copy_table("compress", "ark:full", "ark:ours", f"--compression-method={method}")
    self.copy_table("matrix", "ark:ours", "ark:ours.expanded")
    self.assert_equal(kaldiio.load_ark("ours"), kaldiio.load_ark("ours.expanded"), tolerance=1e-4)


add_tests(KaldiioTest, "compressed", compressed, {str(method): (method,) for method in [2, 3, 4, 5, 6, 7]})

if __name__ == "__main__":
    unittest.main()
