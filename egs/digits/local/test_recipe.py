#!/usr/bin/env python3
"""Checks of the recipe's own arithmetic against slow, obvious versions. Run: .venv/bin/python local/test_recipe.py"""

import itertools
import unittest
from unittest import mock

import numpy as np

import decode
import features


def segmentations(sequence, num_frames):
    """All ways to hold each item of `sequence` for at least one of `num_frames` frames."""
    for cuts in itertools.combinations(range(1, num_frames), len(sequence) - 1):
        lengths = np.diff([0, *cuts, num_frames])
        yield [item for item, length in zip(sequence, lengths) for _ in range(length)]


def best_by_enumeration(scores, pronunciations, silence, penalty):
    """The best words and their score, by trying every word sequence, silence pattern and segmentation."""
    best, num_frames = (-np.inf, None), len(scores)
    for count in range(num_frames + 1):
        for words in itertools.product(pronunciations, repeat=count):
            for pauses in itertools.product([False, True], repeat=count + 1):
                phones = [silence] * pauses[0]
                for (_, pronunciation), pause in zip(words, pauses[1:]):
                    phones += pronunciation + [silence] * pause
                if not 0 < len(phones) <= num_frames:
                    continue
                for path in segmentations(phones, num_frames):
                    score = scores[np.arange(num_frames), path].sum() + penalty * count
                    best = max(best, (score, [word for word, _ in words]), key=lambda pair: pair[0])
    return best[1]


class Decoding(unittest.TestCase):
    # No two word sequences share a phone sequence here, so that the best one is unique.
    PRONUNCIATIONS = [("a", [4, 2]), ("b", [2]), ("c", [1, 3, 4])]

    def test_viterbi_finds_the_best_of_all_paths(self):
        rng = np.random.default_rng(0)
        with mock.patch.object(decode, "MIN_FRAMES", 1):
            loop = decode.DigitLoop(self.PRONUNCIATIONS, silence=0)
        for _ in range(5):
            scores = [2 * rng.standard_normal((frames, 5)) for frames in (1, 2, 4, 5)]
            penalty = -rng.uniform(0, 2)
            expected = [best_by_enumeration(s, self.PRONUNCIATIONS, 0, penalty) for s in scores]
            self.assertEqual(loop.decode(scores, penalty), expected)

    def test_phones_have_a_shortest_length(self):
        loop = decode.DigitLoop([("b", [1])], silence=0)
        blip, word = np.zeros((6, 2)), np.zeros((6, 2))
        blip[3, 1] = word[2:5, 1] = 10.0
        blip[[0, 1, 2, 4, 5], 0] = word[[0, 1, 5], 0] = 10.0
        self.assertEqual(loop.decode([blip, word], penalty=0.0), [[], ["b"]])

    def test_edits_are_counted_by_kind(self):
        for reference, hypothesis, expected in (
            ("a b c", "a b c", (0, 0, 0)),
            ("a b c", "a x c", (1, 0, 0)),
            ("a b c", "a c", (0, 1, 0)),
            ("a b c", "a b x c", (0, 0, 1)),
            ("a b", "", (0, 2, 0)),
            ("", "a", (0, 0, 1)),
        ):
            self.assertEqual(decode.edit_counts(reference.split(), hypothesis.split()), expected)


class Features(unittest.TestCase):
    def test_resampling_keeps_a_tone_in_time_and_level(self):
        tone = lambda rate: np.sin(2 * np.pi * 1000 * np.arange(rate) / rate)  # one second
        resampled = features.resample(tone(22050), 22050)
        self.assertEqual(len(resampled), 16000)
        difference = np.abs(resampled - tone(16000))[200:-200]  # the tone's sudden ends ring
        self.assertLess(difference.max(), 1e-4)

    def test_a_frame_has_the_label_of_its_centre(self):
        segments = [(0.0, 7), (0.0249, 3), (0.0351, 5)]  # centres: 5, 15, 25, 35, 45 ms
        self.assertEqual(features.frame_labels(segments, 5).tolist(), [7, 7, 3, 3, 5])

    def test_a_click_is_loudest_in_the_frame_around_it(self):
        samples = np.random.default_rng(0).standard_normal(16000)
        samples[features.FRAME_SHIFT * 40 + 80] = 30000.0  # the centre of frame 40
        self.assertEqual(features.log_mel(samples).sum(axis=1).argmax(), 40)


if __name__ == "__main__":
    unittest.main()
