"""The Python module, beside the programs and numpy."""

import ast
import importlib.util
import inspect
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import wave
from pathlib import Path

import numpy as np

from support import BIN, ROOT, SPEECH, InteropTest, make_recognizer, samples

FOLDER = tempfile.TemporaryDirectory(prefix="nnet3-module-")
shutil.copytree(ROOT / "packaging" / "python" / "nnet3", Path(FOLDER.name) / "nnet3")
shutil.copy(BIN / "libnnet3_python.so", Path(FOLDER.name) / "nnet3" / "_native.abi3.so")
sys.path.insert(0, FOLDER.name)

import nnet3  # noqa: E402

RATE, PCM = samples()
SAMPLES = np.frombuffer(PCM, "<i2")


class ModuleTest(InteropTest):
    def test_stubs_name_everything(self):
        stubs = ast.parse((Path(nnet3.__file__).parent / "_native.pyi").read_text())
        there = {node.name: node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        public = [name for name in dir(nnet3._native) if not name.startswith("_")]
        self.assertEqual(sorted(name for name in there if not name.startswith("_")), sorted(public))
        for name in public:
            self.assertRegex(getattr(nnet3, name).__doc__, r"^[A-Z]\w* [a-z]", f"{name}: the signature stands above the sentences, not in them")
            for method in getattr(there[name], "body", []):
                if isinstance(method, ast.FunctionDef):
                    self.assertTrue(hasattr(getattr(nnet3, name), method.name), f"{name}.{method.name}")
        self.assertRegex(nnet3.__version__, r"^\d+\.\d+\.\d+$")

    def test_archives_are_those_of_copy_feats(self):
        arrays = {"a": np.arange(12, dtype="f4").reshape(3, 4), "b": np.random.default_rng(1).normal(size=(2, 5))}
        for form in ("ark", "ark,t"):
            with nnet3.MatrixWriter(f"{form}:ours") as writer:
                for key, array in arrays.items():
                    writer.write(key, array)
            self.run_program(BIN / "copy-feats", "ark:ours", f"{form}:theirs")
            self.assertEqual(Path("ours").read_bytes(), Path("theirs").read_bytes())
            with nnet3.MatrixReader(f"ark:{BIN}/copy-feats ark:theirs ark:- 2>/dev/null |") as reader:
                found = dict(reader)
            self.assertEqual(list(found), list(arrays))
            for key, array in arrays.items():
                np.testing.assert_allclose(found[key], array.astype("f4"), rtol=1e-6 if form == "ark" else 1e-5)
                self.assertEqual(found[key].dtype, np.float32)
        with nnet3.VectorWriter("ark,scp:v.ark,v.scp") as writer:
            writer.write("x", np.array([1.5, -2.0]))
            writer.write("empty", np.zeros(0, "f4"))
        found = dict(nnet3.VectorReader("scp:v.scp"))
        self.assertEqual({key: value.tolist() for key, value in found.items()}, {"x": [1.5, -2.0], "empty": []})
        # Arrays of any order in memory.
        with nnet3.MatrixWriter("ark:turned") as writer:
            writer.write("t", arrays["a"].T)
        np.testing.assert_array_equal(dict(nnet3.MatrixReader("ark:turned"))["t"], arrays["a"].T)

    def test_double_precision(self):
        matrix = np.random.default_rng(2).normal(size=(3, 2))
        for form, kind in (("ark", b"BDM "), ("ark,t", b"[")):
            with nnet3.MatrixWriter(f"{form}:double", dtype="float64") as writer:
                writer.write("a", matrix)
                writer.write("b", np.ones((1, 1), "f4"))
            self.assertIn(kind, Path("double").read_bytes())
            found = dict(nnet3.MatrixReader("ark:double", dtype=np.float64))
            self.assertEqual((found["a"].dtype, found["b"].tolist()), (np.float64, [[1.0]]))
            np.testing.assert_allclose(found["a"], matrix, rtol=0 if form == "ark" else 1e-5)
            np.testing.assert_array_equal(dict(nnet3.MatrixReader("ark:double"))["a"], found["a"].astype("f4"))
        with nnet3.VectorWriter("ark:vectors", dtype=np.float64) as writer:
            writer.write("v", matrix[0])
        np.testing.assert_array_equal(dict(nnet3.VectorReader("ark:vectors", dtype="float64"))["v"], matrix[0])
        # Single precision is read as double precision, too.
        with nnet3.VectorWriter("ark:vectors") as writer:
            writer.write("v", matrix[0])
        np.testing.assert_array_equal(dict(nnet3.VectorReader("ark:vectors", dtype="float64"))["v"], matrix[0].astype("f4"))
        for make in (nnet3.MatrixWriter, nnet3.VectorWriter, nnet3.MatrixReader, nnet3.VectorReader):
            with self.assertRaisesRegex(ValueError, "dtype: expected float32 or float64, found int32"):
                make("ark:vectors", dtype="int32")

    def test_errors_are_exceptions(self):
        with self.assertRaisesRegex(nnet3.Error, "nowhere"):
            nnet3.MatrixReader("scp:nowhere.scp")
        with self.assertRaisesRegex(nnet3.Error, "/nowhere: expected the folder of a model"):
            nnet3.Model("/nowhere")
        with self.assertRaisesRegex(nnet3.Error, "nowhere.raw"):
            nnet3.Network("nowhere.raw")
        writer = nnet3.MatrixWriter("ark:out")
        with self.assertRaisesRegex(TypeError, r"a: expected a matrix of float32 or float64, found an array of shape \(3,\) and type int64"):
            writer.write("a", np.arange(3))
        with self.assertRaisesRegex(ValueError, "must be one word, found \"a b\""):
            writer.write("a b", np.zeros((1, 1), "f4"))
        writer.close()
        with self.assertRaisesRegex(ValueError, "the table is closed"):
            writer.write("a", np.zeros((1, 1), "f4"))
        Path("cut").write_bytes(b"a \0BFM \4\1\0\0\0\4\2\0\0\0abc")
        with self.assertRaisesRegex(nnet3.Error, "cut"):
            list(nnet3.MatrixReader("ark:cut"))
        with self.assertRaisesRegex(ValueError, "kind: expected mfcc, fbank or plp, found mel"):
            nnet3.features(SAMPLES, RATE, kind="mel")
        # Without a file of options, features are of the rate that is given.
        self.assertEqual(nnet3.features(SAMPLES, 8000).shape, (1 + (len(SAMPLES) - 200) // 80, 13))
        Path("mfcc.conf").write_text("--sample-frequency=16000\n")
        with self.assertRaisesRegex(nnet3.Error, "8000"):
            nnet3.features(SAMPLES, 8000, "mfcc.conf")

    def test_names_are_paths_and_no_commands(self):
        model = nnet3.Model(make_recognizer(self))
        expected = nnet3.transcribe(model, SPEECH)["text"]
        Path("config").write_text("input-node name=input dim=2\noutput-node name=output input=input\n")
        self.run_program(BIN / "nnet3-init", "config", "raw")
        Path("conf").write_text("--dither=0\n--num-ceps=7\n")
        names = ["upload; touch RUN |", "| touch RUN", "a:12", "ark:touch RUN |", "-", " a ", "a[0:1]", "scp:x"]
        for name in names:
            # A name without a file is an error, and no command either.
            for call in (lambda: nnet3.transcribe(model, name), lambda: nnet3.Network(name)):
                with self.assertRaisesRegex(nnet3.Error, "No such file"):
                    call()
            shutil.copy(SPEECH, name)
            self.assertEqual(nnet3.transcribe(model, name)["text"], expected, name)
            self.assertEqual(nnet3.transcribe(model, Path.cwd() / name)["file"], str(Path.cwd() / name))
            shutil.copy("raw", name)
            self.assertEqual(nnet3.Network(name).input_dim, 2, name)
            shutil.copy("conf", name)
            if name == name.strip():
                self.assertEqual(nnet3.features(SAMPLES, RATE, name).shape[1], 7, name)
            else:
                with self.assertRaisesRegex(ValueError, "neither begins nor ends with a blank"):
                    nnet3.features(SAMPLES, RATE, name)
            Path(name).unlink()
            self.assertFalse(Path("RUN").exists(), name)
        # A command has an argument of its own.
        for command in (f"cat {SPEECH}", f"cat {SPEECH} | cat |"):
            self.assertEqual(nnet3.transcribe(model, command=command)["text"], expected)
        self.assertEqual(nnet3.Network(command="cat raw").input_dim, 2)
        with self.assertRaisesRegex(nnet3.Error, "exit status: 3"):
            nnet3.Network(command="exit 3")
        for arguments in ({}, {"recording": SPEECH, "command": "cat x"}):
            with self.assertRaisesRegex(TypeError, "expected recording, (the name of a file, )?or command, and not both"):
                nnet3.transcribe(model, **arguments)

    def test_tables_without_commands(self):
        marker = Path("RUN")
        with nnet3.MatrixWriter("ark,scp:a.ark,a.scp", commands=False) as writer:
            for key in ("u1", "u2"):
                writer.write(key, np.ones((3, 2), "f4"))
        Path("range.scp").write_text("u1 a.ark:3[0:1]\n")
        Path("to.scp").write_text("u1 one.mat\n")
        with nnet3.MatrixWriter("scp:to.scp", commands=False) as writer:
            writer.write("u1", np.full((1, 1), 4, "f4"))
        self.assertIn(b"BFM ", Path("one.mat").read_bytes())
        for rspecifier, rows in (("ark:a.ark", [3, 3]), ("scp:a.scp", [3, 3]), ("scp,bg:a.scp", [3, 3]), ("scp:range.scp", [2])):
            found = [len(matrix) for _, matrix in nnet3.MatrixReader(rspecifier, commands=False)]
            self.assertEqual(found, rows, rspecifier)
        lines = {"end": "u1 touch RUN; cat a.ark |", "range": "u1 touch RUN; cat a.ark |[0:1]", "later": "u1 a.ark:3\nu2 touch RUN |",
                 "blank": "u1\vtouch RUN |\t"}
        for name, text in lines.items():
            Path(f"{name}.scp").write_text(text + "\n")
        Path("out.scp").write_text("u1 | touch RUN\n")
        read = ["ark:touch RUN |", "ark,bg:touch RUN |", "scp:touch RUN |", "scp,p:touch RUN; cat a.scp |", *(f"scp:{name}.scp" for name in lines),
                "scp,bg:end.scp"]
        write = ["ark:| touch RUN", "ark,scp:| touch RUN,x", "ark,scp:x,| touch RUN", "scp:touch RUN |", "scp:out.scp"]
        for makers, specifiers in (((nnet3.MatrixReader, nnet3.VectorReader), read), ((nnet3.MatrixWriter, nnet3.VectorWriter), write)):
            for make in makers:
                for specifier in specifiers:
                    for dtype in ("float32", "float64"):
                        with self.assertRaisesRegex(ValueError, "is a command, and commands=False allows none"):
                            make(specifier, dtype, commands=False)
        self.assertFalse(marker.exists())
        # A file of the form of a command could be gone when it is opened.
        Path("x |").write_bytes(Path("a.ark").read_bytes())
        self.assertEqual(len(list(nnet3.MatrixReader("ark:x |"))), 2)
        with self.assertRaisesRegex(ValueError, "allows none"):
            nnet3.MatrixReader("ark:x |", commands=False)
        # Messages name the script, not the copy of it that is read; the copy is gone at the end.
        Path("bad.scp").write_text("u1 nowhere.ark:3\n")
        with self.assertRaisesRegex(nnet3.Error, "^bad.scp, key 'u1': .*nowhere.ark"):
            list(nnet3.MatrixReader("scp:bad.scp", commands=False))
        with self.assertRaisesRegex(nnet3.Error, "cannot open nowhere.scp"):
            nnet3.MatrixReader("scp:nowhere.scp", commands=False)
        self.assertEqual(list(Path(tempfile.gettempdir()).glob(f"nnet3-script-{os.getpid()}-*")), [])
        nnet3.MatrixReader("scp:touch RUN |").close()
        self.assertTrue(marker.exists(), "commands are the rule of Kaldi")

    def test_floats_of_both_scales_are_the_same_sound(self):
        model = nnet3.Model(make_recognizer(self))
        Path("conf").write_text("--dither=0\n")
        features, inputs = nnet3.features(SAMPLES, RATE, "conf"), model.inputs(SAMPLES, RATE)[0]
        unit = SAMPLES / np.float32(32768)
        text = nnet3.transcribe(model, SAMPLES, sample_rate=RATE)["text"]
        recognizer = nnet3.Recognizer(model, RATE)
        for sound in (unit, unit.astype("f8"), SAMPLES.astype("f4"), SAMPLES.astype("f8")):
            np.testing.assert_array_equal(nnet3.features(sound, RATE, "conf"), features)
            np.testing.assert_array_equal(model.inputs(sound, RATE)[0], inputs)
            self.assertEqual(nnet3.transcribe(model, sound, sample_rate=RATE)["text"], text)
            # One recogniser for all: a new sound may have another scale.
            for begin in range(0, len(sound), 1600):
                recognizer.accept(sound[begin:begin + 1600])
            self.assertEqual(recognizer.final_result()["text"], text)
        # Quiet pieces behind the first one that tells keep the scale, and digital silence does not tell.
        quiet = np.tile(np.array([0, 1, 0, -1], "f4"), 800)
        expected = [recognizer.accept(piece) for piece in (quiet.astype("i2"), SAMPLES, quiet.astype("i2"))], recognizer.final_result()
        found = [recognizer.accept(piece) for piece in (quiet, SAMPLES.astype("f4"), quiet)], recognizer.final_result()
        self.assertEqual(found, expected)
        half = np.full(1600, 0.5, "f4")
        recognizer.accept(half)
        with self.assertRaisesRegex(ValueError, "samples: found .* behind samples between -1 and 1"):
            recognizer.accept(SAMPLES.astype("f4"))
        recognizer.accept(SAMPLES)
        recognizer.reset()
        recognizer.accept(SAMPLES.astype("f4"))
        recognizer.accept(half)
        recognizer.final_result()

    def test_samples_that_are_no_numbers_are_refused_everywhere(self):
        model = nnet3.Model(make_recognizer(self))
        recognizer = nnet3.Recognizer(model, RATE)
        recognizer.accept(SAMPLES)
        calls = (lambda sound: nnet3.transcribe(model, sound, sample_rate=RATE), lambda sound: nnet3.features(sound, RATE),
                 lambda sound: model.inputs(sound, RATE), recognizer.accept)
        for bad, shown in ((np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")):
            for dtype in ("f4", "f8"):
                sound = np.where(np.arange(4000) == 1234, bad, 0.1).astype(dtype)
                for call in calls:
                    with self.assertRaisesRegex(ValueError, f"(samples|recording): sample 1234 is {shown}$"):
                        call(sound)
        for call in calls:
            with self.assertRaisesRegex(ValueError, "element 1 is 1e300, which float32 cannot hold"):
                call(np.array([0, 1e300]))
            with self.assertRaisesRegex(ValueError, "expected an array without a mask"):
                call(np.ma.array(SAMPLES, mask=SAMPLES > 0))
        self.assertEqual(recognizer.final_result()["text"], nnet3.transcribe(model, SAMPLES, sample_rate=RATE)["text"])

    def test_arrays_are_stored_as_they_are_or_not_at_all(self):
        matrix = np.array([[1.0, 2.0], [3.0, -1e300]])
        with nnet3.MatrixWriter("ark:m") as writer:
            with self.assertRaisesRegex(ValueError, r"a: element \(1, 1\) is -1e300, which float32 cannot hold"):
                writer.write("a", matrix)
            writer.write("b", np.array([[np.inf, np.nan]]))
            with self.assertRaisesRegex(ValueError, "c: expected an array without a mask"):
                writer.write("c", np.ma.array(np.ones((2, 2)), mask=np.eye(2)))
        np.testing.assert_array_equal(dict(nnet3.MatrixReader("ark:m"))["b"], [[np.inf, np.nan]])
        with nnet3.VectorWriter("ark:v") as writer:
            with self.assertRaisesRegex(ValueError, "a: element 1 is -1e300"):
                writer.write("a", matrix[1])
        with nnet3.MatrixWriter("ark:d", dtype="float64") as writer:
            writer.write("a", matrix)
        np.testing.assert_array_equal(dict(nnet3.MatrixReader("ark:d", dtype="float64"))["a"], matrix)
        for arrays in ({"u": matrix}, {"u": np.ma.array(np.ones((2, 2)), mask=np.eye(2))}):
            with self.assertRaisesRegex(ValueError, "features of u: "):
                nnet3.compute("raw", arrays)

    def test_features_of_too_short_a_sound_have_their_dimension(self):
        for kind, dim in (("mfcc", 13), ("fbank", 23), ("plp", 13)):
            for sound in (SAMPLES[:0], SAMPLES[:100], np.zeros(0)):
                self.assertEqual(nnet3.features(sound, RATE, kind=kind).shape, (0, dim))
            self.assertEqual(nnet3.features(SAMPLES, RATE, kind=kind).shape[1], dim)

    def test_rates_have_one_name_and_any_type_of_number(self):
        model = nnet3.Model(make_recognizer(self))
        Path("conf").write_text("--dither=0\n")
        expected = nnet3.features(SAMPLES, RATE, "conf")
        text = nnet3.transcribe(model, SAMPLES, sample_rate=RATE)["text"]
        for name in ("sample_rate", "rate"):
            for kind in (int, float, np.int32, np.float32, np.float64):
                rate = {name: kind(RATE)}
                np.testing.assert_array_equal(nnet3.features(SAMPLES, config="conf", **rate), expected)
                np.testing.assert_array_equal(model.inputs(SAMPLES, **rate)[0], model.inputs(SAMPLES, RATE)[0])
                self.assertEqual(nnet3.transcribe(model, SAMPLES, **rate)["text"], text)
                recognizer = nnet3.Recognizer(model, **rate)
                recognizer.accept(SAMPLES)
                self.assertEqual(recognizer.final_result()["text"], text)
        calls = (lambda **rate: nnet3.features(SAMPLES, **rate), lambda **rate: model.inputs(SAMPLES, **rate),
                 lambda **rate: nnet3.transcribe(model, SAMPLES, **rate), lambda **rate: nnet3.Recognizer(model, **rate))
        for call in calls:
            for rate in (0, -16000, float("nan"), float("inf"), 10**400):
                with self.assertRaisesRegex(ValueError, "^sample_rate: expected a (positive )?number, found"):
                    call(sample_rate=rate)
            with self.assertRaisesRegex(TypeError, "^sample_rate: expected a number, found str"):
                call(sample_rate="16000")
            with self.assertRaisesRegex(TypeError, "expected sample_rate or rate"):
                call(sample_rate=RATE, rate=RATE)
            with self.assertRaisesRegex(TypeError, "^sample_rate: expected the rate of the (array's )?samples"):
                call()
        with self.assertRaisesRegex(ValueError, "sample_rate: expected a whole number of Hz, found 16000.5"):
            nnet3.transcribe(model, SAMPLES, sample_rate=16000.5)

    def test_errors_name_the_argument(self):
        folder = make_recognizer(self)
        model = nnet3.Model(folder)
        network = model.network()
        features = np.zeros((20, 2), "f4")

        def refused(error, words, function, *arguments, **options):
            with self.assertRaisesRegex(error, words):
                function(*arguments, **options)

        for name, least in (("frames_per_chunk", 1), ("frame_subsampling_factor", 1), ("extra_left_context", 0), ("extra_right_context", 0),
                            ("extra_left_context_initial", -1), ("extra_right_context_final", -1), ("online_ivector_period", 1)):
            for compute in (network.compute, model.compute):
                for number in (least - 1, 2**31, -2**70):
                    refused(ValueError, f"^{name}: expected a number from {least} to 2147483647, found {number}", compute, features, **{name: number})
                refused(TypeError, f"^{name}: expected a whole number, found float", compute, features, **{name: 1.5})
                self.assertEqual(compute(features, **{name: least if name != "online_ivector_period" else 2**31 - 1}).shape[1], 44)
        for scale in (0, -1, float("nan"), 1e300):
            refused(ValueError, "^acoustic_scale: expected a number", network.compute, features, acoustic_scale=scale)
        for number in (-1, 1001, 2**40, 2**70):
            for function, arguments in ((nnet3.transcribe, (model, SPEECH)), (nnet3.Recognizer, (model, RATE))):
                refused(ValueError, f"^alternatives: expected a number from 0 to 1000, found {number}", function, *arguments, alternatives=number)
        Path("corpus").mkdir()
        for threads in (0, -1, -2**70):
            refused(ValueError, "^threads: expected at least 1, found", nnet3.Model, folder, threads=threads)
            refused(ValueError, "^threads: expected at least 1, found", nnet3.align, "corpus", "letters", threads=threads)
        for function, arguments in ((nnet3.transcribe, (model, SPEECH)), (nnet3.Recognizer, (model, RATE))):
            refused(TypeError, r"^phrases: expected a list of texts \(str\), found str", function, *arguments, phrases="w1")
            refused(TypeError, "^phrases: .* found list with other objects", function, *arguments, phrases=[3])
        refused(TypeError, "^text_extensions: expected a list", nnet3.align, "corpus", "letters", text_extensions="txt")
        for name, number in ((3, "int"), (b"model", "bytes"), (None, "NoneType")):
            refused(TypeError, f"^folder: expected a name, .* found {number}", nnet3.Model, name)
        refused(TypeError, "^path: expected a name, .* found bytes", nnet3.Network, b"raw")
        refused(ValueError, "^folder: expected a name, found an empty one", nnet3.Model, "")
        refused(ValueError, "^path: expected a name, found an empty one", nnet3.Network, "")
        refused(ValueError, "^recording: expected a name, found an empty one", nnet3.transcribe, model, "")
        refused(ValueError, "^command: expected a shell command, found an empty one", nnet3.transcribe, model, command=" ")
        with open(SPEECH, "rb") as file:
            file.read()
            refused(nnet3.Error, r"the file has no bytes from its position on \(seek\(0\)", nnet3.transcribe, model, file)

        class Silent:
            def read(self):
                return None

        refused(TypeError, r"^recording: expected bytes of the object's read\(\), found NoneType", nnet3.transcribe, model, Silent())
        for shape in ((0, 2), (2, 0), (0, 0)):
            refused(ValueError, "^recording: the array of . × . is empty", nnet3.transcribe, model, np.zeros(shape, "i2"), sample_rate=RATE)
        refused(TypeError, "^features: expected a dictionary of names and arrays, found list", nnet3.compute, "raw", [1])
        refused(TypeError, "^the name of an utterance must be a str, found int", nnet3.compute, "raw", {1: features})
        self.assertRegex(repr(network), r'^<nnet3.Network ".*final.mdl": 2 columns -> "output", 44 columns>$')

    def test_output_that_is_no_text_says_how_to_get_bytes(self):
        finder = nnet3._programs.find_bin
        self.addCleanup(setattr, nnet3._programs, "find_bin", finder)
        nnet3._programs.find_bin = lambda name="nnet3": str(BIN / name)
        with nnet3.MatrixWriter("ark:a") as writer:
            writer.write("u", np.full((3, 3), -1.5, "f4"))
        with self.assertRaisesRegex(ValueError, 'copy-feats wrote bytes that are no text: with input=b"" run returns bytes'):
            nnet3.run("copy-feats", "ark:a", "ark:-")
        self.assertEqual(nnet3.run("copy-feats", "ark:a", "ark:-", input=b""), Path("a").read_bytes())

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_results_have_types(self):
        Path("use.py").write_text(
            "import array\nfrom pathlib import Path\nimport nnet3\nimport numpy as np\n"
            "model = nnet3.Model('m', allow_upsample=False)\nresult = nnet3.transcribe(model, 'x.wav', sample_rate=16000.0)\n"
            "word: str = result['segments'][0]['words'][0]['word']\nrecording: nnet3.Recording = result\n"
            "segment: nnet3.Segment = result.segments[0]\nstart: float = segment.start\nfirst: nnet3.Word = segment.words[0]\n"
            "with nnet3.MatrixReader('ark:a', commands=False) as reader:\n    names: list[str] = [name for name, _ in reader]\n"
            "    shape = reader['a'].shape\n    there: bool = 'a' in reader\n"
            "nnet3.MatrixReader(Path('a.scp'))\n"
            "with nnet3.VectorWriter('ark:a') as writer:\n    writer.write('a', np.zeros(3))\n"
            "outputs = nnet3.compute('raw', {'u': np.zeros((3, 2))}, frames_per_chunk=50)\n"
            "scores = model.compute(np.zeros((3, 2)), frames_per_chunk=50)\n"
            "recognizer = nnet3.Recognizer(model, 16000)\nrate: float = recognizer.sample_rate\n"
            "for sound in (b'12', bytearray(4), memoryview(b'1234'), array.array('h', [1])):\n    recognizer.accept(sound)\n"
            "sentence: nnet3.Sentence = recognizer.final_result()\ntext: str = sentence['text']\n"
            "aligned = nnet3.align({'a.wav': 'x'}, 'letters', progress=lambda done, total, name: print(done / total, name))\n"
            "nnet3.align([(Path('a.wav'), 'x')], 'letters', progress=True)\n"
            "interval: nnet3.Interval = aligned.intervals[0]\nseconds: float = interval.duration\n"
            "try:\n    nnet3.run('x')\nexcept nnet3.ProgramError as error:\n    status: int = error.status\n"
            "except (nnet3.NotFoundError, nnet3.ArchiveError, nnet3.Error) as other:\n    print(other)\n"
        )
        Path("misuse.py").write_text(
            "import nnet3\nimport numpy as np\n"
            "model = nnet3.Model('m')\n"
            "nnet3.transcribe(model, 'x.wav')['txt']\n"
            "model.compute(np.zeros((3, 2)), chunk=50)\n"
            "nnet3.MatrixReader('ark:a').__enter__().nothing\n"
            "nnet3.compute('raw', [1])\n"
            "nnet3.transcribe(model, 'x.wav').segment\n"
            "nnet3.Recognizer(model, 16000).accept('text')\n"
            "nnet3.align([('a.wav', 'x')], 'letters', progress=7)\n"
        )
        environment = {**os.environ, "MYPYPATH": FOLDER.name}
        check = [sys.executable, "-m", "mypy", "--python-version=3.12", "--cache-dir=cache", "--follow-imports=silent"]
        done = subprocess.run([*check, "use.py"], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = subprocess.run([*check, "misuse.py"], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(sorted(int(line.split(":")[1]) for line in done.stdout.splitlines() if "error:" in line), [4, 5, 6, 7, 8, 9, 10], done.stdout)

    def test_a_loop_over_a_failed_command_raises(self):
        with nnet3.MatrixWriter("ark:a.ark") as writer:
            writer.write("u1", np.ones((3, 2), "f4"))
        for command in ("cat a.ark; exit 3", "cat a.ark; kill -9 $$", "(cat a.ark; exit 3) | cat"):
            found = []
            with self.assertRaisesRegex(nnet3.Error, "exit status: 3|signal: 9"):
                for key, _ in nnet3.MatrixReader(f"ark:{command} |"):
                    found.append(key)
            self.assertEqual(found, ["u1"])
        Path("x.scp").write_text("u1 cat a.ark; exit 3 |\n")
        with self.assertRaisesRegex(nnet3.Error, "x.scp, key 'u1'"):
            list(nnet3.MatrixReader("scp:x.scp"))
        reader = nnet3.MatrixReader("ark:cat a.ark |")
        self.assertEqual(len(list(reader)), 1)
        self.assertEqual(list(reader), [], "a reader at its end stays there")
        reader.close()
        with self.assertRaisesRegex(ValueError, "the table is closed"):
            next(reader)

    def test_errors_within_a_block_stay_what_they_are(self):
        with self.assertRaisesRegex(nnet3.Error, "/dev/full: No space left on device"):
            with nnet3.MatrixWriter("ark:/dev/full") as writer:
                writer.write("a", np.ones((300, 300), "f4"))
                writer.write("b", np.ones((300, 300), "f4"))
        with self.assertRaisesRegex(nnet3.Error, "/dev/full: No space left on device"):
            with nnet3.MatrixWriter("ark:/dev/full") as writer:
                writer.write("a", np.ones((1, 1), "f4"))
        with self.assertRaisesRegex(nnet3.Error, "'false' failed: exit status: 1"):
            with nnet3.MatrixWriter("ark:| false") as writer:
                for i in range(100):
                    writer.write(f"k{i}", np.ones((300, 300), "f4"))
        with self.assertRaisesRegex(KeyError, "mine"):
            with nnet3.MatrixReader("ark:echo 'a [ 1 2 ]'; exit 3 |"):
                raise KeyError("mine")
        Path("old.ark").write_text("a [ 1 2 ]\n")
        with self.assertRaisesRegex(TypeError, "b: expected a matrix"):
            with nnet3.MatrixWriter("ark:old.ark") as writer:
                writer.write("a", np.ones((1, 1), "f4"))
                writer.write("b", "no array")
        self.assertEqual(Path("old.ark").read_text(), "a [ 1 2 ]\n", "a table that is not complete replaces none")

    def test_arrays_without_memory(self):
        large = np.broadcast_to(np.float32(1), (1 << 25, 1 << 25))
        for call in (
            lambda: nnet3.MatrixWriter("ark:out").write("a", large),
            lambda: nnet3.MatrixWriter("ark:out", dtype="float64").write("a", large),
            lambda: nnet3.VectorWriter("ark:out").write("a", np.broadcast_to(np.float64(1), (1 << 50,))),
            lambda: nnet3.features(np.broadcast_to(np.int16(1), (1 << 50,)), RATE),
        ):
            with self.assertRaisesRegex(MemoryError, "there is not enough memory for"):
                call()

    def test_empty_matrices_of_numpy(self):
        Path("in").write_bytes(b"a \0BFM \4\0\0\0\0\4\15\0\0\0b \0BDM \4\15\0\0\0\4\0\0\0\0c \0BFM \4\1\0\0\0\4\1\0\0\0\0\0\200\77")
        found = {key: matrix.shape for key, matrix in nnet3.MatrixReader("ark:in")}
        self.assertEqual(found, {"a": (0, 0), "b": (0, 0), "c": (1, 1)})
        # Files have no rows or columns of a matrix without elements.
        for dtype in ("float32", "float64"):
            with nnet3.MatrixWriter("ark:out", dtype=dtype) as writer:
                for shape in ((0, 13), (13, 0)):
                    with self.assertWarnsRegex(UserWarning, f"^a: a matrix of {shape[0]} × {shape[1]} is written as 0 × 0"):
                        writer.write("a", np.zeros(shape, "f4"))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    writer.write("b", np.zeros((0, 0), "f4"))
            self.assertEqual([(key, matrix.shape) for key, matrix in nnet3.MatrixReader("ark:out")],
                             [("a", (0, 0)), ("a", (0, 0)), ("b", (0, 0))])
            # Kaldi's programs refuse another header of an empty matrix.
            token = b"F" if dtype == "float32" else b"D"
            entries = b"".join(key + b" \0B" + token + b"M \4\0\0\0\0\4\0\0\0\0" for key in (b"a", b"a", b"b"))
            self.assertEqual(Path("out").read_bytes(), entries)

    def test_features_are_those_of_the_programs(self):
        Path("wav.scp").write_text(f"u {SPEECH}\n")
        Path("conf").write_text("--dither=0\n")
        for kind in ("mfcc", "fbank", "plp"):
            self.run_program(BIN / f"compute-{kind}-feats", "--config=conf", "scp:wav.scp", "ark:feats")
            expected = dict(nnet3.MatrixReader("ark:feats"))["u"]
            for sound in (SAMPLES, SAMPLES.astype("f4"), SAMPLES.astype("f8"), PCM):
                np.testing.assert_array_equal(nnet3.features(sound, RATE, "conf", kind), expected)

    def test_outputs_are_those_of_nnet3_compute(self):
        Path("config").write_text(
            "input-node name=input dim=4\ninput-node name=ivector dim=2\n"
            "component name=a type=AffineComponent input-dim=14 output-dim=6\n"
            "component name=x type=AffineComponent input-dim=6 output-dim=3\n"
            "component name=s type=LogSoftmaxComponent dim=3\n"
            "component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2), ReplaceIndex(ivector, t, 0))\n"
            "component-node name=x component=x input=a\ncomponent-node name=s component=s input=x\n"
            "output-node name=output input=a\noutput-node name=output-xent input=s\n"
        )
        self.run_program(BIN / "nnet3-init", "--srand=2", "config", "raw")
        random = np.random.default_rng(3)
        features, ivector = random.normal(size=(75, 4)).astype("f4"), random.normal(size=2).astype("f4")
        with nnet3.MatrixWriter("ark:feats") as writer, nnet3.VectorWriter("ark:ivectors") as vectors:
            writer.write("u", features)
            vectors.write("u", ivector)
        network = nnet3.Network("raw")
        self.assertEqual((network.outputs, network.output), (["output", "output-xent"], "output"))
        self.assertEqual((network.input_dim, network.ivector_dim, network.output_dim), (4, 2, 6))
        edits = "remove-output-nodes name=output;rename-node old-name=output-xent new-name=output"
        self.run_program(BIN / "nnet3-copy", f"--edits={edits}", "raw", "xent")
        for model, network in (("raw", network), ("xent", nnet3.Network("raw", output="output-xent"))):
            for subsampling in (1, 3):
                self.run_program(
                    BIN / "nnet3-compute", "--use-gpu=no", "--ivectors=ark:ivectors", "--frames-per-chunk=20",
                    f"--frame-subsampling-factor={subsampling}", model, "ark:feats", "ark:out")
                expected = dict(nnet3.MatrixReader("ark:out"))["u"]
                found = network.compute(features, ivector, frames_per_chunk=20, frame_subsampling_factor=subsampling)
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "raw: the network has no output 'x', but output, output-xent"):
            nnet3.Network("raw", output="x")
        with self.assertRaisesRegex(nnet3.Error, "ivector"):
            network.compute(features)

    def test_words_are_those_of_nnet3_transcribe(self):
        folder = make_recognizer(self)
        expected = json.loads(self.run_program(BIN / "nnet3-transcribe", "--format=json", folder, SPEECH))
        model = nnet3.Model(folder)
        self.assertEqual((model.sample_rate, model.word_number("w7"), model.word_number("x")), (16000, 7, None))
        found = nnet3.transcribe(model, str(SPEECH))
        self.assertEqual((found["text"], found["segments"]), (expected["text"], expected["segments"]))
        recognizer = nnet3.Recognizer(model, RATE, alternatives=2)
        for _ in range(2):
            self.assertEqual(recognizer.partial(), "")
            self.assertFalse(recognizer.accept(SAMPLES[:7000]))
            self.assertFalse(recognizer.accept(SAMPLES[7000:]))
            self.assertTrue(recognizer.partial())
            result = recognizer.final_result()
            self.assertEqual((result["text"], result["words"]), (expected["text"], expected["segments"][0]["words"]))
            self.assertEqual(result["alternatives"][0]["text"], expected["text"])
        self.assertEqual(recognizer.final_result()["text"], "")
        with self.assertRaisesRegex(nnet3.Error, "phrases need a model with a graph of two halves"):
            nnet3.Recognizer(model, RATE, phrases=["w1 w2"])
        with self.assertRaisesRegex(ValueError, "rate: expected a positive number, found 0"):
            nnet3.Recognizer(model, 0)

    def test_a_recording_may_be_a_file_bytes_or_an_array(self):
        folder = make_recognizer(self)
        model = nnet3.Model(folder)
        expected = json.loads(self.run_program(BIN / "nnet3-transcribe", "--format=json", folder, SPEECH))["segments"]
        data = SPEECH.read_bytes()
        flac = SPEECH.with_suffix(".flac").read_bytes()
        for kind, sound in [("bytes", data), ("bytearray", bytearray(data)), ("memoryview", memoryview(flac)), ("flac", flac)]:
            self.assertEqual(nnet3.transcribe(model, sound)["segments"], expected, kind)
        self.assertEqual(nnet3.transcribe(model, io.BytesIO(data))["file"], "recording")
        with open(SPEECH, "rb") as file:
            found = nnet3.transcribe(model, file)
            self.assertEqual((found["file"], found["segments"]), (str(SPEECH), expected))
        unit = SAMPLES / 32768
        for sound in (SAMPLES, SAMPLES.astype("f4"), SAMPLES.astype("f8"), unit, unit.astype("f4"), unit.reshape(-1, 1), PCM):
            self.assertEqual(nnet3.transcribe(model, sound, sample_rate=RATE)["segments"], expected)
        # Channels, as the program takes them.
        pair = np.stack([SAMPLES, np.roll(SAMPLES, 3000)], axis=1)
        with wave.open("pair.wav", "wb") as out:
            out.setnchannels(2)
            out.setsampwidth(2)
            out.setframerate(RATE)
            out.writeframes(pair.astype("<i2").tobytes())
        for channels in ("first", "mix", "each", 2):
            line = self.run_program(BIN / "nnet3-transcribe", "--format=json", f"--channels={channels}", folder, "pair.wav")
            for sound, rate in (("pair.wav", None), (pair, RATE), (pair / np.float32(32768), RATE)):
                found = nnet3.transcribe(model, sound, sample_rate=rate, channels=channels)
                self.assertEqual(found["segments"], json.loads(line)["segments"], channels)
        line = self.run_program(BIN / "nnet3-transcribe", "--format=json", "--alternatives=3", folder, SPEECH)
        self.assertEqual(nnet3.transcribe(model, SPEECH, alternatives=3)["segments"], json.loads(line)["segments"])

        def refused(error, words, *arguments, **options):
            with self.assertRaisesRegex(error, words):
                nnet3.transcribe(model, *arguments, **options)

        refused(TypeError, "sample_rate: expected the rate of the array's samples", SAMPLES)
        refused(TypeError, "sample_rate is for samples: a file has its rate", SPEECH, sample_rate=RATE)
        refused(TypeError, "expected recording, or command, and not both", SPEECH, command="true")
        refused(TypeError, "expected the name of a file, .* an array of int16", 7)
        refused(TypeError, "expected the name of a file, .* found an array of shape .* int64", np.zeros(9, "i8"), sample_rate=RATE)
        refused(TypeError, "open for bytes", io.StringIO("text"))
        refused(ValueError, r"samples × channels, found one of 2 × \d+: is it turned", pair.T, sample_rate=RATE)
        refused(ValueError, "sample 5 is NaN", np.where(np.arange(9) == 5, np.nan, 0.1), sample_rate=RATE)
        refused(ValueError, "channels=left: ", SPEECH, channels="left")
        refused(ValueError, "sample_rate: expected a number from 1000 to 192000", SAMPLES, sample_rate=1)
        refused(ValueError, "sample_rate and channels: ", np.zeros((300, 300), "i2"), sample_rate=RATE)
        refused(nnet3.Error, "has no channel 3", pair, sample_rate=RATE, channels=3)
        refused(nnet3.Error, "recording: expected a recording, found a text", b"this is no sound, but a text")
        refused(nnet3.Error, "phrases need a model with a graph of two halves", SPEECH, phrases=["w1"])

    def test_words_do_not_depend_on_the_sizes_of_pieces(self):
        model = nnet3.Model(make_recognizer(self))
        expected = nnet3.transcribe(model, SPEECH)["text"]
        for size in (1, 160, 3199, 3200, 5000, len(SAMPLES)):
            recognizer = nnet3.Recognizer(model, RATE)
            for begin in range(0, len(SAMPLES), size):
                recognizer.accept(SAMPLES[begin:begin + size])
            self.assertEqual(recognizer.final_result()["text"], expected, size)

    def test_inputs_are_those_of_the_programs(self):
        folder = make_recognizer(self)
        model = nnet3.Model(folder)
        self.assertEqual(repr(model), f"<nnet3.Model \"{folder}\": 16000 Hz>")
        features, ivectors = model.inputs(SAMPLES, RATE)
        self.assertIsNone(ivectors)
        np.testing.assert_array_equal(features, nnet3.features(SAMPLES, RATE, config=folder / "conf" / "mfcc.conf"))
        data = ROOT / "tests" / "data" / "ivectors"
        (folder / "ivector").mkdir()
        for name in ("final.ie", "final.dubm", "final.mat", "global_cmvn.stats", "online_cmvn.conf", "splice.conf"):
            shutil.copy(data / name, folder / "ivector" / name)
        Path("config").write_text(
            "input-node name=input dim=2\ninput-node name=ivector dim=3\n"
            "component name=a type=AffineComponent input-dim=5 output-dim=44 param-stddev=0.3\n"
            "component-node name=a component=a input=Append(input, ReplaceIndex(ivector, t, 0))\n"
            "output-node name=output input=a\n"
        )
        self.run_program(BIN / "nnet3-init", "--srand=3", "config", "raw")
        mono = ROOT / "crates" / "nnet3-decode" / "tests" / "data" / "mono.mdl"
        self.run_program(BIN / "nnet3-am-init", mono, "raw", folder / "am" / "final.mdl")
        model = nnet3.Model(folder)
        features, ivectors = model.inputs(SAMPLES, RATE)
        self.assertEqual(ivectors.shape, ((len(features) + 9) // 10, 3))
        self.assertEqual(model.compute(features, ivectors).shape, (len(features), 44))
        with self.assertRaisesRegex(nnet3.Error, "ivector"):
            model.compute(features)
        Path("ivector.conf").write_text("".join(
            f"--{name}={data}/{file}\n" for name, file in [
                ("lda-matrix", "final.mat"), ("global-cmvn-stats", "global_cmvn.stats"), ("cmvn-config", "online_cmvn.conf"),
                ("splice-config", "splice.conf"), ("diag-ubm", "final.dubm"), ("ivector-extractor", "final.ie"),
            ]))
        with nnet3.MatrixWriter("ark:feats") as writer:
            writer.write("u", features)
        Path("spk2utt").write_text("u u\n")
        self.run_program(BIN / "ivector-extract-online2", "--config=ivector.conf", "--ivector-period=10", "ark:spk2utt", "ark:feats",
                         "ark:ivectors")
        expected = dict(nnet3.MatrixReader("ark:ivectors"))["u"]
        # The programs have no sound behind a frame, the recogniser has that of a step: the last ones agree.
        self.assertEqual(ivectors.shape, expected.shape)
        np.testing.assert_allclose(ivectors[-1], expected[-1], rtol=0.05, atol=0.05)

    def test_signatures_and_unknown_programs(self):
        self.assertNotIn("llipsis", str(inspect.signature(nnet3.Network.compute)))
        self.assertIn("extra_left_context_initial=-1", str(inspect.signature(nnet3.Network.compute)))
        self.assertIn("channels='first'", str(inspect.signature(nnet3.transcribe)))
        self.assertEqual(inspect.signature(nnet3.run).parameters["name"].annotation, "str")
        finder = nnet3._programs.find_bin
        self.addCleanup(setattr, nnet3._programs, "find_bin", finder)
        nnet3._programs.find_bin = lambda name="nnet3": str(BIN / name)
        with self.assertRaisesRegex(nnet3.ProgramError, r"^nix ended with status 1: nnet3: there is no program 'nix'"):
            nnet3.run("nix")
        self.assertIn("nnet3-transcribe", nnet3.run("nnet3", "--list=names").split())

    def test_recordings_with_faults_are_reported(self):
        model = nnet3.Model(make_recognizer(self))
        header, data = SPEECH.read_bytes()[:44], SPEECH.read_bytes()[44:]
        Path("cut.wav").write_bytes(header + data[:-4000])
        with self.assertWarnsRegex(UserWarning, "cut.wav: "):
            found = nnet3.transcribe(model, "cut.wav")
        self.assertTrue(found["text"] and found["warnings"])
        for size, expected in ((0, "has no samples"), (20, "has 10 samples, too few for a frame")):
            Path("short.wav").write_bytes(header[:4] + (36 + size).to_bytes(4, "little") + header[8:40]
                                          + size.to_bytes(4, "little") + data[:size])
            with self.assertRaisesRegex(nnet3.Error, f"short.wav: the recording {expected}"):
                nnet3.transcribe(model, "short.wav")

    def test_recordings_with_faults_are_those_of_the_program(self):
        """The column of Python in docs/sound.md: the same words and the same warnings, or an error, however the recording is given."""
        folder = make_recognizer(self)
        model = nnet3.Model(folder)
        kinds = ["wav", "aiff", "caf", "flac", "mp3", "aac", "ogg", "m4a", "mkv"] + (["opus", "webm", "wma"] if shutil.which("ffmpeg") else [])
        seen = {"right": 0, "warned": 0, "refused": 0}
        for kind in kinds:
            whole = (ROOT / "crates/kaldi-sound/tests/data" / f"chirp.{kind}").read_bytes()
            at = len(whole) * 4 // 7
            for case, data in {"whole": whole, "cut": whole[:at], "joined": whole + whole, "gap": whole[:at] + whole[at + len(whole) // 9:]}.items():
                path = Path(f"{case}.{kind}")
                path.write_bytes(data)
                ways = {"name": path, "bytes": data, "file": io.BytesIO(data), "command": f"cat {path}"}
                done = subprocess.run([BIN / "nnet3-transcribe", "--format=json", "--channels=first", folder, path], capture_output=True, text=True, check=False)
                expected = [line.partition(f"{path}: ")[2] for line in done.stderr.splitlines() if line.startswith("WARNING")]
                for way, sound in ways.items():
                    with warnings.catch_warnings(record=True) as caught, self.subTest(f"{path}, {way}"):
                        warnings.simplefilter("always")
                        given = {"command": sound} if way == "command" else {"recording": sound}
                        if done.returncode:
                            with self.assertRaises(nnet3.Error):
                                nnet3.transcribe(model, **given)
                            seen["refused"] += 1
                            continue
                        found = nnet3.transcribe(model, **given)
                        self.assertEqual(found["segments"], json.loads(done.stdout)["segments"])
                        self.assertEqual(found.get("warnings", []), expected)
                        self.assertEqual(len(caught), len(expected))
                        seen["warned" if expected else "right"] += 1
                        self.assertFalse(case in ("cut", "gap") and not expected, "sound is lost without a word")
        self.assertTrue(all(seen.values()), seen)

    def test_the_odd_byte_of_a_piece_belongs_to_the_next_one(self):
        model = nnet3.Model(str(make_recognizer(self)))
        data = SAMPLES.astype("<i2").tobytes()

        def text(piece):
            recognizer = nnet3.Recognizer(model, RATE)
            for begin in range(0, len(data), piece):
                recognizer.accept(data[begin:begin + piece])
            return recognizer.final_result()["text"]

        expected = text(3200)
        self.assertTrue(expected)
        self.assertEqual([text(3201), text(333)], [expected] * 2)

    def test_threads_with_a_small_stack(self):
        """A stack of 32 kB, the smallest that Python gives a thread, ended the process where a recogniser was made."""
        folder = str(make_recognizer(self))
        expected = nnet3.transcribe(nnet3.Model(folder), SPEECH)["text"]
        Path("conf").write_text("--dither=0\n")
        found = []

        def work():
            model = nnet3.Model(folder)
            found.append(nnet3.transcribe(model, SPEECH)["text"])
            found.append(nnet3.transcribe(model, SAMPLES, sample_rate=RATE)["text"])
            recognizer = nnet3.Recognizer(model, RATE)
            recognizer.accept(SAMPLES)
            self.assertTrue(recognizer.partial())
            found.append(recognizer.final_result()["text"])
            features, _ = model.inputs(SAMPLES, RATE)
            scores = model.compute(features), nnet3.Network(f"{folder}/am/final.mdl").compute(features)
            with nnet3.MatrixWriter("ark:m") as writer:
                writer.write("a", scores[0])
            np.testing.assert_array_equal(dict(nnet3.MatrixReader("ark:m"))["a"], scores[1])
            self.assertEqual(nnet3.features(SAMPLES, RATE, "conf").shape[1], 13)
            try:
                nnet3.transcribe(model, "nowhere")
            except nnet3.Error:
                found.append(expected)

        for size in (32 << 10, 64 << 10, 128 << 10):
            found.clear()
            before = threading.stack_size(size)
            try:
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
            finally:
                threading.stack_size(before)
            self.assertEqual(found, [expected] * 4, size)

    def test_little_memory_is_an_exception_or_ends_the_process_with_a_word(self):
        """It ended by SIGSEGV; or, with RUST_BACKTRACE, waited for ever within the message about a matrix."""
        folder = make_recognizer(self)
        code = """
import resource, sys, nnet3
status = open("/proc/self/status").read()
used = int(status.split(sys.argv[3])[1].split()[0]) << 10
resource.setrlimit(getattr(resource, sys.argv[2]), (used + (int(sys.argv[4]) << 10),) * 2)
try:
    model = nnet3.Model(sys.argv[1])
    for _ in range(3):
        nnet3.transcribe(model, sys.argv[5])
    print("done")
except (MemoryError, nnet3.Error) as error:
    print("memory" if "memory" in str(error) else error)
"""
        ended = set()
        for limit, line in (("RLIMIT_AS", "VmSize:"), ("RLIMIT_DATA", "VmData:")):
            for kilobytes in (0, 200, 400, 600, 800, 1000, 1500, 2000, 3000, 60000):
                found = subprocess.run([sys.executable, "-c", code, folder, limit, line, str(kilobytes), SPEECH], capture_output=True, text=True,
                                       timeout=60, check=False, env={**os.environ, "RUST_BACKTRACE": "1", "PYTHONPATH": FOLDER.name})
                place = f"{limit} + {kilobytes} kB: {found.returncode} {found.stdout} {found.stderr}"
                if found.returncode:
                    self.assertEqual(found.returncode, -6, place)
                    self.assertIn("memory allocation of", found.stderr, place)
                else:
                    self.assertIn(found.stdout.strip(), ("done", "memory"), place)
                ended.add((found.returncode, found.stdout.strip()))
        self.assertLessEqual({(0, "done"), (0, "memory")}, ended)

    def test_scores_of_a_recognizer_are_those_of_its_network(self):
        model = nnet3.Model(folder := make_recognizer(self))
        features = np.random.default_rng(3).standard_normal((40, model.network().input_dim)).astype("f4")
        expected = nnet3.Network(f"{folder}/am/final.mdl").compute(features, frame_subsampling_factor=3)
        np.testing.assert_array_equal(model.compute(features, frame_subsampling_factor=3), expected)
        with self.assertRaisesRegex(ValueError, "acoustic_scale"):
            model.compute(features, acoustic_scale=0)
        with self.assertRaisesRegex(ValueError, "has no output 'x'"):
            model.network("x")

    def test_the_lock_is_released(self):
        folder = make_recognizer(self)
        recognizer, counts, end = nnet3.Recognizer(nnet3.Model(folder), RATE), [0], threading.Event()

        def count():
            while not end.is_set():
                counts[0] += 1
                time.sleep(1e-4)

        thread = threading.Thread(target=count)
        thread.start()
        # The interpreter cannot take the lock from a call: with the lock, the thread counts once or twice a call. A machine
        # without an idle processor counts slowly too, so the calls get longer.
        counted, length = 0, 1
        while counted <= 5 and length <= 512:
            sound = np.tile(SAMPLES, length)
            before = counts[0]
            recognizer.accept(sound)
            counted, length = counts[0] - before, 2 * length
        end.set()
        thread.join()
        self.assertGreater(counted, 5)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_intervals_are_a_table_with_numbers_for_times_and_scores(self):
        def table(words):
            utterance = {"id": "u", "speaker": "s", "words": words} if words else {"id": "u", "speaker": "s", "not_aligned": "why"}
            found = {"recordings": [{"recording": "r", "utterances": [utterance]}], "faults": [], "unknown_words": [], "warnings": [], "left_out": []}
            return nnet3.Alignment({**found, "textgrids": {}, "short_textgrids": {}}).to_pandas()

        def word(score):
            phone = {"phone": "a", "begin": 0, "end": 0.5, "score": score}
            return {"word": "ah", "begin": 0, "end": 0.5, "score": score, "phones": [phone]}

        for words, rows, missing in ([word(-1.5)], 2, 0), ([word(None)], 2, 2), ([word(None), word(-2)], 4, 2), ([], 0, 0):
            found = table(words)
            self.assertEqual([name for name in found.columns if name != "duration"], list(nnet3.Interval._fields))
            self.assertEqual([str(found[name].dtype) for name in ("begin", "end", "duration", "score")], ["float64"] * 4)
            self.assertTrue((found["duration"] == 0.5).all())
            self.assertEqual((len(found), int(found["score"].isna().sum())), (rows, missing))
        self.assertEqual(table([word(-1.5), word(-2)]).groupby("type")["score"].mean().to_dict(), {"phone": -1.75, "word": -1.75})


if __name__ == "__main__":
    unittest.main()
