#!/usr/bin/env python3
"""Parts of segment_long.sh: windows of long recordings, language models of transcripts, and utterances where both agree.

    cut.py windows DATA WORDS WORK           checks a data folder; writes recordings, wav.scp, transcripts, and text (words that the lexicon has)
    cut.py present WORK                      leaves out recordings without features (--skip-bad)
    cut.py sentences TEXT OUT                overlapping pieces of a transcript, for a language model that may begin anywhere
    cut.py ranges FEATS LENGTHS OUT          windows of features as ranges: key@first-frame
    cut.py utterances DATA WORDS WORK OUT    segments, text and utt2spk of what was recognised as the transcript says
"""

import argparse
import difflib
import sys
from collections import defaultdict
from pathlib import Path

import plain_text
from plain_text import fields

FRAMES = 100  # a second
EDGE = 0.1  # seconds of a pause that an utterance keeps
PIECE, STEP = 12, 4  # words


def say(sentence):
    print(f"segment_long.sh: {sentence}", file=sys.stderr)


def stop(sentence):
    sys.exit(f"segment_long.sh: {sentence}")


def rows(path):
    return [(number, fields(line)) for number, line in plain_text.lines_of(path)]


class Faults:
    """Faults of recordings: the first one ends the script, or (`skip`) each is a warning, and its recording is left out."""

    def __init__(self, skip):
        self.skip, self.keys = skip, set()

    def add(self, key, sentence):
        if not self.skip:
            stop(f"{sentence} (--skip-bad=true leaves such recordings out)")
        say(f"WARNING: {sentence}: the recording is left out")
        self.keys.add(key)

    def check_rest(self, rest):
        if self.keys:
            say(f"WARNING: {len(self.keys)} recordings are left out")
        if not rest:
            stop("no recording is left")


def speakers_of(path):
    speakers = {}
    for number, parts in rows(path) if path.exists() else ():
        if len(parts) != 2:
            stop(f"{path}, line {number}: expected a recording and its speaker, found '{' '.join(parts)}'")
        speakers[parts[0]] = parts[1]
    return speakers


def known_words(path):
    """{number: word} of words.txt."""
    words = {}
    for number, parts in rows(path):
        if len(parts) != 2 or not (parts[1].isascii() and parts[1].isdigit()):
            stop(f"{path}, line {number}: expected a word and its number, found '{' '.join(parts)}'")
        words[int(parts[1])] = parts[0]
    return words


def repeated(path):
    """Keys in more than one line, with the number of the second one."""
    seen, found = set(), {}
    for number, (key, *_) in rows(path):
        if key in seen:
            found.setdefault(key, number)
        seen.add(key)
    return found


def check_key(faults, place, key):
    if any(sign in key for sign in "/@") or key.startswith("-"):
        faults.add(key, f"{place}: '{key}': keys must not have / or @ in them, nor begin with a hyphen")


def windows(args):
    words = set(known_words(args.words).values())
    sounds, texts, faults = {}, {}, Faults(args.skip_bad == "true")
    scp, text = args.data / "wav.scp", args.data / "text"
    for path in (scp, text):
        for key, number in repeated(path).items():
            faults.add(key, f"{path}, line {number}: '{key}' has a line before")
    for number, line in plain_text.lines_of(scp):
        key, _, source = line.replace("\t", " ").partition(" ")
        check_key(faults, f"{scp}, line {number}", key)
        if not source.strip():
            faults.add(key, f"{scp}, line {number}: expected a file or a command after '{key}', found none")
        sounds[key] = source.strip()
    for number, (key, *said) in rows(text):
        if key in faults.keys:
            continue
        if key not in sounds:
            faults.add(key, f"{text}, line {number}: there is no '{key}' in {scp}")
        elif not said:
            faults.add(key, f"{text}, line {number}: the transcript of '{key}' is empty")
        elif not any(word in words for word in said):
            faults.add(key, f"{text}, line {number}: the lexicon has no word of the transcript of '{key}'")
        else:
            texts[key] = said
    if not texts and not faults.keys:
        stop(f"{text}: the file is empty")
    faults.check_rest(texts)
    speakers_of(args.data / "utt2spk")
    write_recordings(args.work, sounds, texts, words)


