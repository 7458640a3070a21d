#!/usr/bin/env python3
"""The lists of transcribe_many.sh: names of recordings, batches of those without a text, and the results together.

    many.py names LIST OUT SUFFIX WORK        names the recordings of LIST; removes texts of other or of changed recordings
    many.py batches OUT SUFFIX SIZE WORK      makes folders of links to the recordings without a text; prints their number
    many.py collect OUT SUFFIX WORK           joins the texts; writes failed and results.tsv; prints both numbers, and a table

OUT/names has the recordings of LIST in their order, a name and a path. OUT/recordings has all recordings with a text: name, path, size
and time of change. A name belongs to one path as long as LIST has that path.
"""

import os
import re
import sys
from collections import defaultdict
from pathlib import Path

from plain_text import NotText, lines_of

LONGEST = 150  # bytes of a name
SHOWN = 20  # rows of the table
UNKNOWN = ("", "")  # size and time of a recording that is not there


def fail(sentence):
    sys.exit(f"transcribe_many.sh: {sentence}")


def say(sentence):
    print(f"transcribe_many.sh: {sentence}", file=sys.stderr)


def plain(name):
    """The name with _ for characters that mean something to a shell or separate columns; it does not begin with a dot, nor is it too long."""
    name = re.sub(r"[^\w.+=@%-]", "_", name).lstrip("-.")
    return name.encode()[:LONGEST].decode(errors="ignore") or "_"


def read_list(listing):
    """[(given name or "", path)]"""
    found, blanks = [], None
    for number, line in lines_of(listing):
        given, _, path = line.rpartition("\t")
        given, path = given.strip(), path.strip()
        if not path:
            continue
        if "\0" in path:
            fail(f"{listing}, line {number}: expected a file, found a name with a zero byte")
        if not os.path.exists(path):
            if path.endswith("|"):
                fail(f"{listing}, line {number}: expected a file, found a command")
            if not given and " " in path and os.path.exists(path.split(None, 1)[1]):
                blanks = blanks or number
        found.append((given, os.path.abspath(path)))
    if blanks:
        fail(f"{listing}, line {blanks}: there is no such file; a tab, not a blank, separates a name and a file")
    if not found:
        fail(f"{listing}: there are no recordings")
    return found


