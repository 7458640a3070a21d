#!/usr/bin/env python3
"""Runs decoders, aligners and lattice tools on what the reference had and compares outputs, statuses and log figures with its own.

usage: lattice-figures.py [--only=PREFIX] <folder with our programs> <folder with the figures (NNET3_DECODING_DIR)>

The commands are those of the files commands.txt under lattices/. They run in a copy of the folders' layout, so the figures stay as
they are. A run whose programs are not all there is named and skipped; any difference makes the exit status 1.
"""
import os, re, shlex, subprocess, sys, tempfile

TOLERANCE = 1e-3          # costs, posteriors, times
LATTICES = ("1best", "align-", "copy", "determinize", "lmrescore", "penalty", "prune", "scale", "to-phone-lattice")
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan)")
INFORMATIVE = ("determinize-pruned.maxmem", "bootci")   # estimates of memory, chance
# Where commands run in their own folder; the others run in lattices/ and name the folder.
INSIDE = ("tools", "scoring")
ENVIRONMENT = dict(os.environ)
# Log lines about the network and the machine.
INFORMATION = ("Time taken", "seconds taken", "Timing stats", "orphan", "selected to compute", "components, removed")
RAW = "/raw"   # settings whose lattices are not deterministic


def numbers_agree(a, b):
    x, y = float(a), float(b)
    if x == y or (x != x and y != y):
        return True
    return ("." in a + b or "e" in a + b) and abs(x - y) <= TOLERANCE * max(1.0, abs(x) * 0.1)


def texts_agree(ours, theirs):
    """The first difference, or None. Numbers with a point may differ a little."""
    ours, theirs = ours.splitlines(), theirs.splitlines()
    if len(ours) != len(theirs):
        return f"{len(ours)} lines instead of {len(theirs)}"
    for a, b in zip(ours, theirs):
        if a == b:
            continue
        same = NUMBER.sub("#", a) == NUMBER.sub("#", b) and all(map(numbers_agree, NUMBER.findall(a), NUMBER.findall(b)))
        if not same:
            return f"'{a[:150]}' instead of '{b[:150]}'"
    return None


def messages(log):
    """Program and text of each log line, in the order of programs; in pipes their lines come in any order."""
    found = []
    for line in log.splitlines():
        m = re.match(r"(LOG|WARNING|ERROR) \(([^[]*)\[[^]]*\]:[^)]*\)(?::[^)]*\))? ?(.*)", line)
        if m and not any(text in m[3] for text in INFORMATION):
            found.append((m[2], m[1], m[3]))
    return sorted(found, key=lambda entry: entry[0])


def logs_agree(ours, theirs):
    # Sentences of warnings are ours; how many there are of each program is not compared either.
    a = [f"{p}: {t}" for p, level, t in messages(ours) if level == "LOG"]
    b = [f"{p}: {t}" for p, level, t in messages(theirs) if level == "LOG"]
    return texts_agree("\n".join(a), "\n".join(b))


def lattices_agree(name, ours, theirs, figures):
    out = subprocess.run([sys.executable, f"{figures}/compare_lattices.py", theirs, ours], capture_output=True, text=True)
    if out.returncode == 0:
        return None
    lines = [line for line in out.stdout.splitlines() if ": same" not in line]
    if name.startswith("align"):   # silence makes these nondeterministic: best costs and log sums must agree
        lines = [line for line in lines if not aligned_agree(line)]
        if not lines and out.stdout:
            return None
    return f"{len(lines)} lattices differ: {(lines or [out.stderr[-300:]])[0]}"


def as_text(folder, file, ours, theirs, work):
    """Both lattices as text, raw ones determinized first."""
    texts = []
    for k, name in enumerate((ours, theirs)):
        texts.append(f"{work}/{k}.txt")
        command = ["lattice-copy"]
        if RAW in folder:
            scale = "0.1" if "0.1" in folder else "1.0"
            command = ["lattice-determinize-pruned", f"--acoustic-scale={scale}", "--beam=100"]
        subprocess.run(command + [f"ark:{name}", f"ark,t:{texts[k]}"], check=True, capture_output=True, env=ENVIRONMENT)
    return texts


def decoded_agree(folder, ours, theirs, figures):
    scale = "0.1" if "0.1" in folder else "1.0"
    compare = [sys.executable, f"{figures}/compare_lattices.py", f"--acoustic-scale={scale}", theirs, ours]
    out = subprocess.run(compare, capture_output=True, text=True)
    if out.returncode == 0:
        return None
    lines = [line for line in out.stdout.splitlines() if ": same" not in line]
    return f"{len(lines)} lattices differ: {(lines or [out.stderr[-300:]])[0]}"


def aligned_agree(line):
    m = re.search(r"best (\S+) (\S+), log sum differs by (\S+),", line)
    return m and abs(float(m[1]) - float(m[2])) < 0.01 and float(m[3]) < 0.01


