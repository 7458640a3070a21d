#!/usr/bin/env python3
"""Speaks random digit strings with espeak-ng and writes them as data folders: recordings, words, and phone alignments.

Four sets: `train`, `dev` and `test_seen` in the voices marked `train` in conf/voices.txt, `test_unseen` in those marked
`held-out`.  Speed, pitch, pauses, and the level and colour of the background noise are drawn at random for each utterance,
from a generator that depends on the seed, the set and the utterance's number only; so the data are the same however many
processes make them.

Each set's folder then holds `wav/<utterance>.wav` (16 kHz) and `wav.scp` (where they are), `ali.ark` (the phone id of each
frame), `post.ark` (the same as posteriors, for nnet3-get-egs), `text`, `utt2spk` and `phones.ctm` (exact times).
"""

import argparse
import multiprocessing
from dataclasses import dataclass
from pathlib import Path

import kaldi_native_io
import numpy as np

import espeak
import features
import lang
import sound
import speakers

DIGITS = "zero one two three four five six seven eight nine".split()
CHUNK = 50  # utterances that one process speaks: espeak-ng carries state over, so a chunk starts with a fresh library
QUIET = 0.05  # the last phone before a pause ends where it falls below this part of its peak: 26 dB


@dataclass
class Utterance:
    key: str
    voice: lang.Voice
    words: list
    segments: list  # [(first second, phone id)]
    samples: np.ndarray  # 16 kHz, in the range of 16-bit integers
    ali: np.ndarray


def sounding_length(samples):
    """The number of samples up to the last one that is not quiet beside the loudest."""
    loudness = np.abs(samples.astype(np.int32))
    return int(np.flatnonzero(loudness >= QUIET * loudness.max())[-1]) + 1 if len(samples) else 0


def phone_segments(marks, samples, phones):
    """[(first sample, phone id)] from espeak-ng's marks and samples.

    Between the beginning of a word and that of its first phone, espeak-ng puts a few milliseconds of nothing, or a stop's
    closure: that is silence.  So is the part of a pause that comes before the pause's own mark: of the last phone, only
    what sounds counts.
    """
    segments = [(0, phones.silence)]
    for mark in marks:
        phone = phones.silence if mark.phone is None else phones.from_espeak(mark.phone)
        last_start, last_phone = segments[-1]
        if phone == last_phone:
            continue
        start = mark.sample
        if phone == phones.silence:
            start = last_start + sounding_length(samples[last_start:start])
        segments.append((start, phone))
    return segments


def speak_utterance(synthesiser, rng, voice, key, phones):
    """One random digit string in one voice, with noise, as an `Utterance`."""
    words = [DIGITS[d] for d in rng.integers(10, size=rng.integers(3, 8))]
    text = words[0] + "".join((", " if rng.random() < 0.3 else " ") + word for word in words[1:])
    spoken, marks = synthesiser.speak(
        text,
        voice.file,
        rate=rng.integers(110, 221),
        pitch=rng.integers(25, 76),
        pitch_range=rng.integers(25, 76),
        seed=int(rng.integers(1, 2**31)),
    )
    speech = sound.resample(spoken.astype(np.float64), synthesiser.sample_rate)
    before, after = (int(seconds * sound.SAMPLE_RATE) for seconds in rng.uniform(0.05, 0.3, size=2))
    noise_level = np.sqrt(np.mean(speech**2)) * 10 ** (-rng.uniform(20, 40) / 20)
    samples = np.pad(speech, (before, after))
    samples += noise_level * sound.coloured_noise(rng, len(samples), tilt=rng.uniform(0, 1.5))
    offset = before / sound.SAMPLE_RATE
    segments = [(0.0, phones.silence)] + [
        (offset + start / synthesiser.sample_rate, phone) for start, phone in phone_segments(marks, spoken, phones)[1:]
    ]
    ali = features.frame_labels(segments, features.num_frames(samples))
    return Utterance(key, voice, words, segments, samples, ali)


def speak_chunk(job):
    """Utterances `first` to `last` of a set; runs in a process of its own."""
    set_number, set_name, first, last, voices, seed = job
    synthesiser, phones = espeak.Espeak(), lang.Phones()
    utterances = []
    for i in range(first, last):
        rng = np.random.default_rng([seed, set_number, i])
        voice = voices[i % len(voices)]
        key = f"{voice.name}-{set_name}-{i:05d}"
        utterances.append(speak_utterance(synthesiser, rng, voice, key, phones))
    return utterances


class SetWriter:
    """Writes one set's folder, utterance by utterance."""

    def __init__(self, folder, phones):
        (folder / "wav").mkdir(parents=True, exist_ok=True)
        self.folder, self.phones = folder, phones
        self.ali = kaldi_native_io.Int32VectorWriter(f"ark:{folder}/ali.ark")
        self.post = kaldi_native_io.PosteriorWriter(f"ark:{folder}/post.ark")
        self.tables = {name: open(folder / name, "w") for name in ("wav.scp", "text", "utt2spk", "phones.ctm")}
        self.utterances = self.frames = 0

    def write(self, utterance):
        key, seconds = utterance.key, len(utterance.samples) / sound.SAMPLE_RATE
        wav = self.folder / "wav" / f"{key}.wav"
        sound.write_wav(wav, utterance.samples)
        print(key, wav, file=self.tables["wav.scp"])
        self.ali.write(key, utterance.ali.tolist())
        self.post.write(key, [[(int(phone), 1.0)] for phone in utterance.ali])
        print(key, *utterance.words, file=self.tables["text"])
        print(key, utterance.voice.name, file=self.tables["utt2spk"])
        ends = [start for start, _ in utterance.segments[1:]] + [seconds]
        for (start, phone), end in zip(utterance.segments, ends):
            if end - start > 1e-4:  # not the empty silence between two words that run on
                name = self.phones.names[phone]
                print(f"{key} 1 {start:.5f} {end - start:.5f} {name}", file=self.tables["phones.ctm"])
        self.utterances += 1
        self.frames += len(utterance.ali)

    def close(self):
        for file in (self.ali, self.post, *self.tables.values()):
            file.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir", type=Path, default=Path("data"), help="where the sets' folders go (default: data)")
    parser.add_argument("--num-train", type=int, default=1600, help="training utterances (default: 1600)")
    parser.add_argument("--num-test", type=int, default=100, help="utterances in each other set (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other data (default: 1)")
    parser.add_argument("--nj", type=int, default=2, help="parallel processes (default: 2)")
    args = parser.parse_args()

    phones = lang.Phones()
    seen, held_out = speakers.seen_and_held_out()

    sets = [("train", args.num_train, seen), ("dev", args.num_test, seen)]
    sets += [("test_seen", args.num_test, seen), ("test_unseen", args.num_test, held_out)]
    # `spawn`: the children start without this process's copy of espeak-ng.
    with multiprocessing.get_context("spawn").Pool(args.nj, maxtasksperchild=1) as pool:
        for number, (name, count, voices) in enumerate(sets):
            jobs = [
                (number, name, first, min(first + CHUNK, count), voices, args.seed)
                for first in range(0, count, CHUNK)
            ]
            writer = SetWriter(args.dir / name, phones)
            for utterances in pool.imap(speak_chunk, jobs):
                for utterance in utterances:
                    writer.write(utterance)
            writer.close()
            minutes = writer.frames / 6000
            print(f"{name}: {writer.utterances} utterances, {len(voices)} voices, {minutes:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
