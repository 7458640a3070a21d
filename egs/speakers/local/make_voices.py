#!/usr/bin/env python3
"""Speaks sentences in many synthetic voices, with noise and echoes, as Kaldi data folders, and mixes recordings of several speakers.

A speaker is an accent and a variant of espeak-ng, a pitch, a speed, and a length of the vocal tract (speech is resampled by up to 12 %).
Variants marked `held-out` in conf/variants.txt belong to unseen speakers alone. Folders:

    train, backend, unseen   wav/, wav.scp, utt2spk: utterances of some seconds, of different speakers
    mixed_dev, mixed         wav/, wav.scp, and rttm: who speaks when, in recordings of a minute with 2 to 4 speakers of backend and unseen

All that is drawn at random depends on the seed and on the number of the speaker or recording only.
"""

import argparse
import multiprocessing
import sys
from pathlib import Path

import numpy as np

RECIPE = Path(__file__).resolve().parent.parent
sys.path += [str(RECIPE.parent / "commands/local"), str(RECIPE.parent / "digits/local")]

import espeak
import make_speech
import sound
from grammar import Grammar

ACCENTS = ("gmw/en-US", "gmw/en", "gmw/en-GB-scotland", "gmw/en-GB-x-rp", "gmw/en-GB-x-gbclan", "gmw/en-029")
NOISY_PART = 0.75
TRAIN, UNSEEN, DEV, MIXED, BACKEND = 0, 1, 2, 3, 4


class Speaker:
    """A voice; what it says varies in pitch and speed around its own."""

    def __init__(self, variants, number, seed):
        rng = np.random.default_rng([seed, 100, number])
        self.name = f"{variants[number % len(variants)]}-{number:03d}"
        self.voice = f"{ACCENTS[rng.integers(len(ACCENTS))]}+{variants[number % len(variants)]}"
        self.pitch, self.pitch_range, self.rate = rng.integers(20, 80), rng.integers(25, 76), rng.integers(140, 210)
        self.tract = rng.uniform(0.88, 1.12)

    def says(self, synthesiser, rng, words):
        """Samples at 16 kHz, without silence at the ends."""
        spoken, _ = synthesiser.speak(
            " ".join(words),
            self.voice,
            rate=self.rate * rng.uniform(0.9, 1.1),
            pitch=np.clip(self.pitch + rng.integers(-5, 6), 0, 99),
            pitch_range=self.pitch_range,
            seed=int(rng.integers(1, 2**31)),
        )
        rate = int(synthesiser.sample_rate * self.tract / 50) * 50
        samples = sound.resample(spoken.astype(np.float64), rate)
        loud = np.flatnonzero(np.abs(samples) > 0.02 * np.abs(samples).max())
        return samples[loud[0] : loud[-1] + 1] * 10 ** (-rng.uniform(0, 9) / 20)


def variants(marked):
    lines = [line.split() for line in (RECIPE / "conf/variants.txt").read_text().splitlines() if not line.startswith("#")]
    found = [name for name, use in lines if use == marked]
    try:
        espeak.check_voices([f"{accent}+{name}" for accent in ACCENTS for name in found])
    except espeak.EspeakError as error:
        sys.exit(f"make_voices.py: {error}")
    return found


def several_sentences(grammar, rng, count):
    return [word for _ in range(count) for word in grammar.draw(rng)]


def speak_alone(job):
    """The utterances of a speaker; returns lines (key, speaker)."""
    part, folder, speaker, number, count, seed = job
    synthesiser, grammar = espeak.Espeak(), Grammar(RECIPE.parent / "commands/conf/grammar.txt")
    lines = []
    for i in range(count):
        rng = np.random.default_rng([seed, part, number, i])
        samples = speaker.says(synthesiser, rng, several_sentences(grammar, rng, 2))
        samples = np.pad(samples, int(0.2 * sound.SAMPLE_RATE))
        if rng.random() < NOISY_PART:
            samples = make_speech.in_a_room(rng, samples)
        else:
            samples = samples + np.sqrt(np.mean(samples**2)) * 0.01 * sound.coloured_noise(rng, len(samples), tilt=1.0)
        key = f"{speaker.name}-{i:02d}"
        sound.write_wav(folder / "wav" / f"{key}.wav", np.clip(samples, -32000, 32000))
        lines.append((key, speaker.name))
    return lines


