"""What the functions of the Python module return and raise, and what they take."""

import array
import copy
import importlib.util
import io
import json
import mmap
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
import wave
from pathlib import Path

import numpy as np

from support import BIN, ROOT, SPEECH, InteropTest, make_recognizer
from test_module import FOLDER, PCM, RATE, SAMPLES, nnet3

LOW = SAMPLES[::2]


class ResultsTest(InteropTest):
    def test_results_are_dictionaries_with_attributes(self):
        model = nnet3.Model(make_recognizer(self))
        found = nnet3.transcribe(model, SPEECH, alternatives=2)
        self.assertEqual((type(found), found.text, found.file), (nnet3.Recording, found["text"], str(SPEECH)))
        self.assertEqual((found.warnings, found.segments), ([], found["segments"]))
        segment = found.segments[0]
        self.assertEqual((type(segment), segment.start, segment.channel), (nnet3.Segment, segment["start"], None))
        word = segment.words[0]
        self.assertEqual((type(word), word.word, word.conf, word.end), (nnet3.Word, word["word"], word["conf"], word["end"]))
        text = segment.alternatives[0]
        self.assertEqual((type(text), text.text, text.confidence), (nnet3.Alternative, text["text"], text["confidence"]))
        self.assertEqual([type(word) for word in text.result], [nnet3.Word] * len(text["text"].split()))
        self.assertIsNone(text.result[0].conf)
        # They are what json, copies and other processes make of dictionaries.
        self.assertEqual(json.loads(json.dumps(found)), found)
        for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            self.assertEqual((other, type(other.segments[0].words[0])), (found, nnet3.Word))
        with self.assertRaises(AttributeError):
            found.sentences
        recognizer = nnet3.Recognizer(model, RATE)
        recognizer.accept(SAMPLES)
        sentence = recognizer.final_result()
        self.assertEqual((type(sentence), sentence.words, sentence.alternatives), (nnet3.Sentence, segment["words"], []))
        self.assertEqual((recognizer.final_result().start, recognizer.final_result().text), (None, ""))

    def test_everything_shows_what_it_is(self):
        folder = make_recognizer(self)
        model = nnet3.Model(folder)
        found = nnet3.transcribe(model, SPEECH)
        word = found.segments[0].words[0]
        self.assertEqual(repr(word), f"<nnet3.Word {word.word!r} {word.start:.2f}-{word.end:.2f} s, conf {word.conf:.2f}>")
        self.assertRegex(repr(found.segments[0]), r"^<nnet3.Segment \d\.\d\d-\d\.\d\d s: 'w\d+.*', \d+ words?>$")
        self.assertRegex(repr(found), r"^<nnet3.Recording '.*u7.wav': 1 segment: 'w\d+.*'>$")
        each = nnet3.transcribe(model, np.stack([SAMPLES, SAMPLES], axis=1), sample_rate=RATE, channels="each", alternatives=1)
        self.assertRegex(repr(each.segments[1]), ", channel 2>$")
        self.assertRegex(repr(each.segments[1].alternatives[0]), r"^<nnet3.Alternative 'w\d+.*', confidence -?\d+\.\d\d>$")
        recognizer = nnet3.Recognizer(model, RATE, alternatives=3)
        self.assertEqual(repr(recognizer), f'<nnet3.Recognizer of "{folder}": 16000 Hz, 3 alternatives>')
        self.assertEqual((recognizer.sample_rate, recognizer.model), (16000, model))
        self.assertEqual(repr(recognizer.final_result()), "<nnet3.Sentence no times: '', 0 words>")
        with nnet3.MatrixWriter("ark,scp:a.ark,a.scp") as writer:
            writer.write("x", np.ones((1, 2)))
            self.assertEqual(repr(writer), '<nnet3.MatrixWriter of float32 to "ark,scp:a.ark,a.scp": 1 written>')
        self.assertIn("closed", repr(writer))
        with nnet3.MatrixReader("a.scp", dtype="float64") as reader:
            next(reader)
            self.assertEqual(repr(reader), '<nnet3.MatrixReader of float64 from "a.scp": 1 read>')
            self.assertEqual(list(reader), [])
            self.assertIn("1 read, at the end", repr(reader))
        self.assertIn("closed", repr(reader))
        for name in nnet3.__all__:
            self.assertTrue(name == "__version__" or getattr(nnet3, name).__doc__, name)
            self.assertIn(getattr(getattr(nnet3, name), "__module__", "nnet3").split(".")[0], ("nnet3", "builtins"), name)

    def test_exceptions_have_one_base(self):
        for kind, also in ((nnet3.Error, RuntimeError), (nnet3.NotFoundError, FileNotFoundError), (nnet3.ProgramError, RuntimeError),
                           (nnet3.ArchiveError, ValueError)):
            self.assertTrue(issubclass(kind, nnet3.Error) and issubclass(kind, also), kind)
            self.assertEqual(kind.__module__, "nnet3")
        model = nnet3.Model(make_recognizer(self))
        for call in (
            lambda: nnet3.Model("nowhere"), lambda: nnet3.Network("nowhere"), lambda: nnet3.transcribe(model, "nowhere.wav"),
            lambda: nnet3.MatrixReader("nowhere.ark"), lambda: nnet3.MatrixReader("ark:nowhere.ark"), lambda: nnet3.VectorReader("scp:nowhere.scp"),
            lambda: nnet3.align("nowhere", "letters"), lambda: nnet3.find_bin("no-such-program"), lambda: nnet3.align([("nowhere", "a")], "letters"),
        ):
            with self.assertRaises(FileNotFoundError) as caught:
                call()
            self.assertIsInstance(caught.exception, nnet3.NotFoundError)
            self.assertRegex(str(caught.exception), "nowhere|no-such-program")
        Path("text.wav").write_text("this is no sound")
        with self.assertRaises(nnet3.Error) as caught:
            nnet3.transcribe(model, "text.wav")
        self.assertNotIsInstance(caught.exception, OSError)
        # Exceptions pass from process to process.
        error = nnet3.ProgramError("x ended", 3, "ERROR: no\n")
        other = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(other), str(other), other.status, other.log), (nnet3.ProgramError, "x ended: ERROR: no", 3, "ERROR: no\n"))
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), str(caught.exception))

    def test_names_that_look_like_commands_or_addresses_have_a_hint(self):
        model = nnet3.Model(make_recognizer(self))
        for call in (lambda name: nnet3.transcribe(model, name), nnet3.Network):
            for name in ("cat speech.wav |", "cat speech.wav|", "x; touch RUN | "):
                with self.assertRaisesRegex(nnet3.NotFoundError, '[^)]: No such file or directory; a name is never a command here: command="…"'):
                    call(name)
            with self.assertRaisesRegex(nnet3.NotFoundError, "command=\"curl -sL 'URL'\" reads an address"):
                call("https://example.org/a.wav")
            with self.assertRaises(nnet3.NotFoundError) as caught:
                call("speech.wav")
            self.assertNotIn("command", str(caught.exception))
        self.assertFalse(Path("RUN").exists())

    def test_sound_at_a_lower_rate_is_taken_with_a_warning(self):
        folder = make_recognizer(self)
        model = nnet3.Model(folder)
        with wave.open("low.wav", "wb") as out:
            out.setparams((1, 2, RATE // 2, 0, "NONE", ""))
            out.writeframes(LOW.tobytes())
        line = subprocess.run([BIN / "nnet3-transcribe", "--format=json", "--allow-upsample=true", folder, "low.wav"], capture_output=True, check=True).stdout
        expected = json.loads(line)["segments"]
        self.assertTrue(expected)
        with self.assertWarnsRegex(UserWarning, "8000 Hz|8 kHz|4 kHz"):
            found = nnet3.transcribe(model, "low.wav")
        self.assertEqual(found.segments, expected)
        self.assertEqual(len(found.warnings), 1)
        with self.assertWarnsRegex(UserWarning, "8000 Hz|8 kHz|4 kHz"):
            self.assertEqual(nnet3.transcribe(model, LOW, sample_rate=RATE // 2).segments, expected)
        with self.assertWarnsRegex(UserWarning, "8000 Hz|8 kHz|4 kHz"):
            recognizer = nnet3.Recognizer(model, RATE // 2)
        recognizer.accept(LOW)
        self.assertEqual(recognizer.final_result().words, expected[0]["words"])
        with self.assertWarnsRegex(UserWarning, "8000 Hz|8 kHz|4 kHz"):
            self.assertEqual(model.inputs(LOW, RATE // 2)[0].shape[1], 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for rate in (RATE, 2 * RATE):
                nnet3.Recognizer(model, rate)
                nnet3.transcribe(model, np.repeat(SAMPLES, rate // RATE), sample_rate=rate)
        strict = nnet3.Model(folder, allow_upsample=False)
        for call in (lambda: nnet3.transcribe(strict, "low.wav"), lambda: nnet3.Recognizer(strict, RATE // 2), lambda: strict.inputs(LOW, RATE // 2),
                     lambda: nnet3.transcribe(strict, LOW, sample_rate=RATE // 2)):
            with self.assertRaisesRegex(nnet3.Error, "the sound has 8000 Hz, .* allow_upsample=True") as caught:
                call()
            self.assertNotIn("--", str(caught.exception))

    def test_a_folder_is_no_model(self):
        folder = make_recognizer(self)
        for call in (lambda: nnet3.transcribe(str(folder), SPEECH), lambda: nnet3.Recognizer(str(folder), RATE)):
            with self.assertRaisesRegex(TypeError, r"^model: expected a Model, as nnet3.Model\(folder\) opens it, found str"):
                call()

    def test_rates_are_checked_where_they_are_given(self):
        model = nnet3.Model(make_recognizer(self))
        for rate in (0, -8000, float("nan"), float("inf"), 1e9, 999, 192001, True):
            for call in (lambda: nnet3.Recognizer(model, rate), lambda: model.inputs(SAMPLES, rate), lambda: nnet3.transcribe(model, SAMPLES, sample_rate=rate)):
                with self.assertRaisesRegex(ValueError, "^sample_rate: expected a"):
                    call()
        for rate in ("16000", None, [16000], b"16000", 1j):
            with self.assertRaisesRegex(TypeError, "^sample_rate: expected"):
                nnet3.Recognizer(model, rate)

    def test_any_buffer_is_sound(self):
        model = nnet3.Model(make_recognizer(self))
        Path("conf").write_text("--dither=0\n")
        expected = nnet3.features(SAMPLES, RATE, "conf"), nnet3.transcribe(model, SPEECH).segments
        Path("pcm").write_bytes(PCM)
        floats = array.array("f", SAMPLES / np.float32(32768))
        with open("pcm", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            for sound in (PCM, bytearray(PCM), memoryview(PCM), memoryview(bytearray(PCM)), array.array("h", PCM), memoryview(SAMPLES), mapped, floats,
                          memoryview(floats), io.BytesIO(PCM).getbuffer(), SAMPLES.reshape(-1, 1), memoryview(PCM[::-1])[::-1]):
                np.testing.assert_array_equal(nnet3.features(sound, RATE, "conf"), expected[0], type(sound).__name__)
                recognizer = nnet3.Recognizer(model, RATE)
                recognizer.accept(sound)
                self.assertEqual(recognizer.final_result().words, expected[1][0]["words"])
                self.assertEqual(nnet3.transcribe(model, sound, sample_rate=RATE).segments, expected[1])
                np.testing.assert_array_equal(model.inputs(sound, RATE)[0], model.inputs(SAMPLES, RATE)[0])
        whole = SPEECH.read_bytes()
        for sound in (bytearray(whole), memoryview(whole), array.array("B", whole)):
            self.assertEqual(nnet3.transcribe(model, sound).segments, expected[1])
        recognizer = nnet3.Recognizer(model, RATE)
        for bad in (array.array("i", [1, 2]), [1, 2], "text", 7, None, np.zeros((4, 2), "i2"), object()):
            with self.assertRaisesRegex(TypeError, "^samples: expected a vector of float32, float64 or int16, or bytes or another buffer, found"):
                recognizer.accept(bad)

        class Tensor:
            """As tensors of torch are."""

            def __array__(self, dtype=None, copy=None):
                return SAMPLES

        np.testing.assert_array_equal(nnet3.features(Tensor(), RATE, "conf"), expected[0])
        self.assertEqual(nnet3.transcribe(model, Tensor(), sample_rate=RATE).segments, expected[1])

    def test_tables_by_the_names_of_their_files(self):
        matrices = {key: np.full((2, 3), number, "f4") for number, key in enumerate(("b", "a", "c"))}
        for writer in (nnet3.MatrixWriter("ark,scp:x.ark,x.scp"), nnet3.MatrixWriter("ark,t:text.ark"), nnet3.MatrixWriter(Path("y.ark"))):
            with writer:
                for key, matrix in matrices.items():
                    writer.write(key, matrix)
        self.assertEqual(Path("y.ark").read_bytes(), Path("x.ark").read_bytes())
        # Contents count, whatever a name is and however it ends.
        shutil.copy("x.ark", "feats")
        shutil.copy("x.ark", "ark:b |")
        shutil.copy("x.scp", "list")
        shutil.copy("text.ark", "odd.scp")
        for name in ("x.ark", "x.scp", "text.ark", "feats", Path("list"), "odd.scp", "./ark:b |", Path("ark:b |"), str(Path.cwd() / "x.scp")):
            for dtype in ("float32", "float64"):
                found = dict(nnet3.MatrixReader(name, dtype))
                self.assertEqual(list(found), list(matrices), name)
                np.testing.assert_array_equal(found["c"], matrices["c"])
            self.assertEqual(len(list(nnet3.MatrixReader(name, commands=False))), 3, name)
        with nnet3.VectorWriter("v.ark") as writer:
            writer.write("v", np.ones(2))
        self.assertEqual(dict(nnet3.VectorReader("v.ark"))["v"].tolist(), [1, 1])
        Path("empty.ark").touch()
        self.assertEqual(list(nnet3.MatrixReader("empty.ark")), [])
        Path("empty").touch()
        Path("sound").write_bytes(SPEECH.read_bytes())
        for name, words in (("empty", "empty: expected a file that is an archive or a script, found an empty one"), ("sound", "found neither"), (".", "no file")):
            with self.assertRaisesRegex(ValueError, words):
                nnet3.MatrixReader(name)
        with self.assertRaisesRegex(nnet3.NotFoundError, r"^feats.arc: No such file or directory \(expected the name of an archive or a script, or an rspecifier such as ark:"):
            nnet3.MatrixReader("feats.arc")
        for bad in (7, b"x.ark", None):
            with self.assertRaisesRegex(TypeError, "^rspecifier: expected the name of a table"):
                nnet3.MatrixReader(bad)
        for name in ("new", "new.scp", "new.npz"):
            with self.assertRaisesRegex(ValueError, f"^{name}: expected a wspecifier, .* or a name that ends with .ark"):
                nnet3.MatrixWriter(name)
        Path("run.scp").write_text("u touch RUN; cat x.ark |\n")
        with self.assertRaisesRegex(ValueError, "is a command, and commands=False allows none"):
            nnet3.MatrixReader("run.scp", commands=False)
        self.assertFalse(Path("RUN").exists())

    def test_entries_by_name(self):
        matrices = {f"u{number}": np.full((1, 2), number, "f4") for number in range(20)}
        with nnet3.MatrixWriter("ark,scp:x.ark,x.scp") as writer:
            for key, matrix in matrices.items():
                writer.write(key, matrix)
        for name in ("x.scp", "scp:x.scp", "x.ark", "ark:x.ark", "scp,s:x.scp", "ark,bg:x.ark"):
            if name == "scp,s:x.scp":
                Path("x.scp").write_text("".join(sorted(Path("x.scp").read_text().splitlines(True))))
            for dtype in ("float32", "float64"):
                with nnet3.MatrixReader(name, dtype) as reader:
                    first = next(reader)[0]
                    for key in ("u7", "u3", "u19", "u7"):
                        np.testing.assert_array_equal(reader[key], matrices[key])
                        self.assertEqual(reader[key].dtype, dtype)
                        self.assertIn(key, reader)
                    self.assertEqual(("u20" in reader, "a b" in reader, "" in reader), (False,) * 3)
                    for key in ("u20", "a b", ""):
                        with self.assertRaises(KeyError) as caught:
                            reader[key]
                        self.assertEqual(caught.exception.args, (key,))
                    # The iteration goes on where it was, and entries are there behind its end.
                    self.assertEqual(len([first, *reader]), 20)
                    self.assertEqual(reader["u1"].tolist(), [[1, 1]])
                with self.assertRaisesRegex(ValueError, "the table is closed"):
                    reader["u1"]
        with nnet3.MatrixReader("x.scp", commands=False) as reader:
            self.assertEqual(reader["u5"].tolist(), [[5, 5]])
        with nnet3.MatrixReader("ark:cat x.ark |") as reader:
            for look in (lambda: reader["u1"], lambda: "u1" in reader):
                with self.assertRaisesRegex(TypeError, "only tables in files have entries by name"):
                    look()
            self.assertEqual(len(list(reader)), 20)
        with nnet3.VectorWriter("ark,scp:v.ark,v.scp") as writer:
            writer.write("v", np.arange(3.0))
        self.assertEqual(nnet3.VectorReader("v.scp")["v"].tolist(), [0, 1, 2])

    def test_segments_of_the_same_time_are_in_the_order_of_channels(self):
        model = nnet3.Model(make_recognizer(self))
        sound = np.concatenate([SAMPLES, np.zeros(3 * RATE, "i2"), SAMPLES])
        found = nnet3.transcribe(model, np.stack([sound] * 3, axis=1), sample_rate=RATE, channels="each").segments
        begins = [(segment.words[0].start if segment.words else segment.start, segment.channel) for segment in found]
        self.assertEqual(begins, sorted(begins))
        self.assertEqual([segment.channel for segment in found], [1, 2, 3] * (len(found) // 3))

    def test_models_pass_to_other_processes(self):
        folder = make_recognizer(self)
        model = nnet3.Model(folder, allow_upsample=False, threads=2)
        other = pickle.loads(pickle.dumps(model))
        self.assertEqual((repr(other), nnet3.transcribe(other, SPEECH)), (repr(model), nnet3.transcribe(model, SPEECH)))
        with self.assertRaisesRegex(nnet3.Error, "allow_upsample"):
            nnet3.Recognizer(other, 8000)

    def test_numpy_comes_with_the_wheel(self):
        text = (ROOT / "packaging" / "python" / "pyproject.toml").read_text()
        if importlib.util.find_spec("tomllib"):
            import tomllib

            project = tomllib.loads(text)["project"]
            self.assertEqual([need for need in project["dependencies"] if need.startswith("numpy")], ["numpy>=1.20"])
            self.assertIn("numpy", project["optional-dependencies"])
        # Without numpy, what needs it says so; the rest works.
        code = """
import sys
sys.modules["numpy"] = None
import nnet3
for call in (lambda: nnet3.features(bytes(3200), 16000), lambda: next(nnet3.MatrixReader("ark:a")), lambda: nnet3.MatrixWriter("ark:b").write("a", [[1.0]])):
    try:
        call()
    except ImportError as error:
        print(error)
print(repr(nnet3.transcribe(nnet3.Model(sys.argv[1]), sys.argv[2]).text))
"""
        Path("a").write_text("a [ 1 2 ]\n")
        run = [sys.executable, "-c", code, make_recognizer(self), SPEECH]
        done = subprocess.run(run, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": FOLDER.name})
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:3], ["numpy is not installed, and nnet3 needs it: pip install numpy"] * 3)
        self.assertTrue(lines[3].startswith("'w"))


class InterruptTest(InteropTest):
    """Ctrl-C while something computes."""

    def interrupted(self, work):
        """Calls `work`, and returns the seconds from the signal to the exception."""
        sent = []
        # (Writers have temporary files, which signals remove from programs; Ctrl-C is Python's nevertheless.)
        with nnet3.MatrixWriter("written.ark") as writer:
            writer.write("a", np.ones((1, 1)))

        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3, send)
        timer.start()
        try:
            work()
        except KeyboardInterrupt:
            return time.monotonic() - sent[0]
        finally:
            timer.cancel()
            timer.join()
        self.fail("the work was faster than the signal")

    def test_a_computation_of_a_network_ends(self):
        Path("config").write_text(
            "input-node name=input dim=40\n"
            "component name=a type=NaturalGradientAffineComponent input-dim=40 output-dim=1500\n"
            "component name=b type=NaturalGradientAffineComponent input-dim=1500 output-dim=1500\n"
            "component name=c type=NaturalGradientAffineComponent input-dim=1500 output-dim=8\n"
            "component-node name=a component=a input=input\ncomponent-node name=b component=b input=a\n"
            "component-node name=c component=c input=b\noutput-node name=output input=c\n"
        )
        # (A nonlinear part would be needed to learn; without one, the layers would become one.)
        text = Path("config").read_text().replace("component-node name=b component=b input=a", "component name=r type=RectifiedLinearComponent dim=1500\n"
                                                  "component-node name=r component=r input=a\ncomponent-node name=b component=b input=r")
        Path("config").write_text(text)
        self.run_program(BIN / "nnet3-init", "config", "raw")
        network = nnet3.Network("raw")
        features = np.zeros((400_000, 40), "f4")
        self.assertLess(self.interrupted(lambda: network.compute(features)), 1.5)
        # The network serves on.
        self.assertEqual(network.compute(features[:50]).shape, (50, 8))

    def test_the_recognition_of_many_samples_ends(self):
        model = nnet3.Model(make_recognizer(self))
        recognizer = nnet3.Recognizer(model, RATE)
        long = np.tile(SAMPLES, 40_000_000 // len(SAMPLES))
        self.assertLess(self.interrupted(lambda: recognizer.accept(long)), 1.5)
        recognizer.accept(SAMPLES)
        self.assertEqual(recognizer.final_result().text, nnet3.transcribe(model, SPEECH).text)
        self.assertLess(self.interrupted(lambda: nnet3.transcribe(model, long, sample_rate=RATE)), 1.5)


if __name__ == "__main__":
    unittest.main()
