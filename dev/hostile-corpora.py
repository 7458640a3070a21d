#!/usr/bin/env python3
"""Gives hostile folders and texts to nnet3-align, and looks for crashes, hangs and files outside the results' folder.

    dev/hostile-corpora.py [--count=1000] [--seed=1] [--bin=target/debug] [--work=FOLDER]

Each case is a folder with recordings, texts, names, a lexicon and options at random, of which several are damaged or odd. A status is good if
it is 0, 1, 2 or 255 with an ERROR line; signals, panics and more than 60 seconds are not. Prints counts, and the command line of each bad case.
"""

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

NAMES = ["a", "b c", "..x", "-n", "ä", "a'b", "$(touch pwned)", "`touch pwned`", "x;touch pwned", "*", "a|", "|a", "a\nb", "\x01", "é" * 100, "con", "a.b.c",
         "%s", "\u202e", "' '"]
WORDS = ["one", "two", "ONE", "Two.", "…", "12", "<unk>", "[noise]", "#0", "<eps>", "é", "e\u0301", "\u200b", "\ufeff", "</text>", "\"", "'", "x" * 3000, "\x00",
         "--help", "٣", "一二", "&amp;", "\t", "\r"]


def wave(r):
    rate = r.choice([8000, 16000, 44100, 1000, 0, 4294967295]) if r.random() < 0.3 else 8000
    channels = r.choice([1, 1, 1, 2, 0, 65535]) if r.random() < 0.3 else 1
    count = r.choice([0, 1, 50, 800, 8000, 16000])
    data = b"".join(struct.pack("<h", r.randrange(-8000, 8000)) for _ in range(count))
    promised = len(data) if r.random() < 0.7 else r.choice([0, 1, 2 * len(data), 4294967295, len(data) // 2])
    bits = r.choice([16, 16, 16, 8, 24, 32, 0, 17])
    head = b"RIFF" + struct.pack("<I", (36 + promised) & 0xFFFFFFFF) + b"WAVEfmt " + struct.pack(
        "<IHHIIHH", 16, r.choice([1, 1, 1, 3, 65534]), channels, rate, (rate * 2) & 0xFFFFFFFF, 2, bits)
    return head + b"data" + struct.pack("<I", promised) + data


def good(r, folder):
    """Some recordings that can be read, with texts of words that the lexicon has, so that the case gets beyond reading."""
    for number in range(r.randrange(2, 6)):
        count = r.choice([4000, 8000, 16000])
        data = b"".join(struct.pack("<h", int(r.gauss(0, 3000 if place // 1600 % 2 else 30))) for place in range(count))
        head = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
        base = os.path.join(folder, f"good{number}")
        words = [r.choice(["one", "two"]) for _ in range(r.randrange(1, 4))] + [r.choice(WORDS)] * (r.random() < 0.3)
        for name, content in [(base + ".wav", head + b"data" + struct.pack("<I", len(data)) + data), (base + ".txt", " ".join(words).encode("utf-8"))]:
            with open(name, "wb") as f:
                f.write(content)


def text(r):
    return " ".join(r.choice(WORDS) for _ in range(r.choice([0, 1, 3, 30, 3000 if r.random() < 0.05 else 5])))


def grid(r):
    end = r.choice(["1", "2", "-1", "nan", "1e308", "inf", "0"])
    parts = ["File type = \"ooTextFile\"", "Object class = \"TextGrid\"", "", f"xmin = {r.choice(['0', '-5', 'x'])}", f"xmax = {end}", "tiers? <exists>",
             f"size = {r.choice([1, 2, 999999999, -1])}", "item []:", "item [1]:", "class = \"IntervalTier\"", f"name = \"{r.choice(WORDS)}\"", "xmin = 0",
             f"xmax = {end}", f"intervals: size = {r.choice([1, 4000000000])}", "intervals [1]:", f"xmin = {r.choice(['0', '0.1', '5'])}",
             f"xmax = {r.choice(['0.5', '1', '1e9', end])}", f"text = \"{text(r)}\""]
    return "\n".join(parts[:r.randrange(4, len(parts) + 1)] if r.random() < 0.3 else parts)


def damaged(r, data):
    kind = r.randrange(6)
    if kind == 0:
        return data[:r.randrange(len(data) + 1)]
    if kind == 1 and data:
        place = r.randrange(len(data))
        return data[:place] + bytes([r.randrange(256)]) + data[place + 1:]
    if kind == 2:
        return bytes(r.randrange(256) for _ in range(r.randrange(200)))
    return data


def put(path, data, r):
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        with open(path, "wb") as f:
            f.write(damaged(r, data))
    except (OSError, ValueError):
        pass


def make(r, place):
    """Writes a corpus and a lexicon, and returns the options."""
    corpus = os.path.join(place, "in")
    os.mkdir(corpus)
    folders = [corpus]
    for _ in range(r.randrange(3)):
        folder = os.path.join(corpus, r.choice(NAMES))
        try:
            os.makedirs(folder, exist_ok=True)
            folders.append(folder)
        except (OSError, ValueError):
            pass
    for _ in range(r.randrange(1, 6)):
        base = os.path.join(r.choice(folders), r.choice(NAMES))
        put(base + r.choice([".wav", ".wav", ".flac", ".mp3", ".WAV"]), wave(r), r)
        ending = r.choice(["txt", "lab", "TextGrid", "eaf", "trans.txt"])
        put(base + "." + ending, grid(r) if ending == "TextGrid" else text(r), r)
    if r.random() < 0.15:
        link = os.path.join(corpus, "loop.wav")
        if not os.path.lexists(link):
            os.symlink(r.choice([corpus, "/dev/zero", "/no/where", link, "/dev/stdin"]), link)
    if r.random() < 0.2:
        rows = "\n".join(r.choice([",", "\t", "|"]).join([r.choice(NAMES) + ".wav", text(r)]) for _ in range(4))
        put(os.path.join(corpus, r.choice(["metadata.csv", "t.tsv", "x.csv"])), rows, r)
    if r.random() < 0.15:
        put(os.path.join(corpus, "wav.scp"), "a touch pwned |\nb ../in/a.wav\n", r)
        put(os.path.join(corpus, "text"), "a one\nb two\n", r)
    if r.random() < 0.6:
        good(r, r.choice(folders))
    lines = "one w ah n\ntwo t uw\n" + "".join(f"{r.choice(WORDS)} {r.choice(['', '0.5 ', '2 ', '0.5 0.5 1.5 0.5 '])}{r.choice(['ah', 'SIL', '#1', 't'])}\n"
                                               for _ in range(r.randrange(3) if r.random() < 0.3 else 0))
    put(os.path.join(place, "lexicon"), lines, random.Random(99) if r.random() < 0.7 else r)
    lexicon = r.choice(["letters", os.path.join(place, "lexicon")])
    options = []
    if r.random() < 0.4:
        options.append("--validate=true")
    if r.random() < 0.7:
        options.append("--skip-bad=true")
    options += r.sample(["--unknown-words=g2p", "--unknown-words=letters", "--formats=json,ctm,csv,srt,vtt,textgrid", "--speakers=folder", "--channels=mix",
                         "--tiers=*", "--scores=false", "--num-threads=2", f"--picture={place}/out.svg"], r.randrange(3))
    if len({option.split("=")[0] for option in options}) < len(options):
        options = options[:1]
    if r.random() < 0.1:
        model = os.path.join(place, "m.zip")
        put(model, b"PK\x03\x04" + bytes(r.randrange(256) for _ in range(300)), r)
        options.append("--model=" + model)
    return options + [corpus, lexicon, os.path.join(place, "out")]


def files(place):
    """All files but those of the results, with sizes and times of change."""
    found = {}
    for folder, _, names in os.walk(place):
        if os.path.relpath(folder, place).split(os.sep)[0] == "out":
            continue
        for name in names:
            path = os.path.join(folder, name)
            state = os.lstat(path)
            found[path] = (state.st_size, state.st_mtime_ns)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", default="target/debug")
    parser.add_argument("--work", default="")
    args = parser.parse_args()
    program = os.path.abspath(os.path.join(args.bin, "nnet3"))
    counts, bad = {}, 0
    for number in range(args.count):
        r = random.Random(args.seed * 1_000_003 + number)
        place = tempfile.mkdtemp(dir=args.work or None)
        options = make(r, place)
        before = files(place)
        cause = ""
        try:
            done = subprocess.run([program, "nnet3-align", *options], cwd=place, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
            status = done.returncode
            if status not in (0, 1, 2, 255) or b"panicked" in done.stderr:
                cause = f"status {status}: {done.stderr[-300:]!r}"
            elif status == 255 and b"ERROR" not in done.stderr:
                cause = "no ERROR line"
        except subprocess.TimeoutExpired:
            status, cause = "hang", "more than 60 s"
        counts[status] = counts.get(status, 0) + 1
        # (The data folder's command is the user's own, and may be damaged.)
        after = {path: state for path, state in files(place).items() if os.path.basename(path) not in ("out.svg",)}
        own = {path for path in before if path in after and before[path] == after[path]}
        scp = os.path.exists(os.path.join(place, "in", "wav.scp"))
        other = [path for path in after if path not in own and not (scp and os.path.dirname(path) == place and path not in before)]
        if other or any(path not in after for path in before):
            cause = cause or f"files outside the results: {other[:3]}"
        if cause:
            bad += 1
            print(f"case {number}: {cause}\n  {options}", file=sys.stderr)
        shutil.rmtree(place, ignore_errors=True)
    print(f"{args.count} cases, {bad} bad; statuses: " + ", ".join(f"{status}: {count}" for status, count in sorted(counts.items(), key=str)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
