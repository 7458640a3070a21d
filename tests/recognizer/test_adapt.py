"""Words of an adapted model, and the sounds of the garbage word."""

import io
import subprocess
import sys
import tempfile
import unittest
import wave
from array import array
from contextlib import redirect_stderr
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "recognizer"
sys.path.append(str(SCRIPTS))
import adapt
import garbage
import lang


def adapted(folder, *options):
    """What adapt.py says; its files are in the folder."""
    command = [sys.executable, str(SCRIPTS / "adapt.py"), *options, str(folder)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


class Adapt(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        (self.path / "old").mkdir()
        names = ["SIL", "N", *(phone + place for phone in "ABC" for place in ("_B", "_E", "_I", "_S"))]
        self.write("old/phones.txt", "<eps> 0\n" + "".join(f"{name} {i}\n" for i, name in enumerate(names, 1)))
        self.write("old/lexicon.txt", "ab A_B B_E\nab B_S\nc C_S\nnoise N\nrare C_B C_E\n")
        self.write("old/silence.txt", "SIL\n")
        self.write("old/guessed.txt", "A_B A_E\n<eps> C_B\n")

    def write(self, name, content):
        (self.path / name).write_text(content, encoding="utf-8")
        return str(self.path / name)

    def test_words_and_pronunciations(self):
        text = self.write("corpus", "ab aa c\nab zebra\n")
        new = self.write("new", "aa A A\nab 0.5 C\nbac B A C\n")
        arpa = self.write("arpa", "\\data\\\nngram 1=2\n\n\\1-grams:\n-1 <s>\n-1 noise\n\n\\end\\\n")
        missing = adapted(self.path, "missing", f"--text={text}", f"--new={new}")
        self.assertEqual(missing.stdout, "zebra\n", missing.stderr)
        stopped = adapted(self.path, "language", f"--text={text}", f"--new={new}")
        self.assertEqual(stopped.returncode, 1)
        self.assertIn("corpus, line 2: the word 'zebra' has no pronunciation", stopped.stderr)
        done = adapted(self.path, "language", f"--text={text}", f"--new={new}", f"--old-arpa={arpa}", "--skip-unknown=true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("WARNING: 1 new words have two phones in a row that the old graph does not have", done.stderr)
        self.assertIn("(aa)", done.stderr)
        lexicon = (self.path / "lexicon.txt").read_text()
        entries = [
            "aa 1.000000 A_B A_E",
            "ab 1.000000 A_B B_E",
            "ab 1.000000 B_S",
            "ab 0.5000000 C_S",
            "bac 1.000000 B_B A_I C_E",
            "c 1.000000 C_S",
            "noise 1.000000 N",
        ]
        self.assertEqual(sorted(lexicon.splitlines()), sorted(entries))
        self.assertEqual((self.path / "text.txt").read_text(), "ab aa c\n")
        self.assertEqual((self.path / "vocabulary").read_text(), "aa\nab\nbac\nc\n")

    def test_words_of_parts(self):
        old = {"ab": [(1.0, ("A_B", "B_E"))], "a": [(1.0, ("A_S",))], "b": [(1.0, ("C_S",))], "bc": [(1.0, ("B_B", "C_E"))]}
        self.assertEqual(adapt.by_parts("abbc", old), ("A", "B", "B", "C"))
        self.assertEqual(adapt.by_parts("aab", old), ("A", "A", "B"))
        self.assertIsNone(adapt.by_parts("abx", old))
        self.assertEqual(adapt.by_parts("ab", old), ("A", "C"))
        text = self.write("corpus", "abc zebra\n")
        self.assertEqual(adapted(self.path, "parts", f"--text={text}").stdout, "abc A B C\n")

    def test_phones_that_the_model_lacks(self):
        names = {"A_B", "A_E", "N"}
        self.assertEqual(adapt.placed(("A", "A"), names), ("A_B", "A_E"))
        self.assertEqual(adapt.placed(("N",), names), ("N",))
        self.assertIsNone(adapt.placed(("A", "A", "A"), names))
        text, new = self.write("corpus", "x\n"), self.write("new", "x A Z\n")
        refused = adapted(self.path, "language", f"--text={text}", f"--new={new}")
        self.assertIn("new, line 1: 'Z' is no phone of the model", refused.stderr)

    def test_lexicon_with_the_numbers_of_a_model(self):
        lexicon = self.write("lexicon", "ab 1.0 A_B B_E\nc 0.5 C_S\nd 1.0 C_S\n")
        command = [sys.executable, str(SCRIPTS / "lang.py"), f"--phones={self.path}/old/phones.txt", lexicon, str(self.path / "lang")]
        subprocess.run(command, check=True)
        phones = dict(line.split() for line in (self.path / "lang/phones.txt").read_text().splitlines())
        self.assertEqual((phones["SIL"], phones["C_S"], phones["#0"]), ("1", "14", "15"))
        disambig = (self.path / "lang/phones/disambig.int").read_text().split()
        self.assertEqual(disambig, [str(n) for n in range(15, 19)])
        labels = {line.split()[2] for line in (self.path / "lang/L_disambig.fst.txt").read_text().splitlines() if len(line.split()) > 2}
        # c and d sound alike: #1 and #2.
        self.assertEqual(labels, {"0", "1", "3", "8", "14", "15", "16", "17", "18"})


class Garbage(unittest.TestCase):
    def sound(self, part, *options, source=b""):
        command = [sys.executable, str(SCRIPTS / "garbage.py"), part, *options]
        done = subprocess.run(command, input=source, capture_output=True, check=True)
        with wave.open(io.BytesIO(done.stdout)) as sound:
            return array("h", sound.readframes(sound.getnframes())), sound.getframerate(), done.stdout

    def test_noises(self):
        for kind in garbage.KINDS:
            samples, rate, content = self.sound("noise", f"--kind={kind}", "--seconds=0.25", "--rate=8000", "--level=0.5", "--srand=3")
            self.assertEqual((len(samples), rate), (2000, 8000), kind)
            self.assertIn(max(map(abs, samples)), range(16000, 16385), kind)
            self.assertEqual(content, self.sound("noise", f"--kind={kind}", "--seconds=0.25", "--rate=8000", "--srand=3")[2])

    def test_pieces(self):
        ramp = array("h", [1000 + i for i in range(4000)] + [0] * 4000)
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes(ramp.tobytes())
        samples, rate, _ = self.sound("scramble", "--seconds=1", source=buffer.getvalue())
        self.assertEqual((len(samples), rate), (8000, 8000))
        # The pause is gone, but where pieces meet.
        self.assertLess(sum(abs(x) < 500 for x in samples), 1600)

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "train").mkdir()
            (folder / "rate").write_text("8000\n")
            keys = [f"utt{i:02d}" for i in range(50)]
            for name, rest in [("wav.scp", "it's.wav"), ("text", "a b"), ("utt2spk", "me"), ("waves", "1 2 3 4")]:
                (folder / "train" / name).write_text("".join(f"{key} {rest}\n" for key in keys))
            for lexicon, line in [("a A\nb B\n", "<unk> GBG"), ("a 0.5 A\nb 0.5 B\n", "<unk> 1.0 GBG"), ("a A\n<unk> N\n", "<unk> N")]:
                (folder / "lexicon").write_text(lexicon)
                arguments = ["add", str(folder), str(folder / "lexicon"), str(folder / "new")]
                subprocess.run([sys.executable, str(SCRIPTS / "garbage.py"), *arguments], check=True)
                self.assertIn(line, (folder / "new").read_text().splitlines())
            text = garbage.rows(folder / "train/text")
            self.assertEqual(sum(words == "<unk>" for _, words in text), 3 * 8)
            self.assertEqual(text, sorted(text))
            commands = [what for key, what in garbage.rows(folder / "train/wav.scp") if key.startswith("garbage")]
            self.assertTrue(all(what.endswith("|") for what in commands))
            self.assertTrue(any("'it'\\''s.wav'" in what for what in commands))
            (folder / "lexicon").write_text("a GBG\n")
            refused = subprocess.run([sys.executable, str(SCRIPTS / "garbage.py"), *arguments], capture_output=True, encoding="utf-8", check=False)
            self.assertIn("the phone 'GBG' is that of the garbage word", refused.stderr)


if __name__ == "__main__":
    unittest.main()
