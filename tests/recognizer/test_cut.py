"""Cuts of long recordings: matches of words, pauses, and lengths of utterances, on small examples worked out by hand."""

import subprocess
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


class Recordings(unittest.TestCase):
    """Faults of a data folder: the first ends the script, or each is a warning."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data, self.work = Path(folder.name, "data"), Path(folder.name, "work")
        self.data.mkdir()
        self.work.mkdir()
        self.write("words.txt", b"<eps> 0\none 1\ntwo 2\n")
        self.write("wav.scp", b"a a.wav\nb sox b.mp3 -t wav - |\nc c.wav\n")
        self.write("text", b"a one two\nb two x\nc one\n")

    def write(self, name, content):
        (self.data / name).write_bytes(content)

    def windows(self, *options):
        command = [sys.executable, TOP / "scripts/recognizer/cut.py", "windows", *options, self.data, self.data / "words.txt", self.work]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stderr

    def recordings(self):
        return (self.work / "recordings").read_text().split()

    def test_transcripts_keep_words_that_the_lexicon_lacks(self):
        self.assertEqual(self.windows(), (0, ""))
        self.assertEqual(self.recordings(), ["a", "b", "c"])
        self.assertEqual((self.work / "text").read_text(), "a one two\nb two\nc one\n")
        self.assertEqual((self.work / "transcripts").read_text(), "a one two\nb two x\nc one\n")
        self.assertEqual((self.work / "wav.scp").read_text(), "a a.wav\nb sox b.mp3 -t wav - |\nc c.wav\n")

    def test_bad_recordings_are_named_and_left_out(self):
        for text, scp, fault, left in [
            (b"a one\na two\nb two\n", None, "text, line 2: 'a' has a line before", ["b"]),
            (b"a one\nb\nc one\n", None, "text, line 2: the transcript of 'b' is empty", ["a", "c"]),
            (b"a one\nb x y\n", None, "text, line 2: the lexicon has no word of the transcript of 'b'", ["a"]),
            (b"a one\nd one\n", None, "text, line 2: there is no 'd' in", ["a"]),
            (None, b"a a.wav\nb b.wav\nc c.wav\nb b2.wav\n", "wav.scp, line 4: 'b' has a line before", ["a", "c"]),
            (None, b"a a.wav\nb\nc c.wav\n", "wav.scp, line 2: expected a file or a command after 'b'", ["a", "c"]),
        ]:
            self.write("text", text or b"a one two\nb two x\nc one\n")
            self.write("wav.scp", scp or b"a a.wav\nb b.wav\nc c.wav\n")
            status, said = self.windows()
            self.assertEqual((status, len(said.splitlines())), (1, 1), said)
            self.assertIn(fault, said)
            self.assertIn("--skip-bad", said)
            status, said = self.windows("--skip-bad=true")
            self.assertEqual((status, self.recordings()), (0, left), said)
            self.assertIn(f"{fault}", said)
            self.assertIn("1 recordings are left out", said)

    def test_files_that_are_no_tables(self):
        for name, content, fault in [
            ("text", b"a one\nb \xff\n", "text, line 2: this is not UTF-8"),
            ("wav.scp", b"a a.wav\n\xe9 b.wav\n", "wav.scp, line 2: this is not UTF-8"),
            ("utt2spk", b"a anna\nb\n", "utt2spk, line 2: expected a recording and its speaker, found 'b'"),
            ("text", b"", "text: the file is empty"),
            ("text", b"a\n", "no recording is left"),
        ]:
            kept = (self.data / name).read_bytes() if (self.data / name).exists() else None
            self.write(name, content)
            status, said = self.windows("--skip-bad=true")
            self.assertEqual(status, 1)
            self.assertIn(fault, said)
            if kept is None:
                (self.data / name).unlink()
            else:
                self.write(name, kept)

    def test_recordings_without_features_are_left_out(self):
        self.windows()
        (self.work / "lengths").write_text("a 100\nc 30\n")
        command = [sys.executable, TOP / "scripts/recognizer/cut.py", "present", self.work]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        self.assertIn("'b' has no features", done.stderr)
        self.assertEqual(self.recordings(), ["a", "c"])
        self.assertEqual((self.work / "transcripts").read_text(), "a one two\nc one\n")


if __name__ == "__main__":
    unittest.main()
