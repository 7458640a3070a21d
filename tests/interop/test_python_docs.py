"""The examples of docs/python.md do what the page says."""

import contextlib
import csv
import io
import json
import re
import shutil
import unittest
import wave
from pathlib import Path

import numpy as np

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

    def test_the_page_has_eleven_examples(self):
        self.assertEqual(list(EXAMPLES), [str(number) for number in range(1, 12)])
        for name in nnet3.__all__:
            if name not in ("__version__", "ArchiveError", "find_bin"):
                self.assertIn(f"`{name}`" if f"nnet3.{name}" not in PAGE else f"nnet3.{name}", PAGE, name)
        for number in re.findall(r"\(#(\d+)-", PAGE):
            self.assertIn(number, EXAMPLES)
        for kind in (nnet3.Model, nnet3.Recognizer, nnet3.Network):
            for name in vars(kind):
                if not name.startswith("_"):
                    self.assertRegex(PAGE, rf"\b{name}\b", f"{kind.__name__}.{name}")
        for page in ("docs/README.md", "packaging/python/README.md"):
            self.assertRegex((ROOT / page).read_text(), r"\b(with|has) eleven examples", page)

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
        text = self.expected["text"]
        self.assertEqual(self.example(6), [text] * 3 + [f"{channel} {text}" for channel in (1, 2)])

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
        self.assertEqual(lines[2], "12.0 False")
        self.assertIn("1.5", lines[3])

    def test_10_programs_and_errors(self):
        lines = self.example(10)
        self.assertTrue(lines[0].startswith("u7 "), lines)
        self.assertTrue(any("nowhere.mdl" in line for line in lines))
        self.assertTrue(any(line.startswith("nowhere: expected the folder of a model") for line in lines), lines)

    def test_11_forced_alignment(self):
        times = make_corpus(Path("corpus"), 30)
        lines = self.example(11)
        self.assertEqual(lines[0], "<nnet3.Alignment of 30 recordings: 30 utterances, 0 not aligned>")
        self.assertEqual(lines[1].split()[:3], ["00", "word", "".join(sound for sound, _, _ in times[0])[:2]])
        self.assertEqual(lines[2].split()[1:3], ["phone", times[0][0][0]])
        self.assertEqual(len(list(Path("textgrids").iterdir())), 30)
        labels = [label for word in Path("corpus/07.txt").read_text().split() for label in (word, *word)]
        self.assertIn(str(labels), lines)
        alignment = nnet3.align("corpus", "letters", model="aligner", threads=1)
        phones = [interval for interval in alignment.intervals if interval.type == "phone"]
        expected = [sound for sounds in times for sound in sounds]
        self.assertEqual([phone.label for phone in phones], [sound for sound, _, _ in expected])
        distances = sorted(abs(phone.begin - begin) for phone, (_, begin, _) in zip(phones, expected))
        self.assertLessEqual(distances[len(distances) // 2], 0.015)
        for text in alignment.to_textgrid(short=True).values():
            self.assertTrue(text.startswith('File type = "ooTextFile"'))
        with self.assertRaisesRegex(nnet3.Error, "^adapt: expected a model"):
            nnet3.align("corpus", "letters", adapt=True)
        with self.assertRaisesRegex(ValueError, "unknown_words=x: expected spoken"):
            nnet3.align("corpus", "letters", unknown_words="x")
        with self.assertRaisesRegex(nnet3.Error, "nowhere"):
            nnet3.align("nowhere", "letters")


SOUNDS = {"a": (350, 950), "b": (1500, 2400), "c": (2900, 3400), "d": (600, 2000)}
WORDS = ["ab", "ba", "cd", "db", "bc", "cb", "dc", "ad"]


def make_corpus(folder, count):
    """Recordings of four words each, whose letters are pairs of tones. Returns the letters of each with begin and end in seconds."""
    folder.mkdir()
    random = np.random.default_rng(7)
    noise = lambda length: 20 * random.standard_normal(int(length * 8000))
    times = []
    for number in range(count):
        words = [WORDS[random.integers(len(WORDS))] for _ in range(4)]
        parts, sounds = [noise(0.2)], []
        for word in words:
            for letter in word:
                begin = sum(map(len, parts)) / 8000
                sound = noise(random.uniform(0.07, 0.15))
                place = np.arange(len(sound)) / 8000
                parts.append(10 * sound + sum(2500 * np.sin(2 * np.pi * tone * place) for tone in SOUNDS[letter]))
                sounds.append((letter, begin, begin + len(sound) / 8000))
            parts.append(noise(0.12 if random.random() < 0.4 else 0))
        parts.append(noise(0.2))
        with wave.open(str(folder / f"{number:02}.wav"), "wb") as out:
            out.setparams((1, 2, 8000, 0, "NONE", ""))
            out.writeframes(np.concatenate(parts).astype("<i2").tobytes())
        (folder / f"{number:02}.txt").write_text(" ".join(words))
        times.append(sounds)
    return times


if __name__ == "__main__":
    unittest.main()
