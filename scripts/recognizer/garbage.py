#!/usr/bin/env python3
"""A word for what is no word: noise, music, and speech whose sounds make no words of the lexicon.

`add` gives a data folder of data.py further utterances with this word for a transcript: half are noise and music, half are pieces of the
training speech, turned round and in another order, without their pauses. It writes the lexicon with the word, which has a phone of its own.
`noise` and `scramble` make the sounds: wav.scp of the folder calls them.
"""

import argparse
import array
import math
import random
import shutil
import sys
import wave
from pathlib import Path

from lang import has_probabilities
from plain_text import NotText, fields, lines_of

KINDS = ("white", "pink", "brown", "hum", "chords", "plucked", "clicks")
PIECES = (0.06, 0.3)  # seconds
FADE = 0.005
PAUSE = 0.1  # of the loudest piece: a piece below it is a pause


def rows(path):
    return [line.split(" ", 1) for line in path.read_text("utf-8").splitlines()]


# ---- sounds: lists of samples from -1 to 1 ----------------------------------------------------------------------------
def coloured(draw, count, kind):
    """Noise whose power falls with the frequency: not at all, by 3 dB an octave, by 6 dB."""
    white = [draw.uniform(-1, 1) for _ in range(count)]
    if kind == "white":
        return white
    # First-order low passes; the sum of three with corners an octave or two apart falls by about 3 dB.
    corners = (0.997,) if kind == "brown" else (0.997, 0.96, 0.57)
    sums, out = [0.0] * len(corners), []
    for x in white:
        for i, corner in enumerate(corners):
            sums[i] = corner * sums[i] + (1 - corner) ** 0.5 * x
        out.append(sum(sums))
    return out


def harmonics(draw, count, rate):
    base, strengths = draw.choice((50, 60, 100)), [draw.uniform(0, 1) / k for k in range(1, 9)]
    return [sum(s * math.sin(2 * math.pi * base * k * t / rate) for k, s in enumerate(strengths, 1)) for t in range(count)]


def chords(draw, count, rate, plucked):
    """Notes of 0.1 to 0.6 s, three at a time, of sines that fade, or of strings that are plucked (Karplus and Strong, 1983)."""
    out = [0.0] * count
    for _ in range(3):
        t = 0
        while t < count:
            length = min(count - t, int(draw.uniform(0.1, 0.6) * rate))
            pitch = 110 * 2 ** (draw.choice((0, 2, 4, 5, 7, 9, 11)) / 12 + draw.randrange(4))
            if plucked:
                string = [draw.uniform(-1, 1) for _ in range(max(2, int(rate / pitch)))]
                for i in range(length):
                    k = i % len(string)
                    out[t + i] += string[k]
                    string[k] = 0.996 * (string[k] + string[(k + 1) % len(string)]) / 2
            else:
                decay = draw.uniform(0, 5) / rate
                for i in range(length):
                    phase = 2 * math.pi * pitch * i / rate
                    out[t + i] += math.exp(-decay * i) * (math.sin(phase) + 0.4 * math.sin(2 * phase) + 0.2 * math.sin(3 * phase))
            t += length
    return out


def clicks(draw, count):
    out = [draw.uniform(-0.02, 0.02) for _ in range(count)]
    for _ in range(draw.randrange(3, 20)):
        at, strength = draw.randrange(count), draw.uniform(0.2, 1)
        for i in range(at, min(count, at + draw.randrange(20, 400))):
            out[i] += strength * draw.uniform(-1, 1)
            strength *= 0.99
    return out


def noise(kind, draw, seconds, rate):
    count = max(1, int(seconds * rate))
    if kind == "hum":
        return harmonics(draw, count, rate)
    if kind in ("chords", "plucked"):
        return chords(draw, count, rate, kind == "plucked")
    return clicks(draw, count) if kind == "clicks" else coloured(draw, count, kind)


