"""Counts of what a step of recognizer.sh takes and loses (scripts/recognizer/counts.sh)."""

import subprocess
import tempfile
import unittest
from pathlib import Path

COUNTS = Path(__file__).resolve().parents[2] / "scripts/recognizer/counts.sh"


class Counts(unittest.TestCase):
    def count(self, skip_bad, *arguments):
        script = f'set -euo pipefail; say() {{ echo "$*"; }}; fail() {{ echo "ERROR $*"; exit 1; }}; skip_bad={skip_bad}; source "$0"; count_step "$@"'
        run = subprocess.run(["bash", "-c", script, COUNTS, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout.splitlines()

    def test_losses_have_their_length(self):
        with tempfile.TemporaryDirectory() as folder:
            losses, lengths = Path(folder, "losses"), Path(folder, "utt2dur")
            losses.write_text("no path\ta\nno path\tb\nother\tc\n")
            lengths.write_text("a 60\nb 3.5\nd 7\n")
            status, lines = self.count("true", "alignments", 10, 7, losses, lengths)
            self.assertEqual(status, 0)
            self.assertEqual(lines[:2], [
                "alignments: 7 of 10 utterances (7.0 s of 70.5 s)",
                "    3 are left out (63.5 s, and 1 of unknown length): 2: no path; 1: other; the first: a b c"])
            lengths.write_text("a 3600\nb 3600\nc 360\n")
            self.assertIn("3 are left out (2.10 h): ", self.count("true", "alignments", 10, 7, losses, lengths)[1][1])
            # Without lengths, and with more than a fiftieth.
            status, lines = self.count("false", "alignments", 10, 7, losses, Path(folder, "nowhere"))
            self.assertEqual(status, 1)
            self.assertIn("3 are left out: 2: no path", lines[1])
            self.assertIn("ERROR alignments: more than 2 % of the utterances would be lost", lines[2])
        self.assertEqual(self.count("false", "alignments", 10, 10, "/dev/null"), (0, ["alignments: 10 of 10 utterances"]))


if __name__ == "__main__":
    unittest.main()