def mix(job):
    """A recording of several speakers in one room; returns its key, and turns (begin, end, speaker)."""
    part, folder, speakers, number, seconds, seed = job
    synthesiser, grammar = espeak.Espeak(), Grammar(RECIPE.parent / "commands/conf/grammar.txt")
    rng = np.random.default_rng([seed, part, number])
    present = rng.choice(len(speakers), size=rng.integers(2, 5), replace=False)
    rooms = {index: int(rng.integers(1 << 31)) for index in present}  # everybody has a place in the room
    parts, turns, length, current = [np.zeros(8000)], [], 8000, present[0]
    while length < seconds * sound.SAMPLE_RATE:
        speaker = speakers[current]
        samples = speaker.says(synthesiser, rng, several_sentences(grammar, rng, int(rng.integers(1, 4))))
        turns.append((length / sound.SAMPLE_RATE, (length + len(samples)) / sound.SAMPLE_RATE, speaker.name))
        pause = np.zeros(int(rng.uniform(0.3, 0.8) * sound.SAMPLE_RATE))
        parts += [make_speech.echoes(np.random.default_rng(rooms[current]), samples), pause]
        length += len(samples) + len(pause)
        if rng.random() < 0.85:
            current = rng.choice([index for index in present if index != current])
    samples = np.concatenate(parts)
    power = np.sqrt(np.mean(samples**2))
    samples = samples + make_speech.noises(rng, len(samples)) * power * 10 ** (-rng.uniform(12, 22) / 20)
    key = f"{folder.name}-{number:02d}"
    sound.write_wav(folder / "wav" / f"{key}.wav", np.clip(samples, -32000, 32000))
    return key, turns


def put(path, rows):
    path.write_text("".join(f"{' '.join(str(field) for field in row)}\n" for row in rows))


def shown(results, name, count, noun):
    """The results, with a line of progress after each fifth of them."""
    for number, result in enumerate(results, 1):
        yield result
        if number < count and number * 5 // count > (number - 1) * 5 // count:
            print(f"    {name}: {number} of {count} {noun}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir", type=Path, default=Path("data"), help="where the folders go (default: data)")
    parser.add_argument("--num-speakers", type=int, default=100, help="speakers to train the network on (default: 100)")
    parser.add_argument("--num-backend", type=int, default=40, help="speakers for the model of vectors (default: 40)")
    parser.add_argument("--num-utterances", type=int, default=12, help="utterances of each speaker (default: 12)")
    parser.add_argument("--num-mixed", type=int, default=8, help="mixed recordings of unseen speakers (default: 8)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other data (default: 1)")
    parser.add_argument("--nj", type=int, default=2, help="parallel processes (default: 2)")
    args = parser.parse_args()
    folder = args.dir.resolve()
    known, held_out = variants("train"), variants("held-out")
    seen = [Speaker(known, i, args.seed) for i in range(args.num_speakers)]
    backend = [Speaker(known, 500 + i, args.seed) for i in range(args.num_backend)]
    unseen = [Speaker(held_out, 1000 + i, args.seed) for i in range(len(held_out))]
    for name in ("train", "backend", "unseen", "mixed_dev", "mixed"):
        (folder / name / "wav").mkdir(parents=True, exist_ok=True)
    # `spawn`: each job has an espeak-ng of its own, as the library carries state over.
    with multiprocessing.get_context("spawn").Pool(args.nj, maxtasksperchild=1) as pool:
        for part, name, speakers in ((TRAIN, "train", seen), (BACKEND, "backend", backend), (UNSEEN, "unseen", unseen)):
            to = folder / name
            jobs = [(part, to, speaker, i, args.num_utterances, args.seed) for i, speaker in enumerate(speakers)]
            lines = sorted(line for speaker in shown(pool.imap(speak_alone, jobs), name, len(jobs), "speakers") for line in speaker)
            put(to / "wav.scp", ((key, f"{to}/wav/{key}.wav") for key, _ in lines))
            put(to / "utt2spk", lines)
            print(f"{name}: {len(lines)} utterances, {len(speakers)} speakers", flush=True)
        for part, name, speakers, count in ((DEV, "mixed_dev", backend, args.num_mixed), (MIXED, "mixed", unseen, args.num_mixed)):
            to = folder / name
            jobs = [(part, to, speakers, i, 60, args.seed) for i in range(count)]
            found = sorted(shown(pool.imap(mix, jobs), name, count, "recordings"))
            put(to / "wav.scp", ((key, f"{to}/wav/{key}.wav") for key, _ in found))
            put(to / "rttm", (("SPEAKER", key, 1, f"{b:.3f}", f"{e - b:.3f}", "<NA>", "<NA>", who, "<NA>", "<NA>") for key, turns in found for b, e, who in turns))
            print(f"{name}: {len(found)} recordings of a minute", flush=True)


if __name__ == "__main__":
    main()
