#!/usr/bin/env python3
"""Counts sentences of doc comments that begin with What, Whether, How, Who, Where, Which, When or Why.

    dev/lint-prose.py [--all] [FOLDER]

FOLDER is the root of the repository; the default is the folder above this script. Prints one line a crate: doc lines,
such sentences, and their share. With --all, prints each such sentence with its file and line. The status is 1 if the
share of all crates together is above BOUND. A sentence begins at the start of a comment or a paragraph, or after a
full stop. Only files that git knows are read.
"""

import re
import subprocess
import sys
from pathlib import Path

BOUND = 0.01
BEGINNING = re.compile(r"[*(\[`_]*(What|Whatever|Whether|How|Who|Whoever|Whom|Whose|Where|Which|When|Why)\b")
COMMENT = re.compile(r"\s*//[/!](?: (.*))?$")
ITEM = re.compile(r"([*-]|\d+\.) ")


def sentences(path):
    """Yields (line, text) of each sentence of the file's doc comments, with its first line's text, and None for other doc lines."""
    previous, fenced = "", False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        match = COMMENT.match(line)
        if not match:
            previous, fenced = "", False
            continue
        raw = match.group(1) or ""
        text = raw.strip()
        begins = not previous or previous.endswith((".", "!", "?")) or ITEM.match(text)
        yield number, None
        if text.startswith("```"):
            fenced = not fenced
        elif text and not fenced and not raw.startswith("    "):
            if begins:
                yield number, ITEM.sub("", text, count=1)
            for stop in re.finditer(r"[.!?] (?=[A-Z*(\[`_])", text):
                yield number, text[stop.end() :]
            previous = text
            continue
        previous = ""


def crate_of(path):
    return "/".join(path.parts[:2]) if path.parts[0] == "crates" else path.parts[0]


def main(arguments):
    show = "--all" in arguments
    folders = [argument for argument in arguments if argument != "--all"]
    if len(folders) > 1 or any(folder.startswith("-") for folder in folders):
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(folders[0] if folders else Path(__file__).resolve().parent.parent)
    listed = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.rs"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    lines, found = {}, {}
    for path in sorted(Path(name) for name in names if name and (root / name).exists()):
        crate = crate_of(path)
        for number, text in sentences(root / path):
            if text is None:
                lines[crate] = lines.get(crate, 0) + 1
            elif BEGINNING.match(text):
                found[crate] = found.get(crate, 0) + 1
                if show:
                    print(f"{path}:{number}: {text}")
    for crate, count in lines.items():
        print(f"{crate:30} {count:6} doc lines {found.get(crate, 0):4}   {found.get(crate, 0) / count:6.1%}")
    total, bad = sum(lines.values()), sum(found.values())
    share = bad / total if total else 0.0
    print(f"{'all':30} {total:6} doc lines {bad:4}   {share:6.1%}")
    if share > BOUND:
        print(f"{bad} sentences begin with a relative word, above {BOUND:.0%} of {total} doc lines; --all shows them", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
