"""Warnings of recognizer.sh that need no training: single words, empty texts, and how unsure few words are."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Warnings(unittest.TestCase):
    def shell(self, source, command, *texts):
        """Runs a command with files of these texts as $1, $2, …"""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, str(number)) for number in range(len(texts))]
            for file, text in zip(files, texts):
                file.write_text(text)
            setup = f'set -e; source {SCRIPTS}/common/values.sh; source {SCRIPTS}/recognizer/{source}; say() {{ echo "$*"; }}; garbage=true; dir=exp; {command}'
            return subprocess.run(["bash", "-c", setup, "test", *files], capture_output=True, text=True, check=True).stdout

    def test_texts_of_single_words(self):
        def warned(*texts):
            return "nearly all texts have one word" in self.shell("data.sh", 'warn_of_single_words "$1"', "".join(f"u {text}\n" for text in texts))
        self.assertTrue(warned(*["one"] * 19, "one two"))
        self.assertFalse(warned(*["one"] * 18, "one two", "two one"))
        self.assertFalse(warned())

    def test_empty_texts(self):
        said = "".join(f"u{number:02} one\n" for number in range(40)) + "noise\n"
        def heard(empty):
            return "".join(f"u{number:02}{'' if number < empty else ' one'}\n" for number in range(40)) + "noise\n"
        self.assertEqual(self.shell("decode.sh", 'count_empty "$1" "$2"', said, heard(2)), "")
        self.assertIn("    3 of 40 texts are empty: ", self.shell("decode.sh", 'count_empty "$1" "$2"', said, heard(3)))
        self.assertEqual(self.shell("decode.sh", 'garbage=false; count_empty "$1" "$2"', said, heard(3)), "")

    def test_few_words_are_unsure(self):
        def row(name, words, wrong):
            return f"{name:<26} {words:6d} {words:7d} {100 * wrong / words:7.2f} % {wrong:5d} {0:5d} {0:5d} {0:9.1f} %\n"
        # The bounds of Wilson's interval for 95 %, from tables.
        for words, wrong, low, high in ((30, 0, "0.0", "11.4"), (100, 5, "2.2", "11.2")):
            said = self.shell("results.sh", 'uncertainty_of_results "$1"', "set\n" + row("test", words, wrong) + row("test (adapted)", words, wrong))
            self.assertEqual(said, f"test: {words} words are few: other recordings like these may have {low} to {high} % wrong\n")
        self.assertEqual(self.shell("results.sh", 'uncertainty_of_results "$1"', "set\n" + row("test", 5000, 100)), "")


if __name__ == "__main__":
    unittest.main()
