#!/usr/bin/env python3
"""Measures the structure of the source code, at one or more commits.

    dev/house-figures.py [COMMIT …]

The default is HEAD. Prints a table with a column a commit:

  lines         Rust lines of all crates, of src without the programs, and of the programs; without tests
  files of src  files directly in src, and in src/bin
  families      folders of src/bin, and programs in them
  largest file  the file with most lines that is no test
  imports       pairs of files of one crate, of which one imports the other by `use crate::` or `use super::`
  circles       groups of files of one crate that import each other, and the size of the largest
  public        items declared `pub` in crates, and those whose name no other crate and no program mentions
  relative      sentences of doc comments that begin with What, Whether, How, …: see lint-prose.py
  long          sentences of doc comments with more than 25 words

Files are read from git; the working tree is left alone. Rust is parsed by lines: the numbers compare commits with
each other, they are not those of a compiler.
"""

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

TEST = re.compile(r"(^|/)(tests?|benches)(/|\.rs$)|_tests?\.rs$|(^|/)tests/|^(crates/[^/]+/)?examples/")
ITEM = re.compile(r"^\s*pub (?:const )?(?:unsafe )?(?:fn|struct|enum|trait|type|const|static) (?:mut )?([A-Za-z_][A-Za-z0-9_]*)")
USE = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?use (crate|super)((?:::[a-z_0-9]+)*)")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def prose():
    """The module lint-prose.py."""
    path = Path(__file__).resolve().parent / "lint-prose.py"
    spec = importlib.util.spec_from_file_location("lint_prose", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def production(lines):
    """The lines before the first test module."""
    for number, line in enumerate(lines):
        if line.strip() == "#[cfg(test)]" and number + 1 < len(lines) and lines[number + 1].strip().startswith("mod "):
            return lines[:number]
    return lines


def part_of(path):
    """The crate of a file, or src or src/bin."""
    if path.startswith("crates/"):
        return "/".join(path.split("/")[:2])
    return "src/bin" if path.startswith("src/bin/") else "src"


def module_files(files):
    """Files by (crate root, module path)."""
    found = {}
    for path in files:
        root, _, inner = path.partition("/src/") if path.startswith("crates/") else ("", "", path.removeprefix("src/"))
        names = inner.removesuffix(".rs").split("/")
        if names[-1] in ("mod", "lib", "main"):
            names.pop()
        found[root, tuple(names)] = path
    return found


def re_exported(modules, files):
    """Files by (crate root, path without the first module) of private modules, whose contents crates re-export at their root."""
    found = {}
    for (root, names), path in modules.items():
        lib = files.get(modules.get((root, ()), ""), [])
        if len(names) > 1 and f"mod {names[0]};" in lib:
            found[root, names[1:]] = path
    return found


def imports(files):
    """Pairs (file, imported file) within a crate."""
    modules = module_files(files)
    known = re_exported(modules, files) | modules
    pairs = set()
    for (root, place), path in modules.items():
        for line in files[path]:
            match = USE.match(line)
            if not match:
                continue
            names = tuple(name for name in match.group(2).split("::") if name)
            start = () if match.group(1) == "crate" else place[:-1]
            while names and names[0] == "super":
                start, names = start[:-1], names[1:]
            target = start + names
            while target and (root, target) not in known:
                target = target[:-1]
            other = known.get((root, target))
            if target and other and other != path:
                pairs.add((path, other))
    return pairs


def circles(pairs):
    """Strongly connected groups of more than one file (Tarjan, 1972). A folder's mod.rs and its files count as files."""
    graph = defaultdict(list)
    for a, b in pairs:
        graph[a].append(b)
    index, low, stack, on, groups = {}, {}, [], set(), []

    def visit(root):
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    if len(group) > 1:
                        groups.append(group)

    for node in list(graph):
        if node not in index:
            visit(node)
    return groups


def public_items(files):
    """Numbers of public items of crates: all, and those that only their own crate mentions."""
    declared, mentioned = defaultdict(set), defaultdict(set)
    for path, lines in files.items():
        part = part_of(path)
        for line in lines:
            if path.startswith("crates/") and (match := ITEM.match(line)):
                declared[part].add(match.group(1))
            if not line.lstrip().startswith("//"):
                for word in WORD.findall(line):
                    mentioned[word].add("src" if part == "src/bin" else part)
    total = sum(len(names) for names in declared.values())
    own = sum(1 for part, names in declared.items() for name in names if mentioned[name] <= {part})
    return total, own


def figures(root):
    """Rows of the table for a tree."""
    everything = {}
    for path in sorted(root.rglob("*.rs")):
        name = path.relative_to(root).as_posix()
        if name.startswith(("crates/", "src/")):
            everything[name] = path.read_text(encoding="utf-8").split("\n")
    files = {path: production(lines) for path, lines in everything.items() if not TEST.search(path)}
    lines, crates = defaultdict(int), {part_of(path) for path in files if path.startswith("crates/")}
    for path, text in files.items():
        lines["crates" if path.startswith("crates/") else part_of(path)] += len(text)
    largest = max(files, key=lambda path: len(files[path]))
    programs = [path.split("/")[2:] for path in files if path.startswith("src/bin/")]
    families = {names[0] for names in programs if len(names) > 1}
    pairs = imports({path: text for path, text in files.items() if not path.startswith("src/bin/")})
    groups = circles(pairs)
    total, own = public_items({**everything, **files})
    lint = prose()
    doc = relative = long = 0
    for name in everything:
        for _, text in lint.sentences(root / name):
            if text is None:
                doc += 1
            elif lint.BEGINNING.match(text):
                relative += 1
            if text and len(text.split()) > 25:
                long += 1
    return {
        "lines of crates": f"{lines['crates']} in {len(crates)} crates",
        "lines of src": lines["src"],
        "lines of programs": lines["src/bin"],
        "files of src": sum(1 for path in files if re.fullmatch(r"src/[^/]+\.rs", path)),
        "files of src/bin": sum(1 for names in programs if len(names) == 1),
        "families": f"{len(families)}, {sum(1 for n in programs if len(n) > 1 and n[-1] != 'mod.rs')} files",
        "largest file": f"{len(files[largest])} {largest}",
        "imports": len(pairs),
        "circles": f"{len(groups)}, largest {max(map(len, groups), default=0)}",
        "public items": f"{total}, {own} of one crate",
        "relative": f"{relative} of {doc} doc lines",
        "long": long,
    }


def main(arguments):
    if any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 0 if arguments[0] in ("--help", "-h") else 2
    repository = Path(__file__).resolve().parent.parent
    columns = []
    for commit in arguments or ["HEAD"]:
        with tempfile.TemporaryDirectory() as folder:
            archive = ["git", "-C", str(repository), "archive", commit, "--", "crates", "src"]
            with subprocess.Popen(archive, stdout=subprocess.PIPE) as packed:
                subprocess.run(["tar", "-x", "-C", folder], stdin=packed.stdout, check=True)
            if packed.returncode:
                return 1
            columns.append(figures(Path(folder)))
    names = list(columns[0])
    print("\t".join(["", *(arguments or ["HEAD"])]))
    for name in names:
        print("\t".join([name, *(str(column[name]) for column in columns)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
