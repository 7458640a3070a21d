#!/usr/bin/env python3
"""Prints the third-party crates that `cargo nextest run -p CRATE` compiles again after a build of the workspace.

Usage: feature-sets.py
A crate is compiled again if it has other features for a package alone than for the workspace. crates/workspace-hack/Cargo.toml
asks for the features of the workspace in all packages. Status 1 if something is compiled again."""

import collections
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def features(*selection: str) -> dict[str, set[str]]:
    """The features of each third-party crate; several sets if build scripts have others than programs."""
    command = ["cargo", "tree", "--prefix=none", "--no-dedupe", "--format={p}\t{f}", "--edges=normal,build,dev", *selection]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    found = collections.defaultdict(set)
    for crate, separator, names in (line.partition("\t") for line in lines):
        if separator and "(/" not in crate:
            found[crate.replace(" (proc-macro)", "")].add(names.replace(" (*)", ""))
    return found


def main() -> int:
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    whole = features("--workspace")
    status = 0
    for folder in sorted(path.parent for path in ROOT.glob("crates/*/Cargo.toml")):
        alone = features(f"--package={folder.name}")
        # (A crate that only a build script or only a program of this package needs has one of the sets.)
        again = sorted(crate for crate, sets in alone.items() if not sets <= whole[crate])
        if again:
            print(f"{folder.name}: {', '.join(again)}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
