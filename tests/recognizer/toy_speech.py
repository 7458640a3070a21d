#!/usr/bin/env python3
"""Waves of a language of tones, for tests: each phone is a chord, words follow each other with pauses here and there.

usage: toy_speech.py [--num N] [--seed N] DIR
Writes DIR/wav/*.wav (8 kHz), DIR/text, DIR/utt2spk, DIR/lexicon.txt and DIR/toy.xconfig.
"""

import argparse
import random
import wave
from array import array
from math import pi, sin
from pathlib import Path

RATE = 8000
CHORDS = {"P": (350, 1900), "Q": (700, 1300), "R": (500, 2600), "S": (1000, 3100), "T": (250, 900), "U": (1500, 2200)}
# With two pronunciations of one word, words that sound alike, and one that another begins with.
LEXICON = {"lo": ("P Q",), "lot": ("P Q U",), "mi": ("Q R S", "R S"), "ta": ("S P",), "tah": ("S P",), "ru": ("T R Q",)}


def chord(draw, phone):
    length = draw.randrange(RATE * 70 // 1000, RATE * 130 // 1000)
    low, high = (f * draw.uniform(0.97, 1.03) for f in CHORDS[phone])
    for i in range(length):
        edge = min(1.0, i / 80, (length - i) / 80)
        yield edge * (3000 * sin(2 * pi * low * i / RATE) + 2000 * sin(2 * pi * high * i / RATE))


def pause(draw, longest):
    return [0.0] * draw.randrange(RATE // 20, int(RATE * longest))


def utterance(draw, words):
    samples = pause(draw, 0.3)
    for word in words:
        for phone in draw.choice(LEXICON[word]).split():
            samples += chord(draw, phone)
        if draw.random() < 0.3:
            samples += pause(draw, 0.2)
    samples += pause(draw, 0.3)
    return [sample + draw.gauss(0, 60) for sample in samples]


def write_wave(path, samples, rate=RATE):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(array("h", (int(sample) for sample in samples)).tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--num", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("dir", type=Path)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    (args.dir / "wav").mkdir(parents=True)
    with open(args.dir / "text", "w") as text, open(args.dir / "utt2spk", "w") as speakers:
        for i in range(args.num):
            words = [draw.choice(("lo", "lot", "mi", "ru", "ta")) for _ in range(draw.randrange(2, 5))]
            key = f"toy-{i:03d}"
            write_wave(args.dir / "wav" / f"{key}.wav", utterance(draw, words))
            print(key, *words, file=text)
            print(key, f"speaker{i % 4}", file=speakers)
    (args.dir / "lexicon.txt").write_text(
        "".join(f"{word} {phones}\n" for word, pronunciations in LEXICON.items() for phones in pronunciations)
    )
    (args.dir / "toy.xconfig").write_text(
        "input dim=40 name=input\n"
        "relu-batchnorm-layer name=tdnn1 input=Append(-2,-1,0,1,2) dim=32\n"
        "relu-batchnorm-layer name=tdnn2 input=Append(-3,0,3) dim=32\n"
        "output-layer name=output dim=@TARGETS@ include-log-softmax=false\n"
        "output-layer name=output-xent input=tdnn2 dim=@TARGETS@ learning-rate-factor=5.0\n"
    )


if __name__ == "__main__":
    main()
