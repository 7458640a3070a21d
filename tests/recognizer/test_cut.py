"""Cuts of long recordings: matches of words, pauses, and lengths of utterances, on small examples worked out by hand."""

import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(TOP / "scripts/recognizer"))

import cut


def spoken(text, gaps=()):
    """Words of 0.4 s, one after another; `gaps` are {word number: pause before it}."""
    found, time = [], 0.0
    for i, word in enumerate(text.split()):
        time += dict(gaps).get(i, 0.0)
        found.append((time, time + 0.4, word))
        time += 0.4
    return found


class Cuts(unittest.TestCase):
    def test_stretches_that_match(self):
        said = "a b c d e f g h".split()
        self.assertEqual(cut.matches(said, spoken("a b c d e f g h"), 0), [[0, 8, 0, 8]])
        self.assertEqual(cut.matches(said, spoken("a b c x e f g h"), 0), [[0, 3, 0, 3], [4, 8, 4, 8]])
        self.assertEqual(cut.matches(said, spoken("a b c x e f g h"), 1), [[0, 8, 0, 8]])
        self.assertEqual(cut.matches(said, spoken("a b c x y z f g h"), 1), [[0, 3, 0, 3], [5, 8, 6, 9]])
        self.assertEqual(cut.matches(said, spoken("q r s"), 1), [])

    def test_cuts_are_pauses_between_matching_words(self):
        words = spoken("a b x d e", [(1, 0.3), (2, 0.5), (4, 0.2)])
        times = cut.times_of_words("a b c d e".split(), words, [0, 5, 0, 5])
        self.assertEqual([time is None for time in times], [False, False, True, False, False])
        places = cut.cuts(times, 0.0, words[-1][1], 0.15, True, False)
        # The pause before the word that was heard as another is no cut, and the last word ends without one.
        self.assertEqual([place[0] for place in places], [0, 1, 4])
        self.assertAlmostEqual(places[1][1], 0.3)
        self.assertEqual([p[0] for p in cut.cuts(times, 0.0, words[-1][1], 0.15, False, True)], [1, 4, 5])

    def test_the_longest_pauses_stay(self):
        words = spoken("a b c d", [(1, 0.2), (2, 0.6), (3, 0.3)])
        times = [word[:2] for word in words]
        places = cut.cuts(times, 0.0, words[-1][1], 0.15, True, True)
        lengths = lambda longest: [(a[0], b[0]) for a, b in cut.pieces(places, longest)]
        self.assertEqual(lengths(10), [(0, 4)])
        self.assertEqual(lengths(1.5), [(0, 2), (2, 4)])
        self.assertEqual(lengths(0.9), [(0, 1), (1, 2), (2, 3), (3, 4)])
        self.assertEqual(lengths(0.5), [])

    def test_windows_overlap_and_share_their_words(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "feats").write_text("r f.ark:5\n")
            (folder / "lengths").write_text("r 2600\n")
            arguments = type("", (), {"feats": folder / "feats", "lengths": folder / "lengths", "out": folder / "out", "window": 12})
            cut.ranges(arguments)
            # 12 s with 2 s shared; the rest of 6 s is a window of its own.
            self.assertEqual((folder / "out").read_text().splitlines(), ["r@0 f.ark:5[0:1199]", "r@1000 f.ark:5[1000:2599]"])
            (folder / "ctm").write_text("r@0 1 10.60 0.20 7\nr@0 1 11.20 0.20 8\nr@1000 1 0.60 0.20 7\nr@1000 1 1.20 0.20 8\nr@1000 1 9.00 0.50 7\n")
            found = cut.heard(folder / "ctm", {7: "a", 8: "b"}, 12)["r"]
            self.assertEqual([(word, round(begin, 2)) for begin, _, word in found], [("a", 10.6), ("b", 11.2), ("a", 19.0)])

    def test_sentences_cover_the_transcript(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            words = [f"w{i}" for i in range(30)]
            (folder / "text").write_text(" ".join(["key", *words]) + "\n")
            cut.sentences(type("", (), {"text": folder / "text", "out": folder / "out"}))
            lines = [line.split() for line in (folder / "out").read_text().splitlines()]
            pairs = {pair for line in lines for pair in zip(line, line[1:])}
            self.assertEqual(pairs, set(zip(words, words[1:])))


if __name__ == "__main__":
    unittest.main()
