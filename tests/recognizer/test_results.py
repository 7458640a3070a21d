"""Marks in the table of results, and the advice that follows from it (scripts/recognizer/results.sh)."""

import subprocess
import tempfile
import unittest
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "scripts/recognizer/results.sh"
HEAD = "set                         utts   words       WER   sub   del   ins  wrong utts"


def row(name, words, wrong):
    return f"{name:<26} {words // 2:6d} {words:7d} {100 * wrong / words:7.2f} % {wrong:5d} {0:5d} {0:5d} {0:9.1f} %"


class Results(unittest.TestCase):
    def shell(self, command, text):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "table")
            table.write_text(text)
            run = subprocess.run(["bash", "-c", f'dir=exp; source "$0"; {command}', RESULTS, table], capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr, "")
        return run.stdout.splitlines()

    def both(self, *rows):
        """The rows with their marks, and the advice."""
        marked = self.shell('mark_results <"$1"', "\n".join(rows) + "\n")
        self.assertEqual([line[: len(given)] for line, given in zip(marked, rows)], list(rows))
        marks = [line[len(given) :].strip() for line, given in zip(marked, rows)]
        return marks, self.shell('advice_of_results "$1"', "\n".join([HEAD, *marked]) + "\n")

    def test_a_row_that_adaptation_made_worse_is_marked_and_the_better_one_is_recommended(self):
        marks, advice = self.both(row("test", 500, 66), row("test (adapted)", 500, 68))
        self.assertEqual(marks, ["best", "worse than without adaptation"])
        self.assertEqual(advice, [
            "test: 13.20 % of the words are wrong as it is, 13.60 % adapted to the speakers: adaptation is WORSE, by 2 of 500 words, which may be chance",
            "recommended: the model as it is, exp/model, for all speakers"])

    def test_adaptation_that_helps_is_recommended(self):
        marks, advice = self.both(row("test", 500, 51), row("test (adapted)", 500, 28))
        self.assertEqual(marks, ["", "best"])
        self.assertEqual(advice, [
            "test: 10.20 % of the words are wrong as it is, 5.60 % adapted to the speakers: adaptation is better, by 23 of 500 words",
            "recommended: a model for each speaker: nnet3-adapt-speaker exp/model NEW-FOLDER RECORDINGS"])

    def test_several_sets_count_together(self):
        long = "a_set_whose_name_is_longer_than_its_column"
        marks, advice = self.both(row("a", 100, 10), row(long, 100, 30), row("a (adapted)", 100, 11), row(f"{long} (adapted)", 100, 5))
        self.assertEqual(marks, ["best", "", "worse than without adaptation", "best"])
        self.assertEqual([line.split(":")[0] for line in advice], ["a", long, "recommended"])
        self.assertIn("a model for each speaker", advice[-1])

    def test_the_same_number_of_errors_is_no_gain(self):
        marks, advice = self.both(row("test", 100, 7), row("test (adapted)", 100, 7))
        self.assertEqual(marks, ["best", ""])
        self.assertIn("adaptation changes nothing", advice[0])
        self.assertIn("the model as it is", advice[1])

    def test_sets_with_one_row_have_no_mark_and_no_advice(self):
        self.assertEqual(self.both(row("held_out (Gaussians)", 29, 0), row("dev", 80, 9)), (["", ""], []))

    def test_a_flat_start_that_is_better_is_marked_and_no_adaptation(self):
        self.assertEqual(self.both(row("test", 100, 7), row("test (flat start)", 100, 6)), (["", "best"], []))


if __name__ == "__main__":
    unittest.main()
