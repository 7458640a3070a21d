#!/usr/bin/env python3
"""Speaks commands with espeak-ng in several voices, as a folder for nnet3-align, and writes the times of their words.

FOLDER/corpus/VOICE/KEY.wav and .txt, and FOLDER/reference.tsv: key, word, begin and end in seconds. espeak-ng reports the sample at which
each word and each phone begins. It also marks pauses between words, which are not all pauses of the sound:

* The sound of a word may go on into the pause behind it. Then the word ends with its sound.
* The pause before a stop (p, t, k, b, d, g, ch, j) of less than 0.1 s is its closure, and belongs to the stop.
* Pauses of less than 0.03 s belong to the word before: models of three frames cannot have shorter ones.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

RECIPE = Path(__file__).resolve().parent.parent
COMMANDS = RECIPE.parent / "commands"
sys.path.append(str(RECIPE.parent / "digits/local"))
sys.path.append(str(COMMANDS / "local"))

import espeak
import sound
from grammar import Grammar

VOICES = ["en-US", "en", "en-GB-scotland", "en-US+f1", "en+f2", "en-US+m3", "en+m4", "en-US+f3", "en-GB-scotland+m2", "en-US+m5"]
PAUSE = "_"


STOPS = "ptkbdg"
SHORTEST_PAUSE, LONGEST_CLOSURE = 0.03, 0.1
# The level of a pause, beside that of the sentence, and the seconds in which it is measured.
QUIET, WINDOW = 0.01, 0.005


def without_false_pauses(found, firsts, samples, rate):
    """The intervals, of which those beside pauses that are none are longer. `firsts` are the first phones of words."""
    level, window = np.sqrt(np.mean(samples**2)), int(WINDOW * rate)
    found = [list(interval) for interval in found]
    for before, after, first in zip(found, found[1:], firsts[1:]):
        if after[0] <= before[1]:
            continue
        power = np.convolve(samples[before[1] : after[0]] ** 2, np.ones(window) / window, "same")
        loud = np.flatnonzero(power > (QUIET * level) ** 2)
        before[1] = min(before[1] + int(loud[-1]) + 1, after[0]) if len(loud) else before[1]
        pause = samples[before[1] : after[0]]
        if first[0] in STOPS and len(pause) < LONGEST_CLOSURE * rate:
            after[0] = before[1]
        elif len(pause) < SHORTEST_PAUSE * rate:
            before[1] = after[0]
    return found


def intervals(words, marks, samples, rate):
    """Begin and end of each word, in samples; None if espeak-ng marks other words (it may join or split them)."""
    end = len(samples)
    begins = [number for number, mark in enumerate(marks) if mark.phone is None]
    if len(begins) != len(words):
        return None
    found, firsts = [], []
    for place, number in enumerate(begins):
        last = begins[place + 1] if place + 1 < len(begins) else len(marks)
        phones = [mark for mark in marks[number + 1 : last] if mark.phone]
        spoken = [mark for mark in phones if not mark.phone.startswith(PAUSE)]
        if not spoken:
            return None
        behind = [mark.sample for mark in phones if mark.phone.startswith(PAUSE) and mark.sample > spoken[-1].sample]
        following = marks[last].sample if last < len(marks) else end
        found.append((spoken[0].sample, behind[0] if behind else following))
        firsts.append(spoken[0].phone)
    return without_false_pauses(found, firsts, samples, rate)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=500, help="sentences (500)")
    args = parser.parse_args()
    synthesiser, grammar = espeak.Espeak(), Grammar(COMMANDS / "conf/grammar.txt")
    lines, number, tries = [], 0, 0
    while number < args.count:
        rng = np.random.default_rng([7, tries])
        tries += 1
        voice = VOICES[number % len(VOICES)]
        words = grammar.draw(rng)
        # (Commas make pauses in some sentences.)
        text = " ".join(word + ("," if rng.random() < 0.1 else "") for word in words)
        spoken, marks = synthesiser.speak(
            text, "gmw/" + voice, rate=rng.integers(130, 200), pitch=rng.integers(30, 70), seed=int(rng.integers(1, 2**31))
        )
        times = intervals(words, marks, spoken.astype(np.float64), synthesiser.sample_rate)
        if times is None:
            continue
        speech = sound.resample(spoken.astype(np.float64), synthesiser.sample_rate)
        before, after = (int(seconds * sound.SAMPLE_RATE) for seconds in rng.uniform(0.1, 0.4, size=2))
        samples = np.pad(speech, (before, after))
        samples += np.sqrt(np.mean(samples**2)) * 0.01 * sound.coloured_noise(rng, len(samples), tilt=1.0)
        name = voice.replace("+", "-")
        key = f"{name}-{number:04d}"
        folder = args.folder / "corpus" / name
        folder.mkdir(parents=True, exist_ok=True)
        sound.write_wav(folder / f"{key}.wav", np.clip(samples, -32000, 32000))
        (folder / f"{key}.txt").write_text(" ".join(words) + "\n")
        for word, (begin, end) in zip(words, times):
            seconds = [before / sound.SAMPLE_RATE + place / synthesiser.sample_rate for place in (begin, end)]
            lines.append(f"{key}\t{word}\t{seconds[0]:.4f}\t{seconds[1]:.4f}\n")
        number += 1
    (args.folder / "reference.tsv").write_text("".join(lines))
    print(f"{number} sentences, {len(lines)} words in {len(VOICES)} voices; {tries - number} left out, whose words espeak-ng marks otherwise")


if __name__ == "__main__":
    main()
