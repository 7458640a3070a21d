#!/usr/bin/env python3
"""Says which programs the scripts of a recipe call, and which of them do not exist here.

    programs.py FOLDER [SCRIPT ...]

FOLDER is a recipe for Kaldi: run.sh, local/, and steps/ and utils/ as links or copies. Starts at the scripts, names
within FOLDER; without them, at all scripts that lie in FOLDER itself. Follows every script that a script names.
Prints a line for each program of Kaldi or OpenFst that `nnet3 --list` lacks, and for each tool of others that is not on
the PATH, with the places that name it. Scripts of the recipe that are named and do not exist are listed, too, links that lead nowhere, commands that exist nowhere, and names
that differ from that of a program by a letter or two, each with the name that may have been meant. Of commands that exist nowhere, only
those with a hyphen in their names are found, as most programs of Kaldi have one: a shell script has too many other words of its own. Looks for `nnet3` on the PATH, then in
target/release and target/debug. The status is 0 if all is there, 1 if something is missing, 2 if there was nothing to look at.

    programs.py --write KALDI [RECIPE ...]

writes the lists of this folder again: kaldi_programs.txt, and programs/RECIPE.txt for the recipes in STARTS. KALDI is a
checkout of Kaldi (scripts and sources; nothing has to be built). Tests compare the lists with `nnet3 --list`.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import time

from called import dead_link, lost_scripts, misspelt, unknown_commands

HERE = os.path.dirname(os.path.abspath(__file__))

# Recipe: its folder, and the scripts that a user starts there.
STARTS = {
    "mini_librispeech": ("egs/mini_librispeech/s5", [
        "run.sh", "local/chain/run_tdnn.sh", "local/chain/run_cnn_tdnn.sh", "local/chain/run_tdnn_discriminative.sh",
        "local/chain/tuning/run_tdnn_1c_discriminative.sh", "local/grammar/simple_demo.sh", "local/grammar/extend_vocab_demo.sh",
        "local/lookahead/run_lookahead.sh", "local/kws/run_kws.sh", "local/kws/search.sh"]),
    "yesno": ("egs/yesno/s5", ["run.sh"]),
    "aishell": ("egs/aishell/s5", ["run.sh", "local/chain/run_tdnn.sh"]),
    "rnnlm": ("egs/wsj/s5", [
        "local/rnnlm/run_rnnlm.sh", "rnnlm/train_rnnlm.sh", "rnnlm/lmrescore.sh", "rnnlm/lmrescore_pruned.sh",
        "rnnlm/lmrescore_nbest.sh"]),
    "voxceleb": ("egs/voxceleb/v2", ["run.sh"]),
    "callhome": ("egs/callhome_diarization/v2", ["run.sh"]),
    "cifar": ("egs/cifar/v1", ["run.sh", "local/nnet3/run_resnet.sh"]),
    # The folder training/ of vosk-api, put into the checkout as egs/vosk/training.
    "vosk": ("egs/vosk/training", ["run.sh"]),
}

# Programs of OpenFst that scripts of Kaldi call.
OPENFST = """fstarcsort fstclosure fstcompile fstcompose fstconcat fstconnect fstconvert fstcopy fstdeterminize fstdifference
fstdraw fstencode fstepsnormalize fstequal fstequivalent fstinfo fstintersect fstinvert fstisomorphic fstmap fstminimize
fstprint fstproject fstprune fstpush fstrandgen fstrelabel fstreplace fstreverse fstreweight fstrmepsilon
fstshortestdistance fstshortestpath fstsymbols fstsynchronize fsttopsort fstunion farcompilestrings ngramcount""".split()

# Folders of scripts that recipes have as links into another recipe.
KALDIS_FOLDERS = ("steps", "utils", "sid", "rnnlm", "diarization")

# Tools of others that recipes call, many of them from Kaldi's folder tools/.
TOOLS = """sph2pipe sox flac ffmpeg shorten ngram-count ngram lmplz build_binary build-lm compile-lm prune-lm g2p.py
phonetisaurus-align phonetisaurus-apply phonetisaurus-train phonetisaurus-g2pfst rnnlm sclite hubscr.pl md-eval.pl
lattice-tool gawk bc unzip wget""".split()


def kaldi_programs(kaldi):
    """Names of all programs in the folders src/*bin of a checkout, and of OpenFst's."""
    names = set(OPENFST)
    source = os.path.join(kaldi, "src")
    for folder in os.listdir(source):
        if folder.endswith("bin"):
            names.update(f[:-3] for f in os.listdir(os.path.join(source, folder)) if f.endswith(".cc"))
    return names


def listed(name):
    """Lines of a list beside this script, without comments."""
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return [line.rstrip("\n") for line in f if line.strip() and not line.startswith("#")]


def our_programs():
    """Names of all programs of this toolkit."""
    root = os.path.join(HERE, "..", "..", "target")
    places = [shutil.which("nnet3"), os.path.join(root, "release", "nnet3"), os.path.join(root, "debug", "nnet3")]
    for nnet3 in filter(None, places):
        if os.access(nnet3, os.X_OK):
            run = subprocess.run([nnet3, "--list=names"], stdout=subprocess.PIPE, text=True, check=False)
            if run.returncode == 0:
                return set(run.stdout.split())
            sys.exit(f"programs.py: {nnet3} --list=names ended with status {run.returncode}")
    program = shutil.which("nnet3-info")  # (A folder of links may lack nnet3 itself.)
    if program:
        binary = os.path.realpath(program)
        run = subprocess.run(["nnet3", "--list=names"], executable=binary, stdout=subprocess.PIPE, text=True, check=False)
        if run.returncode == 0:
            return set(run.stdout.split())
    sys.exit("programs.py: there is no nnet3 on the PATH, nor in target/: build it, with `cargo build --release`")


def code(path):
    """The text of a script without its comments and without the lines of its usage message. Lines keep their numbers."""
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = f.read().split("\n")
    # (Of a message stays the file that it goes to.)
    return "\n".join(re.sub(r"\s*echo\s.*?(>\s*[\w./-]+)?$", r"\1", line) if re.match(r"\s*echo\s", line) else re.sub(r"(^|\s)#.*", "", line)
                     for line in lines)


class Progress:
    """Says on standard error how far the work is: a line that changes on a terminal, otherwise one every ten seconds."""

    def __init__(self, stream=sys.stderr):
        self.stream, self.terminal = stream, stream.isatty()
        self.pause = 0.2 if self.terminal else 10.0
        self.next, self.shown = time.monotonic() + max(self.pause, 1.0), False

    def say(self, *parts):
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + self.pause
        text = f"programs.py: {' '.join(map(str, parts))}"
        self.stream.write(f"\r{text}\x1b[K" if self.terminal else text + "\n")
        self.stream.flush()
        self.shown = True

    def end(self):
        """Removes the line from a terminal."""
        if self.terminal and self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
        self.shown = False


def followed(root, starts, progress=None):
    """Texts of the start scripts and of all scripts that they name, directly or through others."""
    waiting, seen = [os.path.join(root, start) for start in starts], {}
    while waiting:
        path = os.path.realpath(waiting.pop())
        if path in seen or not os.path.isfile(path):
            continue
        seen[path] = code(path)
        if progress:
            progress.say("read", len(seen), "scripts; names that wait:", len(waiting))
        folders = [root, os.path.dirname(path), os.path.join(root, "utils"), os.path.join(root, "steps")]
        for name in re.findall(r"[A-Za-z0-9_./+-]+\.(?:sh|pl|py)\b", seen[path]):
            # Paths behind variables, as in $dir/../x.sh, keep only what stands behind the variable.
            for folder in folders:
                waiting.append(os.path.join(folder, name.lstrip("/")))
        for name in re.findall(r"(?:utils|steps|local|rnnlm|sid|diarization|image|conf)/[A-Za-z0-9_./+-]+", seen[path]):
            waiting.append(os.path.join(root, name))
        for module in re.findall(r"(?:import|from)\s+(libs\.[a-z0-9_.]+)", seen[path]):
            # A package is all its modules.
            module = os.path.join(root, "steps", module.replace(".", "/"))
            waiting += [module + ".py", *glob.glob(module + "/*.py")]
    return seen


def words(text):
    """Words of a script that may be names of programs."""
    found = set(re.findall(r"[A-Za-z0-9][A-Za-z0-9_-]*", text))
    # A script with several threads adds "-parallel" to the name of its decoder.
    return found | {name + "-parallel" for name in re.findall(r"([a-z0-9-]+)\$\{?thread_string\b", text)}


def tool(name):
    """Matches a tool that stands in a script as a word of its own, not as a part of the name of a file or an option."""
    return rf"(?<![\w./$=-]){re.escape(name)}(?![\w./=-])"


def tools(text):
    """Tools of others that a script names."""
    return {name for name in TOOLS if re.search(tool(name), text)}


def shown(path, folder):
    """The name of a script as the recipe's scripts write it: steps/train.sh, if steps is a link."""
    for inner in ("", *KALDIS_FOLDERS):
        root = os.path.realpath(os.path.join(folder, inner))
        if os.path.commonpath([root, path]) == root:
            return os.path.join(inner, os.path.relpath(path, root))
    return path


def own_scripts(folder):
    """Scripts that lie in the folder itself, and not in folders that are links to elsewhere."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("data", "exp") and not name.startswith("."))
        found += [os.path.relpath(os.path.join(place, name), folder) for name in sorted(files) if name.endswith((".sh", ".pl", ".py"))]
    return found


def all_scripts(folder):
    """Names of all scripts of a recipe from its folder, links to Kaldi's folders of scripts included."""
    found = set()
    for inner in (".", *KALDIS_FOLDERS):
        for place, folders, files in os.walk(os.path.join(folder, inner)):
            folders[:] = [name for name in folders if name not in ("data", "exp") and not name.startswith(".")]
            paths = (os.path.join(place, name) for name in files)
            found.update(os.path.normpath(os.path.relpath(path, folder)) for path in paths if os.path.exists(path))
    return found


def listing(places):
    """The first two places, and how many there are besides."""
    places = sorted(set(places))
    rest = f" and {len(places) - 2} more" if len(places) > 2 else ""
    return ", ".join(places[:2]) + rest


def lost_folders(folder, texts):
    """The folders of Kaldi's scripts that scripts name and that are not there."""
    pattern = rf"(?<![\w/.$}}])({'|'.join(KALDIS_FOLDERS)})/[\w./+-]+\.(?:sh|pl|py)\b"
    named = {name for text in texts.values() for name in re.findall(pattern, text)}
    return sorted(name for name in named if not os.path.isdir(os.path.join(folder, name)))


def report(folder, starts):
    """Prints what the recipe's scripts lack. Returns the exit status."""
    if not os.path.isdir(folder):
        print(f"programs.py: {folder} is no folder", file=sys.stderr)
        return 2
    absent = [start for start in starts if not os.path.isfile(os.path.join(folder, start))]
    if absent:
        print(f"programs.py: {folder} has no {', '.join(absent)}", file=sys.stderr)
        return 2
    starts = starts or own_scripts(folder)
    if not starts:
        print(f"programs.py: {folder} has no scripts (names that end with .sh, .pl or .py)", file=sys.stderr)
        return 2
    ours, reasons = our_programs(), dict(line.split(": ", 1) for line in listed("missing.txt"))
    kaldis = set(listed("kaldi_programs.txt"))
    root = os.path.realpath(folder)
    progress = Progress()
    texts = followed(root, starts, progress)
    called = {path: {name for name in words(text) if name in kaldis or ("-" in name and name in ours)} for path, text in texts.items()}
    programs = set().union(*called.values())
    # Other languages have such words in messages.
    shells = {path: text for path, text in texts.items() if path.endswith(".sh")}
    others = set()
    for number, text in enumerate(shells.values()):
        others |= tools(text)
        progress.say("looked for tools in", number, "of", len(shells), "scripts")
    files = all_scripts(root)
    names_of_files = {os.path.basename(name) for name in files}
    wrong = {**unknown_commands(shells, kaldis | ours, lambda name: name in names_of_files or shutil.which(name)),
             **misspelt(shells.values(), kaldis | ours, progress)}
    wrong = {name: program for name, program in wrong.items() if name not in TOOLS}
    lost_names = lost_scripts(shells, root, files)
    progress.end()

    def show(name, pattern, why, texts):
        word = name.removesuffix("-parallel")  # (A search for a word is fast; it must be there for a pattern to match.)
        lines = [(path, number, line) for path, text in texts.items() if word in text for number, line in enumerate(text.split("\n"), 1) if word in line]
        print(f"{name}: {why}: {listing(f'{shown(path, root)}:{number}' for path, number, line in lines if re.search(pattern, line))}")

    missing = sorted(programs - ours)
    for name in missing:
        base = name.removesuffix("-parallel")
        pattern = rf"(?<![\w-])(?:{re.escape(name)}(?![\w-])|{re.escape(base)}\$\{{?thread_string\b)"
        show(name, pattern, "does not exist here" + (f" ({reasons[name]})" if name in reasons else ""), texts)
    absent = sorted(name for name in others if not shutil.which(name))
    for name in absent:
        show(name, tool(name), "a tool of others that is not on the PATH", shells)
    for name in sorted(wrong):
        looks = f"; it looks like {wrong[name]}" if wrong[name] else ""
        show(name, rf"(?<![\w./$=-]){re.escape(name)}(?![\w./=-])", f"no program has this name{looks}", shells)
    for name, (places, near) in sorted(lost_names.items()):
        link = dead_link(root, name)
        why = f"there is no such script{f' (did you mean {near}?)' if near else ''}"
        if link:
            why = f"{'' if link[0] == name else link[0] + ' '}is a link to {link[1]}, which does not exist"
        print(f"{name}: {why}: {listing(f'{shown(path, root)}:{number}' for path, number in places)}")
    lost = lost_folders(root, texts)
    for name in lost:
        print(f"WARNING: {folder}/{name} is not there: link or copy Kaldi's; what its scripts call is not listed", file=sys.stderr)
    print(f"scripts: {len(texts)}; programs of Kaldi and OpenFst: {len(programs)}; of these here: {len(programs) - len(missing)}")
    return 1 if missing or absent or wrong or lost or lost_names else 0


def write_lists(kaldi, recipes):
    """Writes kaldi_programs.txt and programs/RECIPE.txt."""
    programs = kaldi_programs(kaldi)
    with open(os.path.join(HERE, "kaldi_programs.txt"), "w", encoding="utf-8") as f:
        f.write("# Names of all programs of Kaldi, and of those of OpenFst that its scripts call: programs.py --write KALDI\n")
        f.write("".join(name + "\n" for name in sorted(programs)))
    out = os.path.join(HERE, "programs")
    os.makedirs(out, exist_ok=True)
    for recipe in recipes or STARTS:
        if recipe not in STARTS:
            sys.exit(f"programs.py: no recipe {recipe}; expected {', '.join(STARTS)}")
        folder, starts = STARTS[recipe]
        missing = [start for start in starts if not os.path.isfile(os.path.join(kaldi, folder, start))]
        if missing:
            sys.exit(f"programs.py: {kaldi}/{folder} has no {', '.join(missing)}")
        texts = followed(os.path.join(kaldi, folder), starts)
        found = sorted(programs.intersection(set().union(*map(words, texts.values()))))
        with open(os.path.join(out, recipe + ".txt"), "w", encoding="utf-8") as f:
            f.write("".join(name + "\n" for name in found))
        print(f"{recipe}: {len(found)} programs in {len(texts)} scripts")


def main(arguments):
    if arguments[:1] == ["--write"] and len(arguments) > 1:
        return write_lists(arguments[1], arguments[2:])
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stdout if arguments[:1] in (["--help"], ["-h"]) else sys.stderr)
        return 0 if arguments[:1] in (["--help"], ["-h"]) else 2
    return report(arguments[0], arguments[1:])


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as head, has enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    sys.exit(status)
