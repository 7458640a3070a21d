"""Lexicons of letters, and lists of many recordings."""

import io
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "recognizer"))
import letters
import many


class Letters(unittest.TestCase):
    def test_phones(self):
        for word, phones in [
            ("Hello", "h e l l o"),
            ("it's", "i t s"),
            ("a\u0308", "\u00e4"),
            ("7up", "d7 u p"),
            ("\uac04", "\u1100 \u1161 \u11ab"),
            ("x\u0323", "x\u0323"),
            ("--", ""),
        ]:
            self.assertEqual(" ".join(letters.letters(word)), phones, word)

    def test_words_of_arpa(self):
        with tempfile.TemporaryDirectory() as folder:
            arpa = Path(folder, "arpa")
            arpa.write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s> -0.5\n-1 one\n-1\ttwo\t-0.5\n\n\\2-grams:\n-1 one three\n\\end\\\n")
            self.assertEqual(list(letters.words_of_arpa(str(arpa))), ["<s>", "one", "two"])


class Many(unittest.TestCase):
    def test_names_differ_and_batches_have_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            listing, names, texts, links = (Path(folder, name) for name in ("list", "names", "texts", "links"))
            listing.write_text("a/x.wav\nb/x.flac\nb y's\tc.mp3\n\n-x\t/d\n")
            many.names(str(listing), str(names))
            entries = many.read_names(names)
            self.assertEqual([name for name, _ in entries], ["x", "x-2", "b_y_s", "x-3"])
            self.assertEqual(entries[3][1], "/d")
            self.assertTrue(entries[0][1].endswith("/a/x.wav"))
            texts.mkdir()
            (texts / "x-2.txt").write_text("x-2 one\n")
            out = io.StringIO()
            with redirect_stdout(out):
                many.batches(str(names), str(texts), "txt", "2", str(links))
            self.assertEqual(out.getvalue(), "2\n")
            found = sorted(str(link.relative_to(links)) for link in links.glob("*/*"))
            self.assertEqual(found, ["1/x-3.sound", "1/x.wav", "2/b_y_s.mp3"])
            with redirect_stdout(io.StringIO()) as out:
                many.collect(str(names), str(texts), "txt", folder, folder)
            self.assertEqual(out.getvalue(), "1 3\n")
            self.assertEqual(Path(folder, "text").read_text(), "x-2 one\n")
            self.assertEqual(len(Path(folder, "failed").read_text().splitlines()), 3)

    def test_commands_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            listing = Path(folder, "list")
            listing.write_text("sox a.wav -t wav - |\n")
            with self.assertRaisesRegex(SystemExit, "line 1: expected a file, found a command"):
                many.names(str(listing), f"{folder}/names")


if __name__ == "__main__":
    unittest.main()
