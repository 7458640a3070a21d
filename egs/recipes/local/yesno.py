#!/usr/bin/env python3
"""Speaks the recordings of the recipe yesno: eight times "yes" or "no", as the names say (1 and 0), in one voice at 8 kHz."""

import argparse
import sys
import wave
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "digits/local"))

import espeak
import sound

WORDS = {"1": "yes", "0": "no"}
RATE = 8000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the waves")
    parser.add_argument("--num", type=int, default=60, help="recordings, at most 256 (60)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other recordings (1)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    synthesiser, rng = espeak.Espeak(), np.random.default_rng(args.seed)
    names = ["_".join(f"{number:08b}") for number in rng.permutation(256)[: args.num]]
    for name in sorted(names):
        parts = [np.zeros(int(0.3 * RATE))]
        for digit in name.split("_"):
            spoken, _ = synthesiser.speak(WORDS[digit], "gmw/en-US", rate=rng.integers(140, 181), pitch=rng.integers(40, 61))
            speech = sound.resample(spoken.astype(np.float64), synthesiser.sample_rate, RATE)
            parts += [speech, np.zeros(int(rng.uniform(0.2, 0.5) * RATE))]
        samples = np.concatenate(parts)
        samples = samples + 40 * rng.standard_normal(len(samples))
        with wave.open(str(args.out / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(np.clip(np.round(samples), -32768, 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    main()