def write_recordings(work, sounds, texts, words):
    keys = sorted(texts)
    write = lambda name, lines: (work / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write("recordings", keys)
    write("wav.scp", (f"{key} {sounds[key]}" for key in keys))
    write("transcripts", (" ".join([key, *texts[key]]) for key in keys))
    write("text", (" ".join([key, *(word for word in texts[key] if word in words)]) for key in keys))


def present(args):
    there = {key for _, (key, *_) in rows(args.work / "lengths")}
    wanted = [key for _, (key,) in rows(args.work / "recordings")]
    faults = Faults(True)
    for key in wanted:
        if key not in there:
            faults.add(key, f"'{key}' has no features (log/readable.log, log/features.*.log)")
    faults.check_rest(there)
    for name in ("recordings", "wav.scp", "transcripts", "text"):
        lines = [line for _, line in plain_text.lines_of(args.work / name) if fields(line)[0] in there]
        (args.work / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def sentences(args):
    for _, (_, *said) in rows(args.text):
        pieces = [said[i : i + PIECE] for i in range(0, max(1, len(said) - PIECE + STEP), STEP)]
        args.out.write_text("".join(f"{' '.join(piece)}\n" for piece in pieces), encoding="utf-8")


def ranges(args):
    """Windows of a recording's features; the last one is not shorter than half a window unless it is the only one."""
    length_of = {key: int(count) for _, (key, count) in rows(args.lengths)}
    size = round(args.window * FRAMES)
    step = size - size // 6
    with open(args.out, "w", encoding="utf-8") as out:
        for _, (key, place) in rows(args.feats):
            frames, first = length_of[key], 0
            while True:
                last = frames if frames - first - size < size // 2 else first + size
                print(f"{key}@{first} {place}[{first}:{last - 1}]", file=out)
                if last == frames:
                    break
                first += step


def heard(ctm, words, window):
    """{recording: [(begin, end, word)]}; where windows overlap, each counts up to the middle of what they share."""
    of = defaultdict(lambda: defaultdict(list))
    for line in ctm.read_text("utf-8").splitlines():
        key, _, begin, length, number = line.split()
        recording, first = key.rsplit("@", 1)
        start = int(first) / FRAMES
        of[recording][start].append((start + float(begin), start + float(begin) + float(length), words[int(number)]))
    size = round(window * FRAMES)
    shared = size // 6 / FRAMES
    found = {}
    for recording, by_start in of.items():
        starts = sorted(by_start)
        found[recording] = []
        for i, start in enumerate(starts):
            least = start + shared / 2 if start > 0 else 0.0
            most = starts[i + 1] + shared / 2 if i + 1 < len(starts) else float("inf")
            found[recording] += [word for word in by_start[start] if least <= (word[0] + word[1]) / 2 < most]
    return found


def matches(said, spoken, most):
    """[(begin, end, first word, last word + 1)] of stretches of the transcript that were heard so, from and to the beginnings and ends of
    matching words. Up to `most` words of the transcript in a row may have been heard as up to `most` others."""
    matcher = difflib.SequenceMatcher(None, said, [word for *_, word in spoken], autojunk=False)
    found = []
    for i, j, size in matcher.get_matching_blocks()[:-1]:
        previous = found[-1] if found else None
        if previous and i - previous[1] <= most and j - previous[3] <= most:
            previous[1], previous[3] = i + size, j + size
        else:
            found.append([i, i + size, j, j + size])
    return found


def times_of_words(said, spoken, block):
    """(begin, end) of each word of the block, or None for words that were heard as others."""
    first, last, from_, to = block
    times = [None] * (last - first)
    matcher = difflib.SequenceMatcher(None, said[first:last], [word for *_, word in spoken[from_:to]], autojunk=False)
    for i, j, size in matcher.get_matching_blocks():
        for n in range(size):
            times[i + n] = spoken[from_ + j + n][:2]
    return times


def cuts(times, before, after, pause, at_begin, at_end):
    """[(word, length of the pause, end of speech before it, beginning after it)]: pauses between matching words, before word `word`.
    `before` and `after` are the ends of what was heard around the block. Recordings may begin and end without a pause."""
    found = []
    if times[0] and (at_begin or times[0][0] - before >= pause):
        found.append((0, times[0][0] - before, before, times[0][0]))
    for n in range(1, len(times)):
        if times[n - 1] and times[n] and times[n][0] - times[n - 1][1] >= pause:
            found.append((n, times[n][0] - times[n - 1][1], times[n - 1][1], times[n][0]))
    if times[-1] and (at_end or after - times[-1][1] >= pause):
        found.append((len(times), after - times[-1][1], times[-1][1], after))
    return found


def pieces(places, longest):
    """Pairs of neighbouring cuts, joined as long as an utterance is not longer than `longest` seconds; the longest pauses stay cuts."""
    kept = list(places)
    while True:
        joinable = [
            (kept[n][1], n) for n in range(1, len(kept) - 1) if kept[n + 1][2] - kept[n - 1][3] + 2 * EDGE <= longest
        ]
        if not joinable:
            return [(a, b) for a, b in zip(kept, kept[1:]) if b[2] - a[3] + 2 * EDGE <= longest]
        del kept[min(joinable)[1]]


def utterances(args):
    words = known_words(args.words)
    spoken_in = heard(args.work / "ctm", words, args.window)
    length_of = {key: int(count) / FRAMES for _, (key, count) in rows(args.work / "lengths")}
    speakers = speakers_of(args.data / "utt2spk")
    segments, kept, total, seconds = [], 0, 0, 0.0
    for _, (recording, *said) in rows(args.work / "transcripts"):
        total += len(said)
        spoken = spoken_in.get(recording, [])
        for block in matches(said, spoken, args.max_unmatched):
            first, last, from_, to = block
            times = times_of_words(said, spoken, block)
            before = spoken[from_ - 1][1] if from_ else 0.0
            after = spoken[to][0] if to < len(spoken) else length_of.get(recording, 0.0)
            for begin, end in pieces(
                cuts(times, before, after, args.min_pause, from_ == first == 0, to == len(spoken) and last == len(said)), args.max_seconds
            ):
                start = begin[3] - min(EDGE, max(begin[1], 0.0) / 2)
                stop_at = end[2] + min(EDGE, max(end[1], 0.0) / 2)
                key = f"{recording}-{round(start * 100):07d}-{round(stop_at * 100):07d}"
                segments.append((key, recording, start, stop_at, said[first + begin[0] : first + end[0]]))
                kept += end[0] - begin[0]
                seconds += stop_at - start
    if not segments:
        stop("no part of the recordings was recognised as its transcript says; are the transcripts those of the recordings?")
    segments.sort()
    used = {recording for _, recording, *_ in segments}
    sounds = [line for _, line in plain_text.lines_of(args.work / "wav.scp") if fields(line)[0] in used]
    write = lambda name, lines: (args.out / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write("wav.scp", sorted(sounds))
    write("segments", (f"{key} {recording} {start:.2f} {end:.2f}" for key, recording, start, end, _ in segments))
    write("text", (" ".join([key, *text]) for key, *_, text in segments))
    write("utt2spk", (f"{key} {speakers.get(recording, recording)}" for key, recording, *_ in segments))
    print(f"segment_long.sh: {len(segments)} utterances of {seconds:.0f} s, with {kept} of {total} words of the transcripts", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    for function, names in (
        (windows, ("data", "words", "work")),
        (present, ("work",)),
        (sentences, ("text", "out")),
        (ranges, ("feats", "lengths", "out")),
        (utterances, ("data", "words", "work", "out")),
    ):
        command = commands.add_parser(function.__name__)
        command.set_defaults(function=function)
        for name in names:
            command.add_argument(name, type=Path)
        command.add_argument("--window", type=float, default=30)
        command.add_argument("--skip-bad", choices=("true", "false"), default="false")
        if function is utterances:
            command.add_argument("--max-seconds", type=float, default=15)
            command.add_argument("--min-pause", type=float, default=0.15)
            command.add_argument("--max-unmatched", type=int, default=1)
    args = parser.parse_args()
    try:
        args.function(args)
    except plain_text.NotText as error:
        stop(error)
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
