"""The comparison of two runs of recipes (egs/recipes/beside.py)."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BESIDE = Path(__file__).resolve().parents[2] / "egs/recipes/beside.py"


def write(folder, recipe, steps, results=""):
    (folder / recipe).mkdir(parents=True)
    (folder / recipe / "steps.tsv").write_text("".join(f"{step}\t{4 * seconds if status else seconds // 2}\t{seconds}\t{status}\n" for step, seconds, status in steps))
    (folder / recipe / "results.txt").write_text(results)


def compare(a, b):
    return subprocess.run([sys.executable, BESIDE, a, b], capture_output=True, text=True)


class Beside(unittest.TestCase):
    def test_steps_and_results(self):
        with tempfile.TemporaryDirectory() as name:
            a, b = Path(name) / "a", Path(name) / "b"
            # The step `run` was killed once; `corpus` makes data; `last` has ended in one of the two.
            write(a, "yesno", [("corpus", 9, 0), ("run", 10, 143), ("run", 20, 0), ("last", 5, 0)], "%WER 1.50 mono0a/decode\nEER: 13.12%\n")
            write(b, "yesno", [("corpus", 8, 0), ("run", 60, 0), ("last", 7, 1)], "%WER 2.25 mono0a/decode\nEER: 12.00%\n")
            write(a, "other", [("run", 1, 0)])
            found = compare(a, b)
            self.assertEqual(found.returncode, 0, found.stderr)
            rows = [line.split() for line in found.stdout.splitlines()]
            self.assertEqual(rows[:2], [["processor", "seconds", "seconds"], 2 * ["A", "B", "A", "/", "B"]])
            self.assertEqual(rows[2:4], [["==", "yesno"], ["last:", "ended", "in", "one", "of", "the", "two", "only"]])
            self.assertEqual(rows[4], ["run", "30", "60", "0.50", "50", "30", "1.67"])
            self.assertEqual(rows[5], ["%WER", "*", "mono0a/decode", "1.50", "2.25"])
            self.assertEqual(rows[6], ["EER:", "*", "13.12%", "12.00%"])
            self.assertEqual(rows[7], ["all", "30", "60", "0.50", "50", "30", "1.67"])

    def test_nothing_in_common(self):
        with tempfile.TemporaryDirectory() as name:
            a, b = Path(name) / "a", Path(name) / "b"
            write(a, "yesno", [("run", 1, 0)])
            write(b, "cifar", [("run", 1, 0)])
            found = compare(a, b)
            self.assertEqual(found.returncode, 1)
            self.assertIn("no recipe has been run in both", found.stderr)


if __name__ == "__main__":
    unittest.main()
