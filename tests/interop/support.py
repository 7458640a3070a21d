"""Running the project's programs, and a folder for each test."""

import os
import subprocess
import tempfile
import unittest
import wave
from pathlib import Path

BIN = Path(os.environ.get("NNET3_BIN", Path(__file__).parents[2] / "target" / "debug")).resolve()
COPY_TABLE = BIN / "examples" / "copy-table"


class InteropTest(unittest.TestCase):
    """A test that runs in an empty folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nnet3-interop-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_program(self, program, *arguments):
        """Standard output of a program that must succeed."""
        done = subprocess.run([program, *arguments], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def copy_table(self, table_type, source, target, *options):
        return self.run_program(COPY_TABLE, *options, table_type, source, target)


def add_tests(test_class, name, function, cases):
    """Adds the method `test_NAME_CASE` for each case: `function(self, *arguments)`."""
    for case, arguments in cases.items():
        method = lambda self, arguments=arguments: function(self, *arguments)
        setattr(test_class, f"test_{name}_{case}", method)


ROOT = Path(__file__).parents[2]
SPEECH = ROOT / "tests" / "data" / "sound" / "u7.wav"


def make_recognizer(test, dither=0, seed=3):
    """The path of a model folder for recognition, with a random network and the words w0, w1, …, in the present folder."""
    data = ROOT / "crates" / "nnet3-decode" / "tests" / "data"
    Path("config").write_text(
        "input-node name=input dim=2\n"
        "component name=a type=AffineComponent input-dim=6 output-dim=44 param-stddev=0.3 bias-stddev=1\n"
        "component name=s type=LogSoftmaxComponent dim=44\n"
        "component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2))\n"
        "component-node name=s component=s input=a\n"
        "output-node name=output input=s\n"
    )
    model = Path("model").resolve()
    for part in ("am", "conf", "graph"):
        (model / part).mkdir(parents=True)
    test.run_program(BIN / "nnet3-init", f"--srand={seed}", "config", "raw")
    test.run_program(BIN / "nnet3-am-init", data / "mono.mdl", "raw", model / "am" / "final.mdl")
    (model / "graph" / "HCLG.fst").write_bytes((data / "decode" / "HCLG.fst").read_bytes())
    (model / "graph" / "words.txt").write_text("".join(f"w{word} {word}\n" for word in range(200)))
    (model / "conf" / "mfcc.conf").write_text(
        f"--dither={dither}\n--num-mel-bins=4\n--num-ceps=2\n--use-energy=false\n--cepstral-lifter=0\n"
    )
    (model / "conf" / "model.conf").write_text(
        "--acoustic-scale=1.0\n--frame-subsampling-factor=3\n--frames-per-chunk=15\n--beam=12\n--lattice-beam=6\n"
    )
    return model


def samples():
    """Rate and 16-bit samples of the recording `SPEECH`."""
    with wave.open(str(SPEECH)) as sound:
        return sound.getframerate(), sound.readframes(sound.getnframes())
