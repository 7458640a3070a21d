"""Every table type that kaldi_native_io and this project have in common, in both directions.

kaldi_native_io contains Kaldi's own code for these formats, so that files must be equal byte for byte. HTK matrices and
waves are in test_features.py: programs read them, none writes them.
"""

import unittest
from copy import deepcopy
from pathlib import Path

import kaldi_native_io as native
import numpy as np

from support import COPY_TABLE, InteropTest, add_tests

RANDOM = np.random.default_rng(1)


def floats(*shape, dtype=np.float32):
    scale = 10.0 ** RANDOM.integers(-6, 6, shape)
    return (RANDOM.standard_normal(shape) * scale).astype(dtype)


POSTERIOR = [[(3, 0.25), (7, 0.75)], [], [(0, 1.0)], [(12, 1e-7)]]

GAUSS_POST = [[(4, floats(2)), (0, floats(1))], [], [(7, floats(3))]]

# name: (our type, name of the classes of kaldi_native_io, values by key)
TYPES = {
    "float_matrix": ("matrix", "FloatMatrix", {"a": floats(3, 4), "b": floats(1, 1), "c": floats(20, 2)}),
    "double_matrix": ("double-matrix", "DoubleMatrix", {"a": floats(3, 4, dtype=np.float64)}),
    "float_vector": ("vector", "FloatVector", {"a": floats(5), "b": floats(1)}),
    "double_vector": ("double-vector", "DoubleVector", {"a": floats(5, dtype=np.float64)}),
    "posterior": ("posterior", "Posterior", {"a": POSTERIOR, "b": [[(1, 1.0)]]}),
    "gauss_post": ("gauss-posterior", "GaussPost", {"a": GAUSS_POST, "b": [], "c": GAUSS_POST[:1]}),
    "int8_vector": ("int8-vector", "Int8Vector", {"a": [1, -2, 127, -128], "b": []}),
    "float_pair_vector": ("float-pair-vector", "FloatPairVector", {"a": [(1.5, -2.25), (3, 1e-7)], "b": [(0, 1)]}),
    "int": ("int", "Int32", {"a": 1, "b": -(2**31), "c": 2**31 - 1}),
    "int_vector": ("int-vector", "Int32Vector", {"a": [1, -2, 300000], "b": [], "c": [7]}),
    "int_vector_vector": ("int-vector-vector", "Int32VectorVector", {"a": [[1, 2], [], [3]], "b": [[5]]}),
    "int_pair_vector": ("int-pair-vector", "Int32PairVector", {"a": [(1, 2), (-3, 4)], "b": [(5, 6)]}),
    "float": ("float", "Float", {"a": 1.5, "b": -2.25e-7}),
    "double": ("double", "Double", {"a": 1.1, "b": -2.25e-77}),
    "bool": ("bool", "Bool", {"a": True, "b": False}),
    "token": ("token", "Token", {"utt-1": "speaker", "utt-2": "größe"}),
    "token_vector": ("token-vector", "TokenVector", {"s": ["utt-1", "utt-2"], "t": ["x"]}),
}
FORMS = {"binary": "ark", "text": "ark,t"}


ARRAYS = ("FloatMatrix", "DoubleMatrix", "FloatVector", "DoubleVector")


def write(class_name, wspecifier, values):
    with getattr(native, f"{class_name}Writer")(wspecifier) as writer:
        for key, value in values.items():
            writer[key] = value


def read(class_name, rspecifier):
    # Arrays are copied: those that a reader gives out are views of its memory.
    copy = np.array if class_name in ARRAYS else deepcopy
    with getattr(native, f"Sequential{class_name}Reader")(rspecifier) as reader:
        return {key: copy(value) for key, value in reader}


class NativeIo(InteropTest):
    def assert_same_file(self, ours, theirs):
        """Equal bytes, but for the blank that Kaldi, not kaldi_native_io, writes after the last of several tokens."""
        mine, other = (Path(path).read_bytes().replace(b" \n", b"\n") for path in (ours, theirs))
        self.assertEqual(mine, other)

    def assert_equal(self, ours, theirs, tolerance=0.0):
        self.assertEqual(list(ours), list(theirs))
        for key, value in theirs.items():
            self.assert_equal_values(ours[key], value, tolerance, key)

    def assert_equal_values(self, ours, theirs, tolerance, key):
        if isinstance(theirs, (np.ndarray, float)):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, err_msg=key)
        elif isinstance(theirs, (list, tuple)):
            self.assertEqual(len(ours), len(theirs), key)
            for mine, other in zip(ours, theirs):
                self.assert_equal_values(mine, other, tolerance, key)
        else:
            self.assertEqual(ours, theirs)


