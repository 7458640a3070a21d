#!/usr/bin/env python3
"""Gives hostile names, bytes, tables, arrays and transcripts to the Python module, to programs of scripts, and to a script of Python.

    hostile-python.py [--seed=60] [--tries=900] [MODULE_FOLDER [MODEL SOUND]]

MODULE_FOLDER has the package `nnet3` with its native part; without it only scripts are tried. MODEL is the folder of a small model, and
SOUND a recording for it; without them no recording is transcribed. Each try runs in a process and a folder of its own, from numbers that
follow from the seed. A try is a misfit if it
  - ends by a signal, or by an exception of another kind than the documented ones, or a script shows a traceback,
  - takes longer than 20 seconds,
  - runs a command that is within a name, or makes a file elsewhere than where results belong,
  - gives a wrong result in silence: entries that a failed command wrote as if they were all, a name twice, another file's contents.
Prints tried, refused, done and misfits by class. Status 0 without misfits, 1 with some, which are listed.
"""

import argparse
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 20
SIGNS = ["|", ";", "&", "$(touch RUN)", "`touch RUN`", "touch RUN |", "| touch RUN", "\n", "\t", " ", "'", '"', "\\", "*", "[0:1]", ":12", "ark:", "scp:",
         "-", "..", ".", "é", "\u200b", "\U0001f600", "%s", "{}", "#", "~", "!", "<", ">", "(", ")", "=", ",", "a", "b", "JOB"]


class Misfit(Exception):
    """Says what is wrong with a result."""


def expect(condition, what):
    if not condition:
        raise Misfit(what)


def hostile_name(rng, most=4):
    name = "".join(rng.choice(SIGNS) for _ in range(rng.randint(1, most))).replace("/", "")
    return name if name not in ("", ".", "..") else "x"