def read_rows(path):
    """Rows of columns with tabs between them; none if there is no such file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [line.split("\t") for line in text.split("\n") if line]


def write_rows(path, rows):
    Path(path).write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def stamp(path):
    """Size and time of change of a file, as texts."""
    try:
        status = os.stat(path)
    except OSError:
        return UNKNOWN
    return str(status.st_size), str(status.st_mtime_ns)


def is_of(name, base):
    """True of the base itself, and of the base with a number behind it."""
    return name == base or re.fullmatch(re.escape(base) + r"-[0-9]+", name) is not None


def give_names(recordings, known):
    """A name for each recording: that of the last time, if its path is the same; else that of LIST or of the file, with a number if it is taken."""
    before = defaultdict(list)
    for name, path in known:
        before[path].append(name)
    bases = [plain(given or Path(path).stem) for given, path in recordings]
    names, taken = [None] * len(recordings), set()

    def take(i, name):
        names[i] = name
        taken.add(name)

    for wanted in (True, False):  # names of LIST come first
        rows = [i for i, (given, _) in enumerate(recordings) if bool(given) == wanted]
        for i in rows:
            old = [name for name in before[recordings[i][1]] if is_of(name, bases[i]) and name not in taken]
            if old and not (wanted and old[0] != bases[i] and bases.count(bases[i]) == 1):
                take(i, old[0])
        for i in rows:
            name, count = bases[i], 2
            while names[i] is None:
                if name not in taken:
                    take(i, name)
                name, count = f"{bases[i]}-{count}", count + 1
    return names


def names(listing, to, suffix, work):
    recordings = read_list(listing)
    rows = read_rows(f"{to}/recordings")
    if any(len(row) != 4 for row in rows):
        fail(f"{to}/recordings: expected lines of a name, a path, a size and a time")
    old = {name: (path, size, time) for name, path, size, time in rows}
    for row in read_rows(f"{to}/names"):  # of a folder that an earlier version made
        text = Path(to, "texts", f"{row[0]}.{suffix}")
        if len(row) == 2 and row[0] not in old and text.exists():
            now = stamp(row[1])
            if now != UNKNOWN and int(now[1]) < text.stat().st_mtime_ns:
                old[row[0]] = (row[1], *now)
    found = give_names(recordings, [(name, path) for name, (path, *_) in old.items()])
    again = 0
    for name, (_, path) in zip(found, recordings):
        now = stamp(path)
        is_same = name in old and old[name][0] == path and (now == UNKNOWN or old[name][1:] == now)
        if is_same:
            continue  # a recording that is gone keeps its text
        text = Path(to, "texts", f"{name}.{suffix}")
        if text.exists() or text.is_symlink():
            text.unlink()
            again += 1
        old[name] = (path, *now)
    if again:
        say(f"{again} texts are those of other recordings, or of recordings that have changed since: they are made again")
    write_rows(f"{work}/names", [(name, path) for name, (_, path) in zip(found, recordings)])
    write_rows(f"{work}/recordings", [(name, *rest) for name, rest in old.items()])
    os.replace(f"{work}/recordings", f"{to}/recordings")
    os.replace(f"{work}/names", f"{to}/names")


def text_of(to, name, suffix):
    return Path(to, "texts", f"{name}.{suffix}")


def batches(to, suffix, size, work):
    """Makes folders 1, 2, … of links to recordings without a text; prints their number."""
    left = [(name, path) for name, path in read_rows(f"{to}/names") if not text_of(to, name, suffix).exists()]
    count = -(-len(left) // int(size))
    for i, (name, path) in enumerate(left):
        folder = Path(work, "batches", str(i % count + 1))
        folder.mkdir(parents=True, exist_ok=True)
        extension = plain(Path(path).suffix)[:20] if Path(path).suffix else "sound"
        os.symlink(path, folder / f"{name}.{extension.lstrip('.')}")
    print(count)


def reasons(to, work):
    """{name: why it has no text}, from the logs of this call."""
    found = {}
    for log in sorted(Path(to, "log").glob("try*.log"), key=lambda path: path.stat().st_mtime):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            place = line.find(f"{work}/batches/") if "WARNING" in line or "ERROR" in line else -1
            if place >= 0:
                file, _, why = line[place:].partition(": ")
                found[Path(file).stem] = why.replace(f"{work}/batches/", "").replace("\t", " ") or "see the logs"
    return found


def collect(to, suffix, work):
    """Joins the texts in their order (but subtitles, which begin anew), and lists recordings without one."""
    joins = suffix not in ("srt", "vtt")
    why, rows = reasons(to, work), []
    with open(f"{work}/text", "w", encoding="utf-8") as text:
        for name, path in read_rows(f"{to}/names"):
            try:
                content = text_of(to, name, suffix).read_text(encoding="utf-8")
            except FileNotFoundError:
                reason = why.get(name, "see the logs") if os.path.exists(path) else "there is no such file"
                rows.append((name, "no text", "", path, reason))
                continue
            if joins:
                text.write(content)
            words = str(max(0, len(content.split()) - content.count("\n"))) if suffix == "txt" else ""
            rows.append((name, "text", words, path, ""))
    missing = [row for row in rows if row[1] != "text"]
    write_rows(f"{work}/failed", [(name, path) for name, _, _, path, _ in missing])
    write_rows(f"{work}/results.tsv", [("name", "result", "words", "file", "reason"), *rows])
    for file in ("failed", "results.tsv", *(["text"] if joins else [])):
        os.replace(f"{work}/{file}", f"{to}/{file}")
    show(missing + [row for row in rows if row[1] == "text"])
    print(len(rows) - len(missing), len(missing))


def show(rows):
    """A table of the first results on standard error; those without a text come first."""
    shown = [(name, result, words, reason or path) for name, result, words, path, reason in rows[:SHOWN]]
    table = [("recording", "result", "words", "file, or reason"), *shown]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print("  ".join([*cells, row[3]]).rstrip(), file=sys.stderr)
    if len(rows) > SHOWN:
        print(f"… and {len(rows) - SHOWN} more", file=sys.stderr)


if __name__ == "__main__":
    try:
        {"names": names, "batches": batches, "collect": collect}[sys.argv[1]](*sys.argv[2:])
    except NotText as error:
        fail(error)
    except UnicodeError as error:
        fail(f"a file of results is not UTF-8: {error}")
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
