#!/usr/bin/env python3
"""Checks of the recipe's own arithmetic against slow, obvious versions. Run: .venv/bin/python local/test_recipe.py

The programs must be built, as run.sh does, or be on the PATH.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import archives
import numpy as np

import features
import lang
import make_lang
import sound

RECIPE = Path(__file__).resolve().parent.parent
PATH = f"{os.environ['PATH']}:{RECIPE.parent.parent / 'target' / 'release'}"


def log_mel(samples):
    """What run.sh makes of samples."""
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "a.wav"
        sound.write_wav(wav, samples)
        command = f"compute-fbank-feats --config=conf/fbank.conf --subtract-mean=true scp:- ark:{folder}/feats.ark"
        subprocess.run(
            command.split(), input=f"a {wav}\n".encode(), cwd=RECIPE, env=os.environ | {"PATH": PATH}, capture_output=True, check=True
        )
        return archives.matrices(f"ark:{folder}/feats.ark")["a"]


class Lexicon(unittest.TestCase):
    def test_only_pronunciations_that_others_begin_with_are_marked(self):
        entries = [("four", [4, 2]), ("four", [4, 2, 1]), ("two", [2]), ("six", [5, 2])]
        marked = [prefix for _, _, prefix in make_lang.disambiguated(entries)]
        self.assertEqual(marked, [True, False, False, False])

    def test_each_word_has_its_phones_on_one_way_through_the_transducer(self):
        phones = lang.Phones()
        first = len(phones) + 1
        words = {word: number for number, (word, _) in enumerate(lang.lexicon(phones), 1)} | {"#0": 99}
        arcs = [line.split() for line in make_lang.lexicon_transducer(phones, words, first)]
        arcs = [(int(a), int(b), int(i), int(o)) for a, b, i, o, _ in (arc for arc in arcs if len(arc) == 5)]
        ways = {(): {(make_lang.LOOP, 0)}}
        for _, pronunciation in lang.lexicon(phones):
            reached = {(make_lang.LOOP, 0)}
            for phone in pronunciation:
                reached = {(b, word or o) for state, word in reached for a, b, i, o in arcs if (a, i) == (state, phone + 1)}
            ways[tuple(pronunciation)] = {word for _, word in reached}
        for word, pronunciation in lang.lexicon(phones):
            self.assertIn(words[word], ways[tuple(pronunciation)])


class Features(unittest.TestCase):
    def test_resampling_keeps_a_tone_in_time_and_level(self):
        tone = lambda rate: np.sin(2 * np.pi * 1000 * np.arange(rate) / rate)  # one second
        resampled = sound.resample(tone(22050), 22050)
        self.assertEqual(len(resampled), 16000)
        difference = np.abs(resampled - tone(16000))[200:-200]  # the tone's sudden ends ring
        self.assertLess(difference.max(), 1e-4)

    def test_a_frame_has_the_label_of_its_centre(self):
        segments = [(0.0, 7), (0.0249, 3), (0.0351, 5)]  # centres: 5, 15, 25, 35, 45 ms
        self.assertEqual(features.frame_labels(segments, 5).tolist(), [7, 7, 3, 3, 5])

    def test_a_click_is_loudest_in_the_frame_around_it(self):
        samples = np.random.default_rng(0).standard_normal(16000)
        samples[features.FRAME_SHIFT * 40 + 80] = 30000.0  # the centre of frame 40
        self.assertEqual(log_mel(samples).sum(axis=1).argmax(), 40)

    def test_there_are_as_many_labels_as_frames_whose_mean_is_zero(self):
        for length in (1680, 1679, 1681, 1759, 1760):
            samples = np.random.default_rng(length).standard_normal(length) * 100
            feats = log_mel(samples)
            self.assertEqual(feats.shape, (features.num_frames(samples), 40))
            self.assertLess(np.abs(feats.mean(axis=0)).max(), 1e-4)


if __name__ == "__main__":
    unittest.main()
