#!/usr/bin/env python3
"""The lists of transcribe_many.sh: names of recordings, batches of those without a text, and the texts together."""

import os
import re
import sys
from pathlib import Path

from plain_text import NotText, lines_of


def fail(sentence):
    sys.exit(f"transcribe_many.sh: {sentence}")


def plain(name):
    """The name with _ for characters that mean something to a shell or separate columns."""
    return re.sub(r"[^\w.+=@%-]", "_", name).lstrip("-.") or "_"


def names(listing, out):
    """Writes lines `name path`, with a tab between; names are those of the files, and differ."""
    taken, lines = set(), []
    for number, line in lines_of(listing):
        given, tab, path = line.strip("\r\n").rpartition("\t")
        if not path.strip():
            continue
        path = os.path.abspath(path.strip())
        if line.rstrip().endswith("|"):
            fail(f"{listing}, line {number}: expected a file, found a command")
        base = name = plain(given.strip() if tab and given.strip() else Path(path).stem)
        count = 2
        while name in taken:
            name, count = f"{base}-{count}", count + 1
        taken.add(name)
        lines.append(f"{name}\t{path}\n")
    if not lines:
        fail(f"{listing}: there are no recordings")
    Path(out).write_text("".join(lines), encoding="utf-8")


def read_names(path):
    return [line.rstrip("\n").split("\t", 1) for line in Path(path).read_text(encoding="utf-8").splitlines(True)]


def batches(listing, texts, suffix, size, out):
    """Makes folders 1, 2, … of links to recordings without a text; prints their number."""
    left = [(name, path) for name, path in read_names(listing) if not Path(texts, f"{name}.{suffix}").exists()]
    count = -(-len(left) // int(size))
    for i, (name, path) in enumerate(left):
        folder = Path(out, str(i % count + 1))
        folder.mkdir(parents=True, exist_ok=True)
        extension = plain(Path(path).suffix) if Path(path).suffix else "sound"
        os.symlink(path, folder / f"{name}.{extension.lstrip('.')}")
    print(count)


def collect(listing, texts, suffix, to, work):
    """Joins the texts in their order (but subtitles, which begin anew), and lists recordings without one; prints both numbers."""
    there = missing = 0
    with open(f"{work}/text", "w", encoding="utf-8") as text, open(f"{work}/failed", "w", encoding="utf-8") as failed:
        for name, path in read_names(listing):
            file = Path(texts, f"{name}.{suffix}")
            if file.exists():
                there += 1
                if suffix not in ("srt", "vtt"):
                    text.write(file.read_text(encoding="utf-8"))
            else:
                missing += 1
                failed.write(f"{name}\t{path}\n")
    os.replace(f"{work}/failed", f"{to}/failed")
    if suffix not in ("srt", "vtt"):
        os.replace(f"{work}/text", f"{to}/text")
    print(there, missing)


if __name__ == "__main__":
    try:
        {"names": names, "batches": batches, "collect": collect}[sys.argv[1]](*sys.argv[2:])
    except NotText as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
