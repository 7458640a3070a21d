"""The examples of docs/python.md do what the page says."""

import contextlib
import csv
import io
import json
import re
import shutil
import unittest
from pathlib import Path

from support import BIN, ROOT, SPEECH, InteropTest, make_recognizer
from test_module import RATE, SAMPLES, nnet3

PAGE = (ROOT / "docs" / "python.md").read_text()
EXAMPLES = dict(re.findall(r"^## (\d+)\. .*?^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


class PythonDocsTest(InteropTest):
    def setUp(self):
        super().setUp()
        make_recognizer(self)
        shutil.copy(SPEECH, "speech.wav")
        Path("wav.scp").write_text("u7 speech.wav\n")
        # The programs are those of the build, wherever a wheel would have them.
        finder = nnet3._programs.find_bin
        self.addCleanup(setattr, nnet3._programs, "find_bin", finder)
        nnet3._programs.find_bin = lambda name="nnet3": str(BIN / name)
        expected = self.run_program(BIN / "nnet3-transcribe", "--format=json", "model", "speech.wav")
        self.expected = json.loads(expected)
        self.assertTrue(self.expected["text"])

    def example(self, number):
        """Runs an example. Returns the lines that it prints."""
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile(EXAMPLES[str(number)], f"docs/python.md, example {number}", "exec"), {"__name__": "example"})
        return shown.getvalue().splitlines()

    def test_the_page_has_ten_examples(self):
        self.assertEqual(list(EXAMPLES), [str(number) for number in range(1, 11)])
        for name in nnet3.__all__:
            if name not in ("__version__", "ArchiveError", "find_bin"):
                self.assertIn(f"`{name}`" if f"nnet3.{name}" not in PAGE else f"nnet3.{name}", PAGE, name)
        for number in re.findall(r"\(#(\d+)-", PAGE):
            self.assertIn(number, EXAMPLES)

    def test_1_a_recording(self):
        lines = self.example(1)
        words = [word["word"] for segment in self.expected["segments"] for word in segment["words"]]
        self.assertEqual(lines[0], self.expected["text"])
        self.assertEqual([line.split()[0] for line in lines if line.startswith("    ")], words)

    def test_2_a_folder_as_a_table(self):
        shutil.copy(SPEECH, "second.wav")
        rows = list(csv.DictReader(self.example(2)))
        self.assertEqual([row["file"] for row in rows], ["second.wav", "speech.wav"])
        self.assertEqual({row["text"] for row in rows}, {self.expected["text"]})

    def test_3_sound_as_it_arrives(self):
        lines = self.example(3)
        self.assertEqual(lines[-1], self.expected["text"])
        self.assertTrue(any(line.startswith("…") for line in lines))

    def test_4_several_texts(self):
        lines = self.example(4)
        self.assertTrue(1 <= len(lines) <= 3, lines)
        self.assertEqual(len(set(lines)), len(lines))

    def test_5_subtitles(self):
        self.assertEqual(self.example(5)[0], "1")
        self.assertEqual(json.loads(Path("talk.json").read_text()), self.expected)
        self.assertTrue(Path("talk.vtt").read_text().startswith("WEBVTT") and Path("talk.TextGrid").exists())

    def test_6_sound_from_another_program(self):
        self.assertEqual(self.example(6), [self.expected["text"]])

    def test_7_features(self):
        frames = (len(SAMPLES) - RATE * 25 // 1000) // (RATE // 100) + 1
        self.assertTrue(self.example(7)[0].startswith(f"({frames}, 20) float32 "))

    def test_8_outputs_of_a_network(self):
        info, shapes = self.example(8)
        self.assertTrue(info.startswith("2 44 ["), info)
        self.assertRegex(shapes, r"^\(\d+, 44\) \(\d+, 44\)$")

    def test_9_archives(self):
        lines = self.example(9)
        self.assertEqual(lines[:2], ["a (2, 3) 15.0", "b (4, 3) 12.0"])
        self.assertIn("1.5", lines[2])

    def test_10_programs_and_errors(self):
        lines = self.example(10)
        self.assertTrue(lines[0].startswith("u7 "), lines)
        self.assertTrue(any("nowhere.mdl" in line for line in lines))
        self.assertTrue(any(line.startswith("nowhere: expected the folder of a model") for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