def programs(command):
    words = shlex.split(command, posix=True)
    known = {w for w in re.split(r"[\s|;'\"]+", command) if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|fst[a-z]+", w)}
    return {w for w in known if w in words or f"{w} " in command}


def outputs(command, folder, figures):
    """Files of the reference that this command writes."""
    if folder not in INSIDE:
        names = re.findall(rf"(?:ark(?:,t)?:|\s){re.escape(folder)}/(\S+)", command)
    else:
        names = re.findall(r"(?:ark(?:,t)?:|> |\s)([\w.+-]+\.[\w.+-]+)(?=\s|$)", command)
    return sorted(name for name in set(names) - set(inputs(folder, figures)) if os.path.exists(f"{figures}/lattices/{folder}/{name}"))


def compare(name, folder, file, work, figures):
    ours, theirs = f"{work}/lattices/{folder}/{file}", f"{figures}/lattices/{folder}/{file}"
    if not os.path.exists(ours):
        return "not written"
    if file.endswith(".carpa"):
        return None if open(ours, "rb").read() == open(theirs, "rb").read() else "bytes differ"
    if file.endswith(".txt") and folder == "tools" and name.startswith(LATTICES):
        return lattices_agree(name, ours, theirs, figures)
    if file.endswith(".lat") or (folder == "edge" and file.endswith(".txt")):
        return decoded_agree(folder, *as_text(folder, file, ours, theirs, work), figures)
    a, b = open(ours).read(), open(theirs).read()
    return (None if a == b else texts_agree(a, b) or "other bytes") if folder == "scoring" else texts_agree(a, b)


def folders(figures):
    """Those with commands but for data/, which all read, as paths below lattices/."""
    found = []
    for parent, _, files in os.walk(f"{figures}/lattices"):
        if "commands.txt" in files:
            found.append(os.path.relpath(parent, f"{figures}/lattices"))
    return sorted(folder for folder in found if folder != "data")


def inputs(folder, figures):
    """Files of a folder that are read and not written by its commands."""
    there = [f for f in os.listdir(f"{figures}/lattices/{folder}") if f != "commands.txt" and not f.endswith(".log")]
    if folder == "tools":
        return ["include.txt", "digits.bi.carpa", "commands.tri.carpa"]
    if folder == "scoring":
        return [f for f in there if f.endswith(".txt")]
    return [f for f in there if f in ("loglikes.ark", "wrong.fsts")]


def main():
    only, args = "", []
    for arg in sys.argv[1:]:
        if arg.startswith("--only="): only = arg[7:]
        else: args.append(arg)
    if len(args) != 2:
        sys.exit(__doc__)
    bin_folder, figures = map(os.path.abspath, args)
    ENVIRONMENT["PATH"] = f"{bin_folder}:{ENVIRONMENT['PATH']}"
    counts = {"passed": 0, "skipped": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as work:
        os.makedirs(f"{work}/lattices")
        os.symlink(f"{figures}/graphs", f"{work}/graphs")
        all_folders = folders(figures)
        for entry in os.listdir(f"{figures}/lattices"):
            if entry not in {folder.split("/")[0] for folder in all_folders}:
                os.symlink(f"{figures}/lattices/{entry}", f"{work}/lattices/{entry}")
        for folder in all_folders:
            os.makedirs(f"{work}/lattices/{folder}")
            for line in open(f"{figures}/lattices/{folder}/commands.txt"):
                name, command = line.rstrip("\n").split(": ", 1)
                command, _, status = command.partition("    [exit status ")
                for file in inputs(folder, figures):
                    if not os.path.exists(f"{work}/lattices/{folder}/{file}") and f" {file}" not in command.split(">")[-1]:
                        data = open(f"{figures}/lattices/{folder}/{file}", "rb").read()
                        open(f"{work}/lattices/{folder}/{file}", "wb").write(data)
                if not f"{folder}/{name}".startswith(only):
                    continue
                missing = [p for p in programs(command) if re.match("lattice|nbest|arpa|compute|align|latgen|fst|nnet3|ali-", p)
                           and not os.path.exists(f"{bin_folder}/{p}")]
                if missing:
                    print(f"SKIPPED {folder}/{name}: no {', '.join(missing)}"); counts["skipped"] += 1
                    continue
                where = f"{work}/lattices/{folder}" if folder in INSIDE else f"{work}/lattices"
                run = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=where, env=ENVIRONMENT,
                                     capture_output=True, text=True)
                problems = []
                wanted = int(status.rstrip("]")) if status else 0
                if run.returncode != wanted:
                    problems.append(f"status {run.returncode} instead of {wanted}: {run.stderr[-400:]}")
                for file in outputs(command, folder, figures) if not problems else []:
                    if name in INFORMATIVE: continue
                    why = compare(name, folder, file, work, figures)
                    if why: problems.append(f"{file}: {why}")
                log = f"{figures}/lattices/{folder}/{name}.log"
                if os.path.exists(log) and not problems and not wanted and name not in INFORMATIVE:
                    why = logs_agree(run.stderr, open(log).read())
                    if why: problems.append(f"log: {why}")
                counts["failed" if problems else "passed"] += 1
                print(f"{'FAILED' if problems else 'ok'} {folder}/{name}" + "".join(f"\n    {p}" for p in problems))
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    sys.exit(1 if counts["failed"] else 0)


main()
