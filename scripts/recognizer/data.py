#!/usr/bin/env python3
"""Checks wave files, transcripts and the lexicon of a recogniser, and writes data folders that are known to be good.

A problem that can be said of a file, a line or an utterance is said so, all problems at once (the first few of each kind). Waves are
read by wav-to-duration, so that all programs agree about them. What is written to a folder for each set (train, and held_out or
the names of test folders):

    wav.scp    recording, file or command
    segments   only if the data have them: utterance, recording, beginning, end
    text       utterance, words
    utt2spk    utterance, speaker
    waves      recording, size, time of change, rate, seconds: what later steps must notice a change of

and beside them `rate` (samples per second) and `hours` (of the training set).
"""

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import plain_text
from plain_text import BLANKS, fields

SHOWN = 5  # problems of one kind that are written out
COMMAND = "a command"
# The complaint about a file that is cut off. Recorders that write the header first promise up to some percent more than there is.
CUT_OFF = re.compile(r"Expected (\d+) bytes of wave data, but read only (\d+)")
MOST_MISSING = 0.05
MOST_LOST = 0.02  # part of the utterances, without --skip-bad


class Problems:
    """What is wrong, by kind."""

    def __init__(self):
        self.kinds = {}

    def add(self, kind, sentence):
        self.kinds.setdefault(kind, []).append(sentence)

    def report(self, prefix):
        for kind, sentences in self.kinds.items():
            for sentence in sentences[:SHOWN]:
                print(f"{prefix}: {sentence}", file=sys.stderr)
            if len(sentences) > SHOWN:
                print(f"{prefix}: … and {len(sentences) - SHOWN} more like these ({kind})", file=sys.stderr)


def lines_of(path, problems):
    """(number, line) of a text file, without empty lines."""
    try:
        found = plain_text.lines_of(path)
    except plain_text.NotText as error:
        sys.exit(f"recognizer.sh: {error}")
    if not found:
        problems.add("empty files", f"{path}: the file is empty")
    return found


def table(path, problems, values):
    """{key: (line number, rest of the line)}"""
    entries = {}
    for number, line in lines_of(path, problems):
        key, _, rest = line.replace("\t", " ").partition(" ")
        if key in entries:
            problems.add("keys that come twice", f"{path}, line {number}: '{key}' is in line {entries[key][0]} already")
        elif values and not rest.strip(BLANKS):
            problems.add("lines without values", f"{path}, line {number}: expected {values} after '{key}', found nothing")
            entries[key] = (number, "")
        else:
            entries[key] = (number, rest.strip(BLANKS))
    return entries


# ---- waves ----------------------------------------------------------------------------------------------------------
def read_headers(files):
    """{key: what wav-to-duration says of a wave file, or the reason why it cannot be used} of {key: file}"""
    with tempfile.NamedTemporaryFile("w", prefix="waves.", encoding="utf-8") as script:
        script.writelines(f"{key} {file}\n" for key, file in files.items())
        script.flush()
        command = ["wav-to-duration", "--print-args=false", "--read-entire-file=true", "--format=json", f"scp,p:{script.name}", "ark:-"]
        result = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    found = {}
    for line in result.stdout.splitlines():
        wave = json.loads(line)
        found[wave["key"]] = wave
    left_out = re.compile(rf"WARNING .*?{re.escape(script.name)}, key '(.*?)': (.*) \(ignored in permissive mode\)")
    for line in result.stderr.splitlines():
        if match := left_out.match(line):
            found[match[1]] = match[2]
    if len(found) < len(files):
        sys.exit(f"recognizer.sh: wav-to-duration failed: {result.stderr.strip()}")
    return found


def find_waves(place, problems):
    """{key: (where it is listed, file or command)} of a folder or a list."""
    if not Path(place).is_dir():
        entries = table(place, problems, "a file or a command that ends with |")
        return {key: (f"{place}, line {number}", what) for key, (number, what) in entries.items()}
    waves = {}
    for path in sorted(Path(place).rglob("*")):
        if path.suffix.lower() != ".wav" or not path.is_file():
            continue
        key = path.stem
        if any(ord(c) < 32 or c in "\x7f\x85\u2028\u2029" or "\ud800" <= c <= "\udfff" for c in os.path.abspath(path)):
            # A list of files has a line for each.
            problems.add("names with line breaks", f"{str(path)!a}: the name must have no line breaks or the like, and be UTF-8")
        elif any(c.isspace() for c in key):
            problems.add("names with blanks", f"{path}: the name is the utterance's key, and must have no blanks")
        elif key in waves:
            problems.add("keys that come twice", f"{path}: {waves[key][1]} has the same name, which is the utterance's key")
        else:
            waves[key] = (str(place), os.path.abspath(path))
    if not waves:
        problems.add("empty folders", f"{place}: there are no files *.wav in this folder")
    return waves


