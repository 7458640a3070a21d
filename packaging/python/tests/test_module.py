"""Tests the Python module of an installed wheel: test_module.py FOLDER, which tests/package/acceptance.sh has filled."""

import io
import subprocess
import sys
import unittest
from pathlib import Path

import nnet3
import numpy
from nnet3 import _archive

ACCEPTANCE = Path(sys.argv.pop(1))
MODEL = ACCEPTANCE / "tdnn" / "final.raw"


def archive(name, specifier):
    """What a program writes as a text archive, read by other code than the module's."""
    text = nnet3.run(name, *specifier, "ark,t:-")
    arrays, key = {}, None
    for line in text.splitlines():
        if line.endswith("["):
            key = line.split()[0]
            arrays[key] = []
        else:
            arrays[key].append([float(word) for word in line.rstrip("]").split()])
    return {key: numpy.array(rows, dtype="f4") for key, rows in arrays.items()}


class Programs(unittest.TestCase):
    def test_programs_are_found_in_the_environment(self):
        self.assertEqual(Path(nnet3.find_bin()).parent, Path(sys.prefix) / "bin")
        with self.assertRaisesRegex(FileNotFoundError, "no-such-program"):
            nnet3.find_bin("no-such-program")

    def test_run_gives_standard_output(self):
        self.assertIn("num-parameters: ", nnet3.run("nnet3-info", MODEL))
        self.assertEqual(nnet3.run("copy-int-vector", "ark:-", "ark,t:-", input="a 1 2\n"), "a 1 2 \n")
        binary = nnet3.run("copy-int-vector", "ark:-", "ark:-", input=b"a 1 2\n")
        self.assertEqual(binary[:4], b"a \0B")

    def test_an_error_says_what_the_program_says(self):
        with self.assertRaisesRegex(nnet3.ProgramError, "nnet3-info ended with status 255: ERROR.*nowhere.raw") as caught:
            nnet3.run("nnet3-info", "nowhere.raw")
        self.assertEqual(caught.exception.status, 255)

    def test_as_a_module(self):
        done = subprocess.run([sys.executable, "-m", "nnet3", "nnet3-info", MODEL], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, nnet3.run("nnet3-info", MODEL))


class Compute(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.features = archive("copy-feats", [f"scp:{ACCEPTANCE}/data/feats.scp"])
        cls.expected = archive("nnet3-compute", ["--use-gpu=no", "--frames-per-chunk=50", MODEL, f"scp:{ACCEPTANCE}/data/feats.scp"])

    def compute(self, features, **options):
        return nnet3.compute(MODEL, features, use_gpu="no", frames_per_chunk=50, **options)

    def test_outputs_are_those_of_the_program(self):
        outputs = self.compute(self.features)
        self.assertEqual(list(outputs), list(self.features))
        for key, output in outputs.items():
            self.assertEqual(output.dtype, numpy.float32)
            # (The program has read compressed features, whose values the text rounds.)
            numpy.testing.assert_allclose(output, self.expected[key], rtol=1e-3, atol=1e-3)

    def test_arrays_of_any_layout_and_type(self):
        key, matrix = next(iter(self.features.items()))
        plain = self.compute({key: matrix})[key]
        for other in [matrix.astype("f8"), numpy.asfortranarray(matrix), matrix.tolist(), numpy.repeat(matrix, 2, axis=0)[::2]]:
            numpy.testing.assert_array_equal(self.compute({key: other})[key], plain)

    def test_more_than_a_pipe_holds(self):
        many = {f"utt{i}": matrix for i in range(40) for matrix in [*self.features.values()][:5]}
        self.assertEqual(len(self.compute(many)), 40)

    def test_options(self):
        key, matrix = next(iter(self.features.items()))
        probabilities = self.compute({key: matrix}, apply_exp=True)[key]
        numpy.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-4)

    def test_ivectors(self):
        config = ACCEPTANCE / "ivector.config"
        config.write_text(
            "input-node name=input dim=4\ninput-node name=ivector dim=2\n"
            "component name=sum type=AffineComponent input-dim=6 output-dim=2 param-stddev=1 bias-stddev=0\n"
            "component-node name=sum component=sum input=Append(input, ReplaceIndex(ivector, t, 0))\noutput-node name=output input=sum\n")
        model = ACCEPTANCE / "ivector.raw"
        nnet3.run("nnet3-init", config, model)
        key, matrix = next(iter(self.features.items()))

        def output(vector, **options):
            return nnet3.compute(model, {key: matrix}, ivectors={key: vector}, use_gpu="no", **options)[key]

        none, one = output([0.0, 0.0]), output([1.0, 0.0])
        numpy.testing.assert_allclose(output([3.0, 0.0]) - none, 3 * (one - none), rtol=1e-4, atol=1e-4)
        rows = numpy.tile(numpy.array([1.0, 0.0]), (len(matrix), 1))
        numpy.testing.assert_allclose(output(rows, online_ivector_period=1), one, rtol=1e-4, atol=1e-4)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "one word, found 'a b'"):
            self.compute({"a b": numpy.zeros((9, 4))})
        with self.assertRaisesRegex(ValueError, r"features of a: expected a matrix of numbers, found an array of shape \(9,\)"):
            self.compute({"a": numpy.zeros(9)})
        with self.assertRaisesRegex(nnet3.ProgramError, "nnet3-compute .*[56]"):
            self.compute({"a": numpy.zeros((9, 5))})
        with self.assertRaisesRegex(nnet3.ProgramError, "nowhere.raw"):
            nnet3.compute("nowhere.raw", self.features)
        with self.assertRaisesRegex(nnet3.ProgramError, "no output for empty"):
            self.compute({**self.features, "empty": numpy.zeros((0, 0))})
        self.assertEqual(self.compute({}), {})


class Archives(unittest.TestCase):
    def test_round_trip_and_truncation(self):
        matrix = numpy.arange(6, dtype="f4").reshape(2, 3)
        file = io.BytesIO()
        _archive.write(file, [("a", matrix), ("b", matrix[:0])])
        data = file.getvalue()
        read = dict(_archive.read(io.BytesIO(data)))
        numpy.testing.assert_array_equal(read["a"], matrix)
        self.assertEqual(read["b"].shape, (0, 3))
        whole = {0, len(data), data.index(b"b \0B")}
        for length in set(range(len(data))) - whole:
            with self.assertRaises(nnet3.ArchiveError, msg=str(length)):
                dict(_archive.read(io.BytesIO(data[:length])))
        with self.assertRaisesRegex(nnet3.ArchiveError, "a: expected a matrix"):
            dict(_archive.read(io.BytesIO(b"a \0BCM ")))


if __name__ == "__main__":
    unittest.main()