def damaged(rng, content):
    """The bytes with some changed, cut, doubled or inserted."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(content):
            content[at] = rng.randrange(256)
        elif kind == 1:
            del content[at:]
        elif kind == 2:
            content[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 9)))
        elif kind == 3:
            content[at:at] = content[: rng.randint(0, len(content))]
        else:
            del content[at : at + rng.randint(1, 9)]
    return bytes(content)


# ---- the module ---------------------------------------------------------------------------------------------------------------------
def scripts_of_others(rng, given):
    """Specifiers and scripts with commands, for tables that allow none: no command runs, and plain lines are read."""
    nnet3, np = given.nnet3, given.numpy
    with nnet3.MatrixWriter("ark,scp:a,good") as writer:
        writer.write("k", np.ones((2, 3), "f4"))
    Path("s").write_text(Path("good").read_text() + "".join(f"k{i} {hostile_name(rng)}\n" for i in range(rng.randint(0, 3))), "utf-8")
    kind = rng.choice(["Matrix", "Vector"])
    if rng.random() < 0.5:
        rspecifier = rng.choice(["scp:s", "scp,p:s", "scp,bg:s", "scp:good", f"ark:{hostile_name(rng)}", f"scp:{hostile_name(rng)}"])
        found = [key for key, _ in getattr(nnet3, f"{kind}Reader")(rspecifier, commands=False)]
        expect(rspecifier != "scp:good" or found == ["k"], f"found {found}")
    else:
        wspecifier = rng.choice(["scp:s", f"ark:{hostile_name(rng)}", f"ark,scp:b,{hostile_name(rng)}", f"ark,scp:{hostile_name(rng)},c"])
        with getattr(nnet3, f"{kind}Writer")(wspecifier, commands=False) as writer:
            writer.write("k", np.ones((2, 3) if kind == "Matrix" else 3, "f4"))


def refusals(nnet3):
    return (nnet3.Error, ValueError, TypeError, MemoryError, UnicodeError)


def names_as_paths(rng, given):
    """A name is a file, whatever it looks like; without a file it is an error."""
    nnet3, np = given.nnet3, given.numpy
    name, there = hostile_name(rng), rng.random() < 0.6
    name = Path.cwd() / name if rng.random() < 0.3 else name
    what = rng.choice(["network", "features", *(["sound"] * 2 if given.model else [])])
    if there:
        source = {"network": given.top / "raw", "features": given.top / "conf", "sound": given.sound}[what]
        shutil.copy(source, name)
    try:
        if what == "network":
            expect(nnet3.Network(name).input_dim == 2, "another network")
        elif what == "features":
            expect(nnet3.features(np.ones(4000, "f4"), 16000, name).shape[1] == 7, "features of another configuration")
        else:
            expect(nnet3.transcribe(given.model, name)["text"] == given.text, "another text")
    except nnet3.Error as error:
        expect(not there, f"{what} {name!r} is there: {error}")
        raise
    expect(there, f"{what} {name!r} is not there, and was read")


def damaged_tables(rng, given):
    """Archives and scripts with changed bytes."""
    nnet3, np = given.nnet3, given.numpy
    kind, form = rng.choice(["Matrix", "Vector"]), rng.choice(["ark", "ark,t"])
    dtype = rng.choice(["float32", "float64"])
    with getattr(nnet3, f"{kind}Writer")(f"{form}:a", dtype=dtype) as writer:
        for i in range(3):
            writer.write(f"k{i}", np.ones((2, 3) if kind == "Matrix" else (4,), "f4") * i)
    Path("a").write_bytes(damaged(rng, Path("a").read_bytes()))
    rspecifier = "ark:a"
    if rng.random() < 0.3:
        line = rng.choice(["k a:%d", "k a:%d[0:%d]", "k a[%d:%d]", "k a"])
        numbers = tuple(rng.choice([0, 1, 3, 40, 10**9, 10**30]) for _ in range(line.count("%")))
        Path("s").write_bytes((line % numbers).encode() + b"\n")
        rspecifier = "scp:s"
    options = {} if rng.random() < 0.5 else {"dtype": rng.choice(["float32", "float64"])}
    other = rng.choice(["Matrix", "Vector"]) if rng.random() < 0.2 else kind
    for key, array in getattr(nnet3, f"{other}Reader")(rspecifier, **options):
        expect(key and array.ndim == (2 if other == "Matrix" else 1), "an entry without a name or shape")


def failing_commands(rng, given):
    """A command that fails at any point: the loop must not end as if all were there."""
    nnet3, np = given.nnet3, given.numpy
    count = rng.randint(1, 40)
    with nnet3.MatrixWriter("ark:a") as writer:
        for i in range(count):
            writer.write(f"k{i}", np.ones((rng.choice([1, 50]), 7), "f4"))
    size = Path("a").stat().st_size
    cut = rng.choice([size, size, 0, rng.randrange(size)])
    end = rng.choice(["exit 3", "kill -9 $$", "kill -15 $$", "false", "no-such-program-at-all", "exit 0"])
    command = rng.choice(["head -c {0} a; {1}", "(head -c {0} a; {1}) | cat", "sh -c 'head -c {0} a; {1}'"]).format(cut, end)
    fails = end != "exit 0"
    found = []
    try:
        reader = nnet3.MatrixReader(f"ark{rng.choice(['', ',bg'])}:{command} 2>/dev/null |")
        if rng.random() < 0.3:
            with reader:
                found += [key for key, _ in reader]
        else:
            found += [key for key, _ in reader]
    except nnet3.Error:
        expect(fails or cut != size, f"{command}: there is no fault")
        raise
    expect(not fails, f"{command}: the loop ended after {len(found)} of {count} entries as if all were there")
    expect(cut != size or len(found) == count, f"{command}: {len(found)} of {count} entries")


def hostile_writes(rng, given):
    """Keys, arrays and destinations; a block that ends with an exception replaces no file."""
    nnet3, np = given.nnet3, given.numpy
    key = rng.choice(["a", "", "a b", "a\0b", "é", "\u2003", "[", "k" * rng.choice([10, 2**20 + 1]), hostile_name(rng)])
    array = rng.choice([
        np.ones((2, 2), "f4"), np.ones((2, 2), "f8"), np.ones(3, "f4"), np.ones((0, 13), "f4"), np.ones((13, 0), "f4"), np.ones((2, 2, 2), "f4"),
        np.ones((2, 2), "i4"), np.ones((2, 2), "f2"), np.ones((2, 2), "c8"), np.array([["x"]]), None, "text", [[1.0]], object(),
        np.broadcast_to(np.float32(1), (1 << 40, 1 << 20)), np.broadcast_to(np.float64(1), (1 << 50,)), np.full((2, 2), np.nan, "f4"),
        np.lib.stride_tricks.as_strided(np.ones(9, "f4"), (3, 3), (-4, 4))[:0], np.asfortranarray(np.ones((3, 2), "f8"))[::-1],
    ])
    to = rng.choice(["ark:out", "ark,t:out", "ark,scp:out,out.scp", "ark:/dev/full", "ark:| exit 3", "ark:| head -c 1 >/dev/null", "ark:no/folder/x", "scp:none",
                     "out", "ark", "", "ark:", "ark,x:out"])
    make = rng.choice([nnet3.MatrixWriter, nnet3.VectorWriter])
    Path("out").write_bytes(b"old")
    try:
        with make(to, dtype=rng.choice(["float32", "float64"])) as writer:
            writer.write("first", np.ones((1, 1) if make is nnet3.MatrixWriter else (1,), "f4"))
            writer.write(key, array)
    except (*refusals(nnet3), AttributeError) as error:
        expect(not isinstance(error, AttributeError), str(error))
        expect(str(error), "an exception without a sentence")
        expect(Path("out").read_bytes() == b"old", f"{to}: a table that is not complete replaced the old one")
        raise
    if to.startswith("ark") and ":out" in to:
        reader = nnet3.MatrixReader if make is nnet3.MatrixWriter else nnet3.VectorReader
        expect([name for name, _ in reader("ark:out")] == ["first", key], f"{key!r} was written, and is not read")


# ---- scripts ------------------------------------------------------------------------------------------------------------------------
def run_part(*arguments, **options):
    expect(Path(arguments[0]).exists(), f"there is no {arguments[0]}")
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, timeout=SECONDS, check=False, **options)
    said = done.stderr.decode(errors="replace")
    expect("Traceback" not in said, f"a traceback: {said.strip().splitlines()[-1:]}")
    expect(done.returncode in (0, 1, 2), f"status {done.returncode}")
    expect(done.returncode == 0 or said.strip(), "no sentence")
    return done.returncode, said


def run_program(*arguments):
    """Runs a program of the toolkit. Returns its status and its messages."""
    expect(shutil.which("nnet3"), "nnet3 is not on the PATH")
    done = subprocess.run(["nnet3", *map(str, arguments)], capture_output=True, timeout=SECONDS, check=False)
    said = done.stderr.decode(errors="replace")
    expect("panicked" not in said and done.returncode in (0, 1, 255), f"status {done.returncode}: {said[-300:]}")
    expect("Usage:" not in said, f"options that the program does not have: {said[-300:]}")
    expect(done.returncode == 0 or "ERROR" in said, f"no sentence: {said[-300:]}")
    return done.returncode, said


class Refused(Exception):
    """A script has ended with a sentence."""


def lists_of_recordings(rng, given):
    """Lists for transcribe_many.sh, twice: names differ and are plain, and each belongs to the path of its line."""
    for folder in ("out/texts", "out/log", "work"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    paths = []
    for _ in range(rng.randint(1, 6)):
        path = Path(rng.choice(["p", "q", "p/q"])) / hostile_name(rng)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_dir():
            path.write_bytes(b"x")
        paths.append(path)
    for turn in range(2):
        lines = []
        for path in rng.sample(paths, rng.randint(1, len(paths))):
            given_name = hostile_name(rng) + "\t" if rng.random() < 0.4 else ""
            lines.append(f"{given_name}{path}")
        content = "\n".join(lines).encode()
        if rng.random() < 0.2:
            content = damaged(rng, content)
        Path("list").write_bytes(content)
        status, said = run_program("name-recordings", "list", "out", "txt")
        if status:
            raise Refused(said)
        rows = [line.split("\t") for line in Path("out/names").read_text("utf-8").split("\n") if line]
        names = [row[0] for row in rows]
        expect(all(len(row) == 2 for row in rows), "a path with a tab")
        expect(len(set(names)) == len(names), f"a name twice: {names}")
        expect(all(re.fullmatch(r"[\w+=@%][\w.+=@%-]*", name) for name in names), f"names that are not plain: {names}")
        for row in rows:
            text = Path("out/texts", f"{row[0]}.txt")
            expect(not text.exists() or text.read_text("utf-8") == row[1], "the text of another recording")
            text.write_text(row[1], "utf-8")
        for command in (["batch-recordings", "--size=2", "out", "txt", "work/batches"], ["collect-texts", "out", "txt", "work/batches"]):
            status, said = run_program(*command)
            expect(status == 0, f"{command}: {said[-300:]}")
        expect(Path("out/text").read_text("utf-8") == "".join(row[1] for row in rows), "texts in another order")


def damaged_recordings(rng, given):
    """Data folders for segment_long.sh."""
    Path("data").mkdir()
    Path("work").mkdir()
    files = {"wav.scp": b"a a.wav\nb sox b.mp3 -t wav - |\nc c.wav\n", "text": b"a one two\nb two x\nc one\n", "utt2spk": b"a s\nb s\nc t\n"}
    words = b"<eps> 0\none 1\ntwo 2\n"
    victim = rng.choice([*files, "words"])
    for name, content in files.items():
        Path("data", name).write_bytes(damaged(rng, content) if name == victim else content)
    Path("words").write_bytes(damaged(rng, words) if victim == "words" else words)
    status, said = run_program("check-long-recordings", f"--skip-bad={rng.choice(['true', 'false'])}", "data", "words", "work")
    if status:
        raise Refused(said)
    keys = Path("work/recordings").read_text("utf-8").split("\n")[:-1]
    expect(keys and len(set(keys)) == len(keys), f"recordings {keys}")
    for name in ("wav.scp", "text", "transcripts"):
        rows = [line.split(" ", 1) for line in Path("work", name).read_text("utf-8").split("\n")[:-1]]
        expect([row[0] for row in rows] == keys and all(len(row) == 2 and row[1].strip() for row in rows), f"{name}: {rows}")


def damaged_transcripts(rng, given):
    """Sentences, phrases and lexicons for adapt_model.sh."""
    Path("w/old").mkdir(parents=True)
    expect(shutil.which("nnet3"), "nnet3 is not on the PATH")
    names = ["SIL", *(phone + place for phone in "ABC" for place in ("_B", "_E", "_I", "_S"))]
    files = {
        "w/old/phones.txt": "<eps> 0\n" + "".join(f"{name} {i}\n" for i, name in enumerate(names, 1)),
        "w/old/lexicon.txt": "ab A_B B_E\nc C_S\n", "w/old/silence.txt": "SIL\n", "w/old/guessed.txt": "A_B A_E\n",
        "text": "ab c\nc c ab\n", "phrases": "c ab\n", "new": "dé A B\ne 0.5 C\n",
    }
    victim = rng.choice(["text", "phrases", "new"])
    for name, content in files.items():
        content = content.encode()
        if name == victim:
            content = damaged(rng, content) if rng.random() < 0.7 else " ".join(hostile_name(rng) for _ in range(5)).encode()
        Path(name).write_bytes(content)
    what = rng.choice(["missing", "parts", "language"])
    skip = rng.choice(["true", "false"])
    out = "w/new" if what == "language" else "w/out"
    status, said = run_program(
        "adapt-lexicon", "--text=text", "--phrases=phrases", "--new=new", f"--skip-unknown={skip}", f"--write={what}", "w/old", out
    )
    if status:
        raise Refused(said)
    if what == "language":
        known = {line.split(" ")[0] for line in Path("w/new/lexicon.txt").read_text("utf-8").split("\n")[:-1]}
        for name in ("w/new/text.txt", "w/new/phrases.txt"):
            said_words = set(Path(name).read_text("utf-8").replace("\n", " ").split(" ")) - {""}
            expect(said_words <= known, f"words without a pronunciation: {said_words - known}")


def damaged_turns(rng, given):
    """RTTM files of egs/speakers."""
    good = b";; comment\nSPEAKER r 1 0.5 1.5 <NA> <NA> anna <NA> <NA>\nSPKR-INFO r 1 <NA> <NA> <NA> unknown anna <NA>\nSPEAKER r 1 3 1 <NA> <NA> ben <NA> <NA>\n"
    Path("ref").write_bytes(good)
    Path("rttm").write_bytes(damaged(rng, good))
    status, said = run_part(ROOT / "egs/speakers/local/diarize.py", "score", "ref", "rttm")
    if status:
        raise Refused(said)


MODULE = [names_as_paths, damaged_tables, scripts_of_others, failing_commands, hostile_writes]
SCRIPTS = [lists_of_recordings, damaged_recordings, damaged_transcripts, damaged_turns]


class Given:
    """What tries need: the module, a network, a configuration, a model and the text of its recording."""

    def __init__(self, options, top):
        self.nnet3 = self.numpy = self.model = self.sound = self.text = None
        self.top = top
        if not options.module:
            return
        sys.path.insert(0, str(Path(options.module).resolve()))
        import numpy
        import nnet3
        self.nnet3, self.numpy = nnet3, numpy
        (top / "config").write_text("input-node name=input dim=2\noutput-node name=output input=input\n")
        nnet3.run("nnet3-init", top / "config", top / "raw")
        (top / "conf").write_text("--dither=0\n--num-ceps=7\n")
        if options.model:
            self.model, self.sound = nnet3.Model(options.model), Path(options.sound).resolve()
            self.text = nnet3.transcribe(self.model, self.sound)["text"]


def attempt(function, seed, given, top):
    """Runs a try in a process of its own; returns (outcome, sentence)."""
    folder = top / "try"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        refused = (Refused, *(refusals(given.nnet3) if given.nnet3 else ()))
        signal.alarm(SECONDS)
        try:
            function(random.Random(f"{function.__name__} {seed}"), given)
            said = "done"
        except Misfit as error:
            said = f"misfit {error}"
        except refused as error:
            said = f"refused {error}"
        except subprocess.TimeoutExpired:
            said = "misfit it took too long"
        except BaseException as error:
            said = f"misfit {type(error).__name__}: {error} {traceback.extract_tb(error.__traceback__)[-1]}"
        os.write(writing, said.encode(errors="replace")[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if status or not said:
        return "misfit", f"ended with {os.waitstatus_to_exitcode(status)}"
    if any(found.name == "RUN" for found in folder.rglob("RUN")):
        return "misfit", "a command within a name was run"
    return said.partition(" ")[0], said.partition(" ")[2]


def main():
    summary, _, rest = __doc__.partition("\n\n")
    usage, _, rest = rest.partition("\n\n")
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(usage=usage.strip(), description=summary, epilog=rest, formatter_class=raw)
    parser.add_argument("--seed", type=int, default=60, help="the first seed (60)")
    parser.add_argument("--tries", type=int, default=900, help="the number of tries of all classes (900)")
    parser.add_argument("module", nargs="?", metavar="MODULE_FOLDER", help="a folder with the package nnet3")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="the folder of a small model")
    parser.add_argument("sound", nargs="?", metavar="SOUND", help="a recording")
    options = parser.parse_args()
    if not shutil.which("nnet3"):
        parser.exit(2, "hostile-python.py: expected nnet3 on the PATH, found none: cargo build, and PATH=$PWD/target/debug:$PATH\n")
    if options.model and not options.sound:
        parser.error("expected a SOUND for the MODEL, found none")
    misfits = []
    with tempfile.TemporaryDirectory(prefix="hostile-python-") as top:
        top = Path(top)
        given = Given(options, top)
        functions = [*(MODULE if given.nnet3 else []), *SCRIPTS]
        counts = {function: collections.Counter() for function in functions}
        for number in range(options.tries):
            function = functions[number % len(functions)]
            outcome, said = attempt(function, options.seed + number // len(functions), given, top)
            counts[function][outcome] += 1
            if outcome == "misfit":
                misfits.append(f"{function.__name__} {options.seed + number // len(functions)}: {said}")
    print(f"{'class':22} {'tried':>6} {'refused':>8} {'done':>6} {'misfits':>8}")
    for function, found in counts.items():
        print(f"{function.__name__:22} {found.total():6} {found['refused']:8} {found['done']:6} {found['misfit']:8}")
    print(f"{options.tries} tries, {len(misfits)} misfits")
    for misfit in misfits:
        print(f"  {misfit}")
    return 1 if misfits else 0


if __name__ == "__main__":
    sys.exit(main())