class TypesTest(NativeIo):
    pass


def both_ways(self, table_type, class_name, values, form):
    write(class_name, f"{form}:theirs", values)
    expected = read(class_name, "ark:theirs")
    self.copy_table(table_type, "ark:theirs", f"{form}:ours")
    self.assert_same_file("ours", "theirs")
    self.copy_table(table_type, "ark:theirs", "ark:binary")
    self.assert_equal(read(class_name, "ark:binary"), expected)
    self.copy_table(table_type, "ark:binary", "ark,t:text")
    self.assert_equal(read(class_name, "ark:text"), expected, tolerance=1e-6)


def scripts(self, table_type, class_name, values, form):
    write(class_name, f"{form},scp:theirs.ark,theirs.scp", values)
    self.copy_table(table_type, "scp:theirs.scp", f"{form},scp:ours.ark,ours.scp")
    self.assert_same_file("ours.ark", "theirs.ark")
    self.assert_equal(read(class_name, "scp:ours.scp"), read(class_name, "ark:theirs.ark"))
    with getattr(native, f"RandomAccess{class_name}Reader")("scp:ours.scp") as reader:
        for key in values:
            self.assertIn(key, reader)


def pipes(self, table_type, class_name, values, form):
    write(class_name, f"{form}:theirs", values)
    self.copy_table(table_type, "ark:gzip -c theirs | gunzip -c |", f"{form}:| cat > ours")
    self.assert_same_file("ours", "theirs")
    Path("stdout").write_bytes(self.copy_table(table_type, "ark:cat theirs |", f"{form}:-"))
    self.assert_same_file("stdout", "theirs")
    command = f"{COPY_TABLE} {table_type} ark:theirs {form}:- 2>/dev/null"
    self.assert_equal(read(class_name, f"ark:{command} |"), read(class_name, "ark:theirs"))


CASES = {f"{name}_{form}": (*of_type, FORMS[form]) for name, of_type in TYPES.items() for form in FORMS}
add_tests(TypesTest, "both_ways", both_ways, CASES)
add_tests(TypesTest, "scripts", scripts, CASES)
add_tests(TypesTest, "pipes", pipes, CASES)


class CompressedTest(NativeIo):
    # method: a matrix that it can hold
    MATRICES = {
        1: floats(12, 5),
        2: np.round(RANDOM.standard_normal((30, 4)) * 50).astype(np.float32),
        3: floats(4, 3),
        4: RANDOM.integers(-32768, 32767, (6, 5)).astype(np.float32),
        5: floats(6, 7),
        6: RANDOM.integers(0, 255, (3, 5)).astype(np.float32),
        7: RANDOM.random((3, 5)).astype(np.float32),
    }


def compressed(self, method):
    matrices = {"a": self.MATRICES[method], "b": self.MATRICES[method][:2]}
    with native.CompressedMatrixWriter("ark:theirs") as writer:
        for key, matrix in matrices.items():
            writer.write(key, matrix, native.CompressionMethod(method))
    write("FloatMatrix", "ark:full", matrices)
    self.copy_table("compress", "ark:full", "ark:ours", f"--compression-method={method}")
    self.assert_same_file("ours", "theirs")
    for table_type in ["compressed-matrix", "general-matrix"]:
        self.copy_table(table_type, "ark:theirs", "ark:copied")
        self.assert_same_file("copied", "theirs")
    self.copy_table("matrix", "ark:theirs", "ark:expanded")
    self.assert_equal(read("FloatMatrix", "ark:expanded"), read("FloatMatrix", "ark:theirs"))


add_tests(CompressedTest, "method", compressed, {str(method): (method,) for method in CompressedTest.MATRICES})


class RangeTest(NativeIo):
    def test_rows_and_columns_of_script_entries(self):
        write("FloatMatrix", "ark,scp:m.ark,m.scp", {"a": floats(10, 6)})
        entry = Path("m.scp").read_text().strip()
        Path("ranges.scp").write_text(f"{entry}[2:5]\nb{entry[1:]}[0:3,1:2]\nc{entry[1:]}[:,4:5]\n")
        self.copy_table("matrix", "scp:ranges.scp", "ark:ours")
        self.assert_equal(read("FloatMatrix", "ark:ours"), read("FloatMatrix", "scp:ranges.scp"))

    def test_precisions_are_converted(self):
        values = {"a": floats(3, 4, dtype=np.float64)}
        write("DoubleMatrix", "ark:double", values)
        self.copy_table("matrix", "ark:double", "ark:ours")
        self.assert_equal(read("FloatMatrix", "ark:ours"), {"a": values["a"].astype(np.float32)})


if __name__ == "__main__":
    unittest.main()
