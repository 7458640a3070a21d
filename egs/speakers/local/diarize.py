#!/usr/bin/env python3
"""Steps of a diarization around the programs: pieces of speech, turns of labels, error rates.

    diarize.py pieces VAD PIECES RECO2UTT   pieces of at most 1.5 s, every 0.75 s, of the speech in vectors of compute-vad
    diarize.py turns PIECES LABELS RTTM     turns of speakers, from labels of pieces by agglomerative-cluster
    diarize.py score REFERENCE RTTM         the error rate, in parts

The error rate is (missed + false alarm + wrong speaker) / speech of the reference, in seconds, with the best mapping of labels to speakers in each
recording; 0.25 s on each side of the reference's boundaries do not count.
"""

import sys
from collections import defaultdict
from itertools import permutations
from pathlib import Path

FRAME = 0.01
LENGTH, SHIFT, LEAST = 1.5, 0.75, 0.5
PAUSE = 0.3  # a shorter one is no end of speech
COLLAR = 0.25
MOST = 100_000  # seconds of a recording: 27 hours


def runs(flags, pause=0):
    """(first, last + 1) of stretches of true flags; shorter gaps than `pause` are no gaps."""
    found = []
    for i, flag in enumerate(flags):
        if flag and found and i - found[-1][1] <= pause:
            found[-1][1] = i + 1
        elif flag:
            found.append([i, i + 1])
    return found


def pieces(vad, to_pieces, to_recordings):
    with open(to_pieces, "w") as out, open(to_recordings, "w") as recordings:
        for line in Path(vad).read_text().splitlines():
            key, *values = line.replace("[", " ").replace("]", " ").split()
            names = []
            for first, last in runs([float(value) > 0 for value in values], round(PAUSE / FRAME)):
                begin, end = first * FRAME, last * FRAME
                while end - begin >= LEAST or (begin == first * FRAME and end - begin > 0.15):
                    stop = min(begin + LENGTH, end)
                    names.append(f"{key}-{round(begin * 100):06d}-{round(stop * 100):06d}")
                    print(names[-1], key, f"{begin:.2f}", f"{stop:.2f}", file=out)
                    if stop == end:
                        break
                    begin += SHIFT
            print(key, *names, file=recordings)


def read_pieces(path):
    lines = map(str.split, Path(path).read_text().splitlines())
    return {name: (recording, float(begin), float(end)) for name, recording, begin, end in lines}


def turns(from_pieces, labels, to_rttm):
    """Where pieces overlap, the first one goes up to the middle of what they share."""
    of = defaultdict(list)
    places = read_pieces(from_pieces)
    for line in Path(labels).read_text().splitlines():
        name, label = line.split()
        recording, begin, end = places[name]
        of[recording].append([begin, end, label])
    with open(to_rttm, "w") as out:
        for recording, found in sorted(of.items()):
            joined = []
            for begin, end, label in sorted(found):
                if joined and begin < joined[-1][1] and label != joined[-1][2]:
                    begin = joined[-1][1] = (begin + joined[-1][1]) / 2
                if joined and begin <= joined[-1][1] and label == joined[-1][2]:
                    joined[-1][1] = max(end, joined[-1][1])
                else:
                    joined.append([begin, end, label])
            for begin, end, label in joined:
                print("SPEAKER", recording, 1, f"{begin:.3f}", f"{end - begin:.3f}", "<NA> <NA>", label, "<NA> <NA>", file=out)


def read_rttm(path):
    """{recording: [(begin, end, speaker)]} of the lines SPEAKER. Comments (`;;`) and lines of other types do not count."""
    found = defaultdict(list)
    content = Path(path).read_bytes()
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        sys.exit(f"{path}, line {content[: error.start].count(10) + 1}: this is not UTF-8")
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or fields[0] != "SPEAKER":
            continue
        try:
            begin, length = float(fields[3]), float(fields[4])
            if not (0 <= begin < float("inf") and 0 <= length < float("inf")):
                raise ValueError
            if begin + length > MOST:
                sys.exit(f"{path}, line {number}: expected a turn that ends within {MOST} s, found '{line}'")
            found[fields[1]].append((begin, begin + length, fields[7]))
        except (ValueError, IndexError):
            sys.exit(f"{path}, line {number}: expected SPEAKER, recording, channel, begin, length, two columns and a speaker, found '{line}'")
    return found


def frames_of(turns_of, count):
    frames = [None] * count
    for begin, end, who in turns_of:
        for i in range(round(begin / FRAME), min(round(end / FRAME), count)):
            frames[i] = who
    return frames


def errors(reference, found):
    """Seconds of (speech, missed, false alarm, wrong speaker) of a recording."""
    count = round(max(end for _, end, _ in reference + found) / FRAME) + 1
    true, guess = frames_of(reference, count), frames_of(found, count)
    for begin, end, _ in reference:
        for boundary in (begin, end):
            for i in range(max(0, round((boundary - COLLAR) / FRAME)), min(count, round((boundary + COLLAR) / FRAME))):
                true[i] = guess[i] = None
    together = defaultdict(int)
    for pair in zip(true, guess):
        together[pair] += 1
    speakers, labels = sorted({t for t in true if t}), sorted({g for g in guess if g})
    labels = sorted(labels, key=lambda label: -sum(together[(s, label)] for s in speakers))[:7]  # more are wrong anyway
    labels += [None] * max(0, len(speakers) - len(labels))
    right = max(sum(together[(s, label)] for s, label in zip(speakers, order) if label) for order in permutations(labels, len(speakers)))
    speech = sum(1 for t in true if t)
    missed = sum(1 for t, g in zip(true, guess) if t and not g)
    false = sum(1 for t, g in zip(true, guess) if g and not t)
    return [FRAME * x for x in (speech, missed, false, speech - missed - right)]


def score(reference, rttm):
    true, found = read_rttm(reference), read_rttm(rttm)
    if not true:
        sys.exit(f"{reference}: expected lines SPEAKER, found none")
    total = [sum(column) for column in zip(*(errors(true[key], found.get(key, [])) for key in sorted(true)))]
    speech, missed, false, wrong = total
    if not speech:
        sys.exit(f"{reference}: no speech is left beside {COLLAR} s on each side of its boundaries")
    same = sum(len({w for *_, w in true[key]}) == len({w for *_, w in found.get(key, [])}) for key in true)
    print(
        f"DER {100 * (missed + false + wrong) / speech:.2f} % ({100 * missed / speech:.2f} % missed, {100 * false / speech:.2f} % false alarm, "
        f"{100 * wrong / speech:.2f} % wrong speaker) of {speech:.0f} s; the number of speakers is right in {same} of {len(true)} recordings"
    )


if __name__ == "__main__":
    commands = {"pieces": (pieces, 3), "turns": (turns, 3), "score": (score, 2)}
    if len(sys.argv) < 2 or sys.argv[1] not in commands or len(sys.argv) != 2 + commands[sys.argv[1]][1]:
        sys.exit(__doc__.strip())
    commands[sys.argv[1]][0](*sys.argv[2:])
