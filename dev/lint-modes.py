#!/usr/bin/env python3
"""Finds tracked files that begin with #! and cannot be run as commands, and files that can be run and lack that line.

Scripts that others only source have no line with #!. The mode is the one that git has, as checkouts get that one.

Usage: lint-modes.py
       lint-modes.py --expect    succeeds if the rule finds exactly the wrong ones of a made-up list
"""

import subprocess
import sys
from pathlib import Path


def problem(mode, first):
    """A clause about a file of this mode with these first bytes; None if they fit each other."""
    # (#![…] is an attribute of Rust.)
    is_script = first.startswith(b"#!") and not first.startswith(b"#![")
    if is_script and mode == "100644":
        return "it begins with #!, and its mode is 100644: chmod +x"
    if mode == "100755" and not is_script and not first.startswith(b"\x7fELF"):
        return "its mode is 100755, and it does not begin with #!"
    return None


def first_bytes(path):
    """The beginning of a file; empty for one that is gone from the folder."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(4)


def main():
    if sys.argv[1:] == ["--expect"]:
        sample = [("100755", b"#!/u"), ("100644", b"#!/u"), ("100644", b"#![n"), ("100644", b"# a "), ("100755", b"# a ")]
        found = [problem(mode, first) is not None for mode, first in sample]
        return int(found != [False, True, False, False, True])
    if sys.argv[1:]:
        print(__doc__)
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    root = Path(__file__).resolve().parent.parent
    listing = subprocess.run(["git", "ls-files", "-s", "-z"], cwd=root, check=True, capture_output=True).stdout
    status = 0
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        about, _, name = entry.partition(b"\t")
        name = name.decode(errors="surrogateescape")
        path = root / name
        if path.is_symlink() or not path.exists():
            continue
        found = problem(about.split()[0].decode(), first_bytes(path))
        if found:
            print(f"{name}: {found}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
