"""Progress of the trainings of egs/recordings (egs/recordings/local/corpora.sh)."""

import subprocess
import unittest
from pathlib import Path

CORPORA = Path(__file__).resolve().parents[2] / "egs/recordings/local/corpora.sh"


class Progress(unittest.TestCase):
    def shown(self, quiet, lines):
        """What is shown of lines, each a pair of a text and the seconds to wait after it."""
        writer = "; ".join(f"printf %s '{text}'; sleep {pause}" for text, pause in lines)
        run = subprocess.run(["bash", "-c", f'source "$0"; quiet={quiet}; {{ {writer}; }} | progress digits', CORPORA],
                             capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr, "")
        return run.stdout.splitlines()

    def test_a_step_that_says_nothing_for_long_is_shown_with_its_time(self):
        self.assertEqual(self.shown(1, [("recognizer.sh: Gaussian models\n", 1.5), ("recognizer.sh: the tree\n", 0)]), [
            "recognizer.sh: Gaussian models", "    … digits: Gaussian models (for 1 s)", "recognizer.sh: the tree"])

    def test_of_iterations_one_is_shown_now_and_then(self):
        iterations = [(f"train.sh: iteration   {i} of 9  epoch\n", 0) for i in range(1, 10)]
        self.assertEqual(self.shown(60, iterations), [])
        shown = self.shown(1, [(text, 0.3) for text, _ in iterations])
        self.assertTrue(1 <= len(shown) <= 4, shown)
        for line in shown:
            self.assertRegex(line, r"^    … digits: iteration   \d of 9  epoch$")

    def test_no_line_is_lost_that_comes_in_parts_or_without_an_end(self):
        self.assertEqual(self.shown(1, [("first", 1.2), (" half\nlast", 0)])[1:], ["first half", "last"])


if __name__ == "__main__":
    unittest.main()