# ---- the lexicon ----------------------------------------------------------------------------------------------------
def words_of_lexicon(path, problems):
    return {fields(line)[0] for _, line in lines_of(path, problems)}


# ---- a set ----------------------------------------------------------------------------------------------------------
class DataSet:
    """Utterances of one source: a Kaldi data folder, or waves and transcripts."""

    def __init__(self, name, wav, text, utt2spk=None, segments=None):
        self.name, self.text_path, self.segments_path = name, text, segments
        self.wav, self.utt2spk_path = wav, utt2spk
        self.dropped = 0

    @staticmethod
    def of_folder(name, folder):
        folder = Path(folder)
        for needed in ("wav.scp", "text"):
            if not (folder / needed).is_file():
                sys.exit(f"recognizer.sh: {folder}: a data folder needs a file {needed}, and this one has none")
        there = lambda file: str(folder / file) if (folder / file).is_file() else None
        return DataSet(name, str(folder / "wav.scp"), str(folder / "text"), there("utt2spk"), there("segments"))

    def read(self, problems):
        self.waves = find_waves(self.wav, problems)
        self.text = table(self.text_path, problems, None)
        self.segments = self.read_segments(problems) if self.segments_path else None
        self.speakers = {}
        if self.utt2spk_path:
            self.speakers = {key: rest for key, (_, rest) in table(self.utt2spk_path, problems, "a speaker").items()}

    def read_segments(self, problems):
        segments = {}
        for key, (number, rest) in table(self.segments_path, problems, "a recording and two times").items():
            columns = fields(rest)
            try:
                recording, begin, end = columns[0], float(columns[1]), float(columns[2])
                if not 0 <= begin < end < math.inf:
                    raise ValueError
            except (IndexError, ValueError):
                problems.add("segments", f"{self.segments_path}, line {number}: expected a recording, a beginning and a later end, found '{rest}'")
                continue
            segments[key] = (number, recording, begin, end)
        return segments

    def check_text(self, words, is_test, lexicon, oov, problems, warn):
        """Transcripts of at least a word, all words in the lexicon unless it is a test. Sets `words_of`, and `said`, where no word stands
        for others."""
        self.words_of, self.said = {}, {}
        hint, alike = plain_text.Hints(words), {}
        for key, (number, line) in self.text.items():
            place = f"{self.text_path}, line {number}"
            found = fields(line)
            if not found:
                problems.add("empty transcripts", f"{place}: the transcript of '{key}' is empty")
                continue
            missing = [word for word in found if word not in words]
            if missing and not oov and not is_test:
                for word in missing:
                    problems.add("words that the lexicon lacks", f"{place}: the word '{word}' is not in the lexicon {lexicon}{hint(word)}")
                continue
            for word in missing:
                if hint(word):
                    alike.setdefault(word, place)
            self.said[key] = found
            self.words_of[key] = found if is_test else [word if word in words else oov for word in found]
        meaning = "counts as wrong" if is_test else f"becomes '{oov}'"
        for word, place in list(alike.items())[:SHOWN]:
            warn(f"{place}: the word '{word}' {meaning}: it is not in the lexicon {lexicon}{hint(word)}")
        if len(alike) > SHOWN:
            warn(f"… and {len(alike) - SHOWN} more words of {self.text_path} like these")

    def check_waves(self, rate, problems, warn):
        """Waves that can be read, of one rate. Sets `headers` of recordings: (size, time, rate, seconds); returns the rate."""
        self.headers = {}
        first = None
        stereo, short = [], []
        recordings = {self.segments[key][1] for key in self.words_of if key in self.segments} if self.segments else self.words_of
        used = {}
        for key, (place, what) in self.waves.items():
            if key not in recordings:
                continue
            if not what.endswith("|") and ("|" in what or what.endswith("]")):
                problems.add("names", f"{place}: {what}: programs would take | for a command, and ] at the end for a part of the file; rename it")
                continue
            used[key] = (place, what)
        found = read_headers({key: what for key, (_, what) in used.items() if not what.endswith("|")})
        for key, (place, what) in used.items():
            if key not in found:
                self.headers[key] = (COMMAND, 0, 0, 0.0)
                continue
            wave = found[key]
            if isinstance(wave, str):
                problems.add("unusable waves", f"{place}: {wave}")
                continue
            complaint = wave["complaint"]
            cut = CUT_OFF.match(complaint) if complaint else None
            if cut and int(cut[2]) < (1 - MOST_MISSING) * int(cut[1]):
                problems.add("unusable waves", f"{place}: {what}: {complaint}")
                continue
            if cut:
                short.append(f"{what}: {complaint}")
            elif complaint:
                warn(f"{place}: {what}: {complaint}")
            rate_found, channels, seconds = wave["sample-rate"], wave["channels"], wave["duration"]
            stat = Path(re.sub(r":\d+$", "", what)).stat()
            if channels > 1:
                stereo.append(what)
            if rate and rate_found < rate or not rate and first and rate_found != first[1]:
                other = f"--sample-frequency={rate} was asked for" if rate else f"{first[0]} has {first[1]}"
                hint = "" if rate else " (--sample-frequency=N takes higher rates down to N)"
                problems.add("rates", f"{place}: {what} has {rate_found} samples per second, but {other}{hint}")
                continue
            first = first or (what, rate_found)
            self.headers[key] = (stat.st_size, stat.st_mtime_ns, rate_found, seconds)
        if short:
            warn(f"{len(short)} recordings have a little less sound than their headers promise, and are used as they are ({short[0]} …)")
        if stereo:
            warn(f"{len(stereo)} recordings have several channels, of which the first is used ({stereo[0]} …)")
        return rate or (first[1] if first else 0)

    def utterances(self, problems, warn):
        """Keys of the utterances that can be used, in order; (key of the recording, seconds or None) of each."""
        good, without_text = {}, 0
        keys = self.segments if self.segments is not None else self.waves
        for key in keys:
            if key not in self.text:
                without_text += 1
        if without_text:
            first = " ".join([key for key in keys if key not in self.text][:SHOWN])
            sentence = f"{without_text} of {len(keys)} utterances have no transcript in {self.text_path}, and are left out ({first})"
            if without_text > MOST_LOST * len(keys):
                problems.add("sound without transcripts", sentence)
            else:
                warn(sentence)
        for key in sorted(self.words_of):
            if key not in keys:
                where = self.segments_path or self.wav
                problems.add("transcripts without sound", f"{self.text_path}, line {self.text[key][0]}: there is no '{key}' in {where}")
                continue
            if self.segments is None:
                if key in self.headers:
                    good[key] = (key, self.headers[key][3] or None)
                continue
            number, recording, begin, end = self.segments[key]
            if recording not in self.waves:
                problems.add("segments", f"{self.segments_path}, line {number}: there is no recording '{recording}' in {self.wav}")
            elif recording in self.headers:
                seconds = self.headers[recording][3]
                if seconds and end > seconds + 0.5:
                    problems.add("segments", f"{self.segments_path}, line {number}: '{key}' ends at {end} s, but {recording} has {seconds:.2f} s")
                else:
                    good[key] = (recording, end - begin)
        return good

    def write(self, folder, keys, good, words):
        folder.mkdir(parents=True)
        recordings = sorted({good[key][0] for key in keys})

        def put(name, rows):
            (folder / name).write_text("".join(f"{' '.join(str(field) for field in row)}\n" for row in rows), encoding="utf-8")

        put("wav.scp", ((recording, self.waves[recording][1]) for recording in recordings))
        put("text", ((key, *words[key]) for key in keys))
        utterances_of = {}
        for key in keys:
            utterances_of.setdefault(self.speakers.get(key, key), []).append(key)
        put("utt2spk", ((key, self.speakers.get(key, key)) for key in keys))
        put("spk2utt", ((speaker, *utterances_of[speaker]) for speaker in sorted(utterances_of)))
        put("waves", ((recording, *self.headers[recording]) for recording in recordings))
        if self.segments is not None:
            put("segments", ((key, *self.segments[key][1:]) for key in keys))


