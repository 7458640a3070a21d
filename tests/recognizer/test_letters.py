"""Lexicons of letters."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "recognizer"))
import letters


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


if __name__ == "__main__":
    unittest.main()
