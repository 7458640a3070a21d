"""RTTM files of the recipe that tells speakers apart (egs/speakers/local/diarize.py)."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DIARIZE = Path(__file__).resolve().parents[2] / "egs/speakers/local/diarize.py"
TURNS = """SPEAKER r 1 0.0 4.0 <NA> <NA> anna <NA> <NA>
SPEAKER r 1 4.0 6.0 <NA> <NA> ben <NA> <NA>
"""


class Rttm(unittest.TestCase):
    def score(self, reference, rttm):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in ("ref", reference), ("rttm", rttm):
                (Path(folder) / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            return subprocess.run([sys.executable, DIARIZE, "score", "ref", "rttm"], capture_output=True, text=True, cwd=folder)

    def test_comments_and_other_kinds_of_lines_do_not_count(self):
        # Labels are other names, and ben's first second has anna's label: 0.75 s of 9 s beside the boundaries.
        found = "SPEAKER r 1 0 5 <NA> <NA> x <NA> <NA>\nSPEAKER r 1 5 5 <NA> <NA> y <NA> <NA>\n"
        expected = "DER 8.33 % (0.00 % missed, 0.00 % false alarm, 8.33 % wrong speaker) of 9 s; the number of speakers is right in 1 of 1 recordings\n"
        more = ";; a comment with words\n\nSPKR-INFO r 1 <NA> <NA> <NA> unknown anna <NA>\nLEXEME r 1 0.5 0.2 one lex anna <NA> <NA>\n"
        for reference in TURNS, more + TURNS, TURNS + more, "\ufeff" + more + TURNS, TURNS.replace("\n", "\r\n"):
            result = self.score(reference, more + found)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, expected, ""), reference)

    def test_faults_name_file_and_line(self):
        for reference, rttm, said in (
            (TURNS, TURNS + "SPEAKER r 1 x 1 <NA> <NA> anna\n", "rttm, line 3: expected SPEAKER, recording"),
            (TURNS, "SPEAKER r 1 0 1e9 <NA> <NA> anna\n", "rttm, line 1: expected a turn that ends within 100000 s"),
            (TURNS, ";; text\nSPEAKER r 1\n", "rttm, line 2: expected SPEAKER, recording"),
            (TURNS, "SPEAKER r 1 nan 1 <NA> <NA> anna\n", "rttm, line 1: expected SPEAKER, recording"),
            (TURNS.encode() + b"\xff\n", TURNS, "ref, line 3: this is not UTF-8"),
            (";; comments alone\n", TURNS, "ref: expected lines SPEAKER, found none"),
            ("SPEAKER r 1 0 0.4 <NA> <NA> anna\n", TURNS, "ref: no speech is left"),
        ):
            result = self.score(reference, rttm)
            self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
            self.assertTrue(result.stderr.startswith(said), result.stderr)


if __name__ == "__main__":
    unittest.main()