def split(keys, speakers, args):
    """(training, held out)"""
    if args.test_speakers:
        wanted = args.test_speakers.split(",")
        there = {speakers.get(key, key) for key in keys}
        missing = [speaker for speaker in wanted if speaker not in there]
        if missing:
            sys.exit(f"recognizer.sh: --test-speakers: the data have no speaker '{missing[0]}'")
        return [k for k in keys if speakers.get(k, k) not in wanted], [k for k in keys if speakers.get(k, k) in wanted]
    count = min(args.num_test, len(keys) // 10)
    held_out = set(random.Random(args.srand).sample(keys, count))
    return [key for key in keys if key not in held_out], [key for key in keys if key in held_out]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("wav", "text", "utt2spk", "data", "test-wav", "test-text", "test-data", "test-speakers", "oov-word"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--lexicon", required=True)
    parser.add_argument("--sample-frequency", type=int, default=0)
    parser.add_argument("--num-test", type=int, default=200)
    parser.add_argument("--srand", type=int, default=0)
    parser.add_argument("--skip-bad", choices=("true", "false"), default="false")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    warn = lambda sentence: print(f"recognizer.sh: WARNING: {sentence}", file=sys.stderr)

    train = DataSet.of_folder("train", args.data) if args.data else DataSet("train", args.wav, args.text, args.utt2spk)
    tests = [DataSet.of_folder(Path(folder).name, folder) for folder in args.test_data.split(",") if folder]
    if args.test_wav:
        tests.append(DataSet("test", args.test_wav, args.test_text))
    names = [data.name for data in [train, *tests]] + ["held_out"]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"recognizer.sh: --test-data: two sets are called '{name}'; give folders with different names")

    problems = Problems()
    words = words_of_lexicon(args.lexicon, problems)
    if args.oov_word and args.oov_word not in words:
        sys.exit(f"recognizer.sh: --oov-word={args.oov_word}: this word is not in the lexicon {args.lexicon} itself{plain_text.Hints(words)(args.oov_word)}")
    rate = args.sample_frequency
    for data in [train, *tests]:
        data.read(problems)
        # What a test says need not be in the lexicon: it counts as an error of the recogniser.
        data.check_text(words, data is not train, args.lexicon, args.oov_word, problems, warn)
        rate = data.check_waves(rate, problems, warn) or rate
        data.good = data.utterances(problems, warn)
    if problems.kinds:
        problems.report("recognizer.sh: WARNING" if args.skip_bad == "true" else "recognizer.sh")
        if args.skip_bad == "false":
            sys.exit("recognizer.sh: stopped: the data have to be put right; --skip-bad=true leaves out the utterances named above")
    for data in [train, *tests]:
        if not data.good:
            sys.exit(f"recognizer.sh: no utterance of {data.text_path} can be used: none has both sound and a transcript")
    for data in [train, *tests]:
        known = len(set(data.text) | set(data.segments if data.segments is not None else data.waves))
        seconds = sum(length or 0 for _, length in data.good.values())
        print(f"recognizer.sh: data: {len(data.good)} of {known} utterances of {data.name}, {seconds / 3600:.2f} hours", file=sys.stderr)
    keys = sorted(train.good)
    held_out = []
    if not tests or args.test_speakers:
        keys, held_out = split(keys, train.speakers, args)
    if len(keys) < 2 or not (tests or held_out):
        sys.exit(f"recognizer.sh: {len(train.good)} utterances are too few to train on some and test on others")

    args.out.mkdir(parents=True)
    train.write(args.out / "train", keys, train.good, train.words_of)
    if held_out:
        train.write(args.out / "held_out", held_out, train.good, train.said)
    for data in tests:
        data.write(args.out / data.name, sorted(data.good), data.good, data.said)
    seconds = sum(train.good[key][1] or 5.0 for key in keys)  # what a command will give is not known
    (args.out / "rate").write_text(f"{rate or 16000}\n")
    (args.out / "hours").write_text(f"{seconds / 3600:.3f}\n")
    (args.out / "tests").write_text("".join(f"{name}\n" for name in ["held_out"] * bool(held_out) + names[1:-1]))


if __name__ == "__main__":
    main()