def scrambled(draw, samples, rate, seconds):
    """So many seconds of pieces in another order, each turned round or not, without pauses. Pieces come again if there are too few."""
    pieces, at = [], 0
    while at < len(samples):
        length = max(1, int(draw.uniform(*PIECES) * rate))
        pieces.append(samples[at : at + length])
        at += length
    loudness = [math.sqrt(sum(x * x for x in piece) / len(piece)) for piece in pieces]
    pieces = [piece for piece, level in zip(pieces, loudness) if level >= PAUSE * max(loudness)]
    out, fade, wanted = [], max(1, int(FADE * rate)), int(seconds * rate)
    while len(out) < wanted:
        piece = draw.choice(pieces) if pieces else [0.0] * wanted
        piece = piece[::-1] if draw.random() < 0.6 else list(piece)
        for i in range(min(fade, len(piece) // 2)):
            piece[i] *= i / fade
            piece[-1 - i] *= i / fade
        out += piece
    return out[:wanted]


def write_wave(samples, rate, level):
    """Writes 16-bit samples to standard output, with this highest level."""
    scale = level / max(1e-9, max(map(abs, samples), default=0.0))
    pcm = array.array("h", (int(32767 * scale * x) for x in samples))
    if sys.byteorder == "big":
        pcm.byteswap()
    data = pcm.tobytes()
    size = len(data)
    header = b"RIFF" + (36 + size).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little") + (1).to_bytes(2, "little")
    header += (1).to_bytes(2, "little") + rate.to_bytes(4, "little") + (2 * rate).to_bytes(4, "little") + b"\x02\0\x10\0data"
    sys.stdout.buffer.write(header + size.to_bytes(4, "little") + data)


def read_wave(draw, seconds):
    """So many seconds at most, from anywhere in a wave on standard input, as wav-perturb writes it: 16 bits. The first channel counts."""
    with wave.open(sys.stdin.buffer) as sound:
        channels, rate = sound.getnchannels(), sound.getframerate()
        wanted = int(seconds * rate)
        before = draw.randrange(max(1, sound.getnframes() - wanted))
        while before > 0:
            before -= len(sound.readframes(min(before, rate))) // (2 * channels) or before
        pcm = array.array("h", sound.readframes(wanted))
        while sys.stdin.buffer.read(1 << 16):  # so that the program before does not complain
            pass
    if sys.byteorder == "big":
        pcm.byteswap()
    return [x / 32768 for x in pcm[::channels]], rate


# ---- data folders -----------------------------------------------------------------------------------------------------
def add(args):
    draw = random.Random(args.srand)
    folder, program = args.folder / "train", f"python3 {Path(__file__).resolve()}"
    rate = int((args.folder / "rate").read_text())
    recordings = rows(folder / "wav.scp")
    keys = [key for key, _ in rows(folder / "text")]
    count = max(8, round(args.share * len(keys)))
    tables = {name: [] for name in ("wav.scp", "text", "utt2spk", "spk2utt", "waves", "segments")}
    for i in range(count):
        key, seed, level = f"garbage-{i:05d}", draw.randrange(1 << 30), f"{10 ** draw.uniform(-1.6, -0.2):.4f}"
        seconds = f"{draw.uniform(0.5, 4):.2f}"
        how = f"--seconds={seconds} --level={level} --srand={seed}"
        if i % 2:
            source = draw.choice(recordings)[1]
            read = f"{source} wav-perturb --print-args=false - -" if source.endswith("|") else f"wav-perturb --print-args=false {quoted(source)} -"
            command = f"{read} | {program} scramble {how} |"
        else:
            command = f"{program} noise --kind={KINDS[i // 2 % len(KINDS)]} --rate={rate} {how} |"
        tables["wav.scp"].append((key, command))
        tables["text"].append((key, args.word))
        tables["utt2spk"].append((key, key))
        tables["spk2utt"].append((key, key))
        tables["waves"].append((key, "a command 0 0 0.0"))
        tables["segments"].append((key, f"{key} 0 {seconds}"))
    for name, new in tables.items():
        path = folder / name
        if path.exists():
            path.write_text("".join(f"{key} {rest}\n" for key, rest in sorted([*map(tuple, rows(path)), *new])), encoding="utf-8")
    lines = lines_of(args.lexicon)
    columns = [(number, fields(line)) for number, line in lines]
    shutil.copyfile(args.lexicon, args.new_lexicon)
    if all(line[0] != args.word for _, line in columns):
        if any(args.phone in line[1:] for _, line in columns):
            sys.exit(f"recognizer.sh: {args.lexicon}: the phone '{args.phone}' is that of the garbage word; rename it, or --garbage=false")
        weight = " 1.0" if has_probabilities(columns, args.lexicon) else ""
        with open(args.new_lexicon, "a", encoding="utf-8") as file:
            file.write(f"\n{args.word}{weight} {args.phone}\n")


def quoted(name):
    return "'" + name.replace("'", "'\\''") + "'" if not name.startswith("-") else f"'./{name}'"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--srand", type=int, default=0)
    parts = parser.add_subparsers(dest="part", required=True)
    part = parts.add_parser("add")
    part.add_argument("--share", type=float, default=0.08, help="further utterances for each of the data")
    part.add_argument("--word", default="<unk>")
    part.add_argument("--phone", default="GBG")
    part.add_argument("folder", type=Path)
    part.add_argument("lexicon")
    part.add_argument("new_lexicon")
    for name in ("noise", "scramble"):
        part = parts.add_parser(name)
        part.add_argument("--seconds", type=float, default=2)
        part.add_argument("--level", type=float, default=0.5)
        part.add_argument("--srand", type=int, default=0)
    parts.choices["noise"].add_argument("--kind", choices=KINDS, required=True)
    parts.choices["noise"].add_argument("--rate", type=int, default=16000)
    args = parser.parse_args()
    draw = random.Random(args.srand)
    if args.part == "add":
        add(args)
    elif args.part == "noise":
        write_wave(noise(args.kind, draw, args.seconds, args.rate), args.rate, args.level)
    else:
        samples, rate = read_wave(draw, 2 * args.seconds)
        write_wave(scrambled(draw, samples, rate, args.seconds), rate, args.level)


if __name__ == "__main__":
    try:
        main()
    except NotText as error:
        sys.exit(f"recognizer.sh: {error}")
