"""Running the project's programs, and a folder for each test."""

import os
import subprocess
import tempfile
import unittest
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
