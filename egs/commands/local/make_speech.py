#!/usr/bin/env python3
"""Speaks commands with espeak-ng, in clean and in noisy rooms, and writes them as Kaldi data folders.

Five sets: `train` in the voices marked `train` in conf/voices.txt, two thirds of it with noise and echoes; then `seen_clean` and
`unseen_clean`, in those voices and in those marked `held-out`, and `seen_noisy` and `unseen_noisy`, the same recordings with noise and echoes.
All that is drawn at random depends on the seed, the set and the utterance's number only; so the data are the same however many processes
make them. Each folder has `wav/`, `wav.scp`, `text` and `utt2spk`.
"""

import argparse
import multiprocessing
import sys
from pathlib import Path

import numpy as np

RECIPE = Path(__file__).resolve().parent.parent
sys.path.append(str(RECIPE.parent / "digits/local"))

import espeak
import sound
import speakers
from grammar import Grammar

CHUNK = 50  # utterances that one process speaks: espeak-ng carries state over, so a chunk starts with a fresh library
NOISY_PART = 2 / 3
TRAIN, SEEN, UNSEEN = 0, 1, 2


def echoes(rng, samples):
    """Samples as they are heard in a room: a direct sound, and echoes that fade by 60 dB in 0.2 to 0.6 seconds."""
    fading = rng.uniform(0.2, 0.6)
    times = np.arange(int(fading * sound.SAMPLE_RATE)) / sound.SAMPLE_RATE
    response = rng.standard_normal(len(times)) * 10 ** (-3 * times / fading)
    response[: int(rng.uniform(0.002, 0.01) * sound.SAMPLE_RATE)] = 0
    response *= 10 ** (-rng.uniform(0, 9) / 20) / np.sqrt(np.sum(response**2))  # echoes beside the direct sound, in dB
    response[0] = 1.0
    size = 1 << (len(samples) + len(response)).bit_length()
    heard = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(response, size), size)[: len(samples)]
    return heard * np.sqrt(np.mean(samples**2) / np.mean(heard**2))


def noises(rng, length):
    """Noise with unit power: a hiss or rumble, half of the time with the hum of a machine."""
    noise = sound.coloured_noise(rng, length, tilt=rng.uniform(0, 2))
    if rng.random() < 0.5:
        times = np.arange(length) / sound.SAMPLE_RATE
        base = rng.uniform(45, 180)
        hum = sum(rng.uniform(0, 1) / k * np.sin(2 * np.pi * (k * base * times + rng.random())) for k in range(1, 9))
        noise = noise + hum * rng.uniform(0.3, 1.0)
    return noise / np.sqrt(np.mean(noise**2))


def in_a_room(rng, samples):
    """A recording with echoes and with noise 5 to 20 dB below the speech."""
    heard = echoes(rng, samples)
    return heard + noises(rng, len(heard)) * np.sqrt(np.mean(samples**2)) * 10 ** (-rng.uniform(5, 20) / 20)


def recording(synthesiser, rng, voice, words):
    """A command as 16 kHz samples, with faint noise; the voice's speed and pitch vary."""
    spoken, _ = synthesiser.speak(
        " ".join(words),
        voice.file,
        rate=rng.integers(130, 221),
        pitch=rng.integers(25, 76),
        pitch_range=rng.integers(25, 76),
        seed=int(rng.integers(1, 2**31)),
    )
    speech = sound.resample(spoken.astype(np.float64), synthesiser.sample_rate)
    before, after = (int(seconds * sound.SAMPLE_RATE) for seconds in rng.uniform(0.1, 0.4, size=2))
    samples = np.pad(speech, (before, after)) * 10 ** (-rng.uniform(0, 12) / 20)
    return samples + np.sqrt(np.mean(samples**2)) * 0.01 * sound.coloured_noise(rng, len(samples), tilt=1.0)


def speak_chunk(job):
    """Utterances `first` to `last` of a part, into the folders of its sets; returns lines (set, key, voice, words)."""
    part, sets, first, last, voices, seed = job
    synthesiser, grammar = espeak.Espeak(), Grammar(RECIPE / "conf/grammar.txt")
    lines = []
    for i in range(first, last):
        rng = np.random.default_rng([seed, part, i])
        voice = voices[i % len(voices)]
        words = grammar.draw(rng)
        clean = recording(synthesiser, rng, voice, words)
        noisy = in_a_room(rng, clean)
        versions = [clean, noisy] if len(sets) == 2 else [noisy if rng.random() < NOISY_PART else clean]
        for folder, samples in zip(sets, versions):
            key = f"{voice.name}-{folder.name}-{i:05d}"
            sound.write_wav(folder / "wav" / f"{key}.wav", np.clip(samples, -32000, 32000))
            lines.append((folder, key, voice.name, words))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir", type=Path, default=Path("data"), help="where the sets' folders go (default: data)")
    parser.add_argument("--num-train", type=int, default=2400, help="training utterances (default: 2400)")
    parser.add_argument("--num-test", type=int, default=120, help="utterances in each other set (default: 120)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other data (default: 1)")
    parser.add_argument("--nj", type=int, default=2, help="parallel processes (default: 2)")
    args = parser.parse_args()

    seen, held_out = speakers.seen_and_held_out(RECIPE / "conf/voices.txt")

    parts = [
        (TRAIN, ("train",), args.num_train, seen),
        (SEEN, ("seen_clean", "seen_noisy"), args.num_test, seen),
        (UNSEEN, ("unseen_clean", "unseen_noisy"), args.num_test, held_out),
    ]
    folder = args.dir.resolve()
    # `spawn`: the children start without this process's copy of espeak-ng.
    with multiprocessing.get_context("spawn").Pool(args.nj, maxtasksperchild=1) as pool:
        for part, names, count, voices in parts:
            sets = [folder / name for name in names]
            for path in sets:
                (path / "wav").mkdir(parents=True, exist_ok=True)
            jobs = [
                (part, sets, first, min(first + CHUNK, count), voices, args.seed) for first in range(0, count, CHUNK)
            ]
            lines = sorted(line for chunk in pool.imap(speak_chunk, jobs) for line in chunk)
            for path in sets:
                own = [line[1:] for line in lines if line[0] == path]
                for file, rows in (
                    ("wav.scp", (f"{key} {path}/wav/{key}.wav" for key, _, _ in own)),
                    ("text", (f"{key} {' '.join(words)}" for key, _, words in own)),
                    ("utt2spk", (f"{key} {voice}" for key, voice, _ in own)),
                ):
                    (path / file).write_text("".join(f"{row}\n" for row in rows))
            print(f"{' and '.join(names)}: {count} utterances, {len(voices)} voices", flush=True)


if __name__ == "__main__":
    main()
