"""Forced alignment in Python: forms of input, progress, Ctrl-C, and messages in words of Python."""

import contextlib
import io
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

from support import InteropTest
from test_module import FOLDER, nnet3
from test_python_docs import make_corpus

PARTS = ["reading", "features", "training", "cutting", "alignment"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


class AlignTest(InteropTest):
    """One corpus and one model for all tests."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="nnet3-align-")
        cls.addClassCleanup(folder.cleanup)
        cls.corpus, cls.model, cls.heard = Path(folder.name, "corpus"), Path(folder.name, "model"), []
        make_corpus(cls.corpus, 30)
        hear = lambda *progress: cls.heard.append(progress)
        cls.all = nnet3.align(cls.corpus, "letters", save_model=cls.model, progress=hear, threads=2)

    def words(self, alignment):
        return [(word.label, word.begin, word.end) for word in alignment.intervals if word.type == "word"]

    def of(self, *names):
        """The words of these recordings, in the alignment of a folder of them with the same model."""
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                for ending in ("wav", "txt"):
                    shutil.copy(self.corpus / f"{name}.{ending}", folder)
            alignment = nnet3.align(folder, "letters", model=self.model)
        return [(word.label, word.begin, word.end) for name in names for word in alignment.intervals
                if word.type == "word" and word.recording == name]

    def test_progress_is_told_in_hundredths_with_the_name_of_the_part(self):
        done = [progress[0] for progress in self.heard]
        self.assertEqual(done, sorted(done))
        self.assertEqual(done[-1], 100)
        self.assertGreater(len(done), 20)
        self.assertEqual({progress[1] for progress in self.heard}, {100})
        self.assertEqual(list(dict.fromkeys(progress[2] for progress in self.heard)), PARTS)
        self.assertTrue(all(isinstance(number, int) for number in done))

    def test_pairs_of_recordings_and_texts(self):
        texts = {name: (self.corpus / f"{name}.txt").read_text() for name in ("07", "03", "11")}
        expected = self.of(*texts)
        self.assertEqual(len(expected), 12)
        wav = lambda name: self.corpus / f"{name}.wav"
        forms = {
            "pairs": [(str(wav(name)), text) for name, text in texts.items()],
            "lists": [[wav(name), f" {text}\n"] for name, text in texts.items()],
            "dictionary": {wav(name): text for name, text in texts.items()},
            "zip": zip(map(wav, texts), texts.values()),
            "files of texts": [(wav(name), self.corpus / f"{name}.txt") for name in texts],
            "names of files of texts": {str(wav(name)): str(self.corpus / f"{name}.txt") for name in texts},
        }
        for form, pairs in forms.items():
            found = nnet3.align(pairs, "letters", model=self.model)
            self.assertEqual(self.words(found), expected, form)
            self.assertEqual([recording["file"] for recording in found.recordings], [str(wav(name)) for name in texts], form)
            self.assertRegex(str(found.warnings), "each of 3 recordings is taken for a speaker of its own")
        of_speakers = [(wav(name), text, speaker) for (name, text), speaker in zip(texts.items(), ("anna", "anna", "ben"))]
        found = nnet3.align(of_speakers, "letters", model=self.model)
        self.assertEqual([interval.speaker for interval in found.intervals if interval.type == "word"], ["anna"] * 8 + ["ben"] * 4)
        self.assertEqual(found.warnings, [])
        found = nnet3.align(of_speakers[:2], "letters", model=self.model, speakers="one")
        self.assertEqual(len({interval.speaker for interval in found.intervals}), 1)
        os.chdir(self.corpus)
        found = nnet3.align([("03.wav", texts["03"])], "letters", model=self.model)
        self.assertEqual((found.recordings[0]["file"], list(found.to_textgrid()), found.intervals[0].utterance), ("03.wav", ["03"], "03"))
        self.assertEqual(repr(found), "<nnet3.Alignment of 1 recording: 1 utterance, 0 not aligned>")

    def test_a_recording_and_its_text(self):
        expected = self.of("05")
        text = (self.corpus / "05.txt").read_text()
        for recording in (self.corpus / "05.wav", str(self.corpus / "05.wav")):
            for said in (text, self.corpus / "05.txt"):
                self.assertEqual(self.words(nnet3.align(recording, "letters", text=said, model=self.model)), expected)
        with self.assertRaisesRegex(TypeError, r'05.wav is a recording: text="…" says what is spoken in it'):
            nnet3.align(self.corpus / "05.wav", "letters", model=self.model)
        # Files that are no sound are lists and tables, as before.
        Path("wav.scp").write_text(f"a {self.corpus}/05.wav\n")
        Path("text").write_text(f"a {text}\n")
        self.assertEqual(self.words(nnet3.align("wav.scp", "letters", text="text", model=self.model)), expected)
        Path("table.csv").write_text(f"path,text\n{self.corpus}/05.wav,{text}\n")
        self.assertEqual(self.words(nnet3.align("table.csv", "letters", model=self.model)), expected)

    def test_pairs_that_cannot_be_used(self):
        wav, text = str(self.corpus / "01.wav"), (self.corpus / "01.txt").read_text()

        def refused(error, words, corpus, **options):
            with self.assertRaisesRegex(error, words):
                nnet3.align(corpus, "letters", model=self.model, **options)

        refused(ValueError, "^corpus: expected .*, or pairs of recordings and texts, found none", [])
        refused(TypeError, "^corpus: expected .* pairs of recordings and texts, found int", 7)
        refused(TypeError, r"^corpus, pair 1: expected \(recording, text\) or \(recording, text, speaker\), found 'x'", [(wav, text), "x"])
        refused(TypeError, "^corpus, pair 0: expected the name of a recording, .* found int", [(7, text)])
        refused(TypeError, r"^corpus, pair 0, the text of '.*01.wav': expected a text \(str\), .* found int", [(wav, 7)])
        refused(ValueError, "pair 0, the text of .*: expected a text, found an empty one", [(wav, " \n")])
        refused(ValueError, "pair 0, .* ends with .txt or .lab, found 'a.TextGrid'", [(wav, Path("a.TextGrid"))])
        refused(nnet3.NotFoundError, "^corpus, pair 1: there is no file 'nowhere.wav'", [(wav, text), ("nowhere.wav", text)])
        refused(TypeError, "pair 0: expected the name of a speaker, a str, found 3", [(wav, text, 3)])
        refused(TypeError, "^text: expected none beside pairs", [(wav, text)], text="ab")
        refused(nnet3.NotFoundError, "^corpus: there is no file or folder 'nowhere.wav'", "nowhere.wav", text="ab")
        for name in ("model", "lexicon"):
            with self.assertRaisesRegex(nnet3.NotFoundError, f"^{name}: there is no file or folder 'nowhere'"):
                nnet3.align([(wav, text)], **{"lexicon": "letters", name: "nowhere"})
        # Faults name the recording and its place among the pairs, and no table.
        Path("bad.wav").write_bytes(b"RIFF no sound")
        found = nnet3.align([(wav, text), ("bad.wav", "ab")], "letters", model=self.model)
        self.assertEqual(len(found.recordings), 1)
        self.assertTrue(any("bad.wav" in place for place, _ in found.faults), found.faults)
        found = nnet3.align([(wav, f"{text} xyz")], "letters", model=self.model)
        self.assertNotIn("corpus.jsonl", repr((found.faults, found.unknown_words, found.warnings, found.recordings)))
        refused(nnet3.Error, "bad.wav", [("bad.wav", "ab")])
        with self.assertRaises(nnet3.Error) as caught:
            nnet3.align([("bad.wav", "ab")], "letters")
        self.assertNotIn("corpus.jsonl", str(caught.exception))

    def test_a_function_that_raises_ends_the_alignment(self):
        for part in PARTS:
            def stop(done, total, name, part=part):
                if name == part:
                    raise KeyError(part)

            with self.assertRaisesRegex(KeyError, part):
                nnet3.align(self.corpus, "letters", save_model="stopped", progress=stop)
            # (Behind the training the model is whole.)
            self.assertEqual(Path("stopped").exists(), part in ("cutting", "alignment"), part)
            shutil.rmtree("stopped", ignore_errors=True)
        self.assertEqual(os.listdir(), [])

    def test_a_bar_is_shown_on_terminals(self):
        def shown(stream, **options):
            with contextlib.redirect_stderr(stream):
                nnet3.align(self.corpus, "letters", model=self.model, **options)
            return stream.getvalue()

        for stream, options in ((Terminal(), {}), (io.StringIO(), {"progress": True})):
            text = shown(stream, **options)
            self.assertIn("alignment", text)
            self.assertIn("█", text)
            self.assertTrue(text.endswith("\r") and not text.split("\r")[-2].strip(), text[-80:])
        self.assertEqual(shown(io.StringIO()), "")
        self.assertEqual(shown(Terminal(), progress=False), "")
        with self.assertRaisesRegex(TypeError, "^progress: expected a function of .*, found int"):
            nnet3.align(self.corpus, "letters", progress=7)

    def test_ctrl_c_ends_the_alignment_in_a_second_and_leaves_no_file(self):
        code = """
import os, signal, sys, threading, time, nnet3
corpus, part, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
begun = []
def progress(done, total, name):
    if name == part and not begun:
        begun.append(time.monotonic())
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    nnet3.align(corpus, "letters", save_model="model", progress=progress, threads=threads)
    print("done")
except KeyboardInterrupt:
    print(time.monotonic() - begun[0] - 0.2)
"""
        # (More recordings, so that each part takes longer than the delay.)
        for number in range(300):
            for ending in ("wav", "txt"):
                Path("more").mkdir(exist_ok=True)
                os.link(self.corpus / f"{number % 30:02}.{ending}", f"more/{number:03}.{ending}") if os.stat(self.corpus).st_dev == os.stat(".").st_dev \
                    else shutil.copy(self.corpus / f"{number % 30:02}.{ending}", f"more/{number:03}.{ending}")
        for part, threads in (("features", 2), ("training", 1), ("training", 2)):
            run = [sys.executable, "-c", code, "more", part, str(threads)]
            done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONPATH": FOLDER.name})
            self.assertEqual((done.returncode, done.stderr), (0, ""), part)
            self.assertNotEqual(done.stdout.strip(), "done", f"{part}: the alignment was faster than the signal")
            self.assertLess(float(done.stdout), 1.5, part)
            self.assertEqual(os.listdir(), ["more"], part)

    def test_messages_name_arguments(self):
        shutil.copytree(self.corpus, "corpus")
        os.rename("corpus/00.txt", "corpus/00.orthography")
        os.remove("corpus/01.txt")
        sentences = dict(nnet3.align("corpus", "letters", model=self.model).faults)
        sentences = {Path(place).name: sentence for place, sentence in sentences.items()}
        self.assertIn('(text_extensions=["orthography"] takes such files)', sentences["00.wav"])
        for words, options in (
            ("^adapt: expected a model that is trained on", {"adapt": True}),
            ("^save_model=kept: no model is trained, as one is given", {"model": self.model, "save_model": "kept"}),
        ):
            with self.assertRaisesRegex(nnet3.Error, words):
                nnet3.align("corpus", "letters", **options)
        for text in sentences.values():
            self.assertNotRegex(text, "--|`")

    def test_intervals_and_alignments_show_what_they_are(self):
        word = self.all.intervals[0]
        self.assertRegex(repr(word), r"^<nnet3.Interval word '\w\w' of '00' 0\.\d\d-0\.\d\d s, score -?\d+\.\d\d>$")
        self.assertEqual(word.duration, word.end - word.begin)
        self.assertEqual(pickle.loads(pickle.dumps(self.all)).intervals, self.all.intervals)
        self.assertRegex(repr(word._replace(score=None)), " s>$")


if __name__ == "__main__":
    unittest.main()
