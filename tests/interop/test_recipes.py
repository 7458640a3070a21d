"""The parts of egs/recipes that compute something: the diarization error rate and the Mandarin lexicon."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LOCAL = Path(__file__).resolve().parents[2] / "egs/recipes/local"
sys.path.append(str(LOCAL))

import der
import mandarin


class DiarizationErrorRate(unittest.TestCase):
    """Rates worked out by hand. Turns are (begin, end, speaker) in steps of 0.01 s; 0.25 s around their ends are not scored."""

    def rate(self, reference, found):
        wrong, speech = der.errors(reference, found)
        return wrong, speech

    def test_the_same_turns_with_other_names(self):
        reference = [(0, 200, "a"), (200, 500, "b")]
        self.assertEqual(self.rate(reference, [(0, 200, "2"), (200, 500, "1")]), (0, 150 + 250))

    def test_one_cluster_for_two_speakers(self):
        # The longer speaker has the cluster; all of the other one's scored speech is wrong.
        self.assertEqual(self.rate([(0, 200, "a"), (200, 500, "b")], [(0, 500, "1")]), (150, 400))

    def test_missed_and_false_speech(self):
        # 50 of the 150 scored steps are missed, and 75 of the silence that follows count as speech.
        self.assertEqual(self.rate([(0, 200, "a"), (400, 450, "a")], [(0, 125, "1"), (300, 500, "1")]), (50 + 75 + 25, 150))

    def test_too_many_clusters(self):
        self.assertEqual(self.rate([(0, 400, "a")], [(0, 100, "1"), (100, 200, "2"), (200, 400, "3")]), (175, 350))

    def test_overlapping_speech_is_not_scored(self):
        self.assertEqual(self.rate([(0, 400, "a"), (100, 300, "b")], [(0, 400, "1")]), (0, 50 + 50))

    def test_files(self):
        line = "SPEAKER {} 0 {} {} <NA> <NA> {} <NA> <NA>\n"
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/ref", f"{folder}/hyp"]
            Path(paths[0]).write_text(line.format("r", "0.00", "2.00", "a") + line.format("r", "2.00", "3.00", "b"))
            Path(paths[1]).write_text(line.format("r", "0.00", "5.00", "1"))
            out = subprocess.run([sys.executable, LOCAL / "der.py", *paths], check=True, capture_output=True, text=True)
            self.assertEqual(out.stdout, "%DER 37.50\n")


class Mandarin(unittest.TestCase):
    def test_initials_and_finals(self):
        words = {word: phones for group in mandarin.entries().values() for word, phones in group}
        self.assertEqual(words["上海"], ["sh", "ang4", "h", "ai3"])
        self.assertEqual(words["两"], ["l", "iang3"])
        self.assertEqual(len(words), sum(len(group) for group in mandarin.entries().values()))
        finals = {phone for phones in words.values() for phone in phones}
        self.assertTrue(all(phone.isalnum() and phone.isascii() for phone in finals))


if __name__ == "__main__":
    unittest.main()
