#!/usr/bin/env python3
"""Whether two FSTs, ilabel files or lists are the same. Prints what differs; the status says whether anything does.

usage: compare-fsts.py text A.txt B.txt      line by line, numbers within 1e-4 (FSTs as fstprint shows them)
       compare-fsts.py bytes A B             but for the properties in the header of an FST
       compare-fsts.py numbers A B TOLERANCE line by line, numbers within TOLERANCE
       compare-fsts.py sizes A.txt B.txt     numbers of states and arcs within 3 per cent
       compare-fsts.py relabel A.txt ILABELS_A ILABELS_B > B.txt
                                             input labels of A as they are in B, by what they stand for
"""
import struct
import sys

SIZE_TOLERANCE = 0.03


def is_close(a, b, relative, absolute):
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return x == y or abs(x - y) <= max(relative * max(abs(x), abs(y)), absolute)


def same_lines(a, b, relative, absolute):
    with open(a) as first, open(b) as second:
        lines = first.read().splitlines(), second.read().splitlines()
    if len(lines[0]) != len(lines[1]):
        return f"{len(lines[0])} and {len(lines[1])} lines"
    for number, (one, other) in enumerate(zip(*lines), 1):
        columns = one.split(), other.split()
        if len(columns[0]) != len(columns[1]) or not all(
            x == y or ("." in x + y or "e" in x + y) and is_close(x, y, relative, absolute) for x, y in zip(*columns)
        ):
            return f"line {number}: '{one}' and '{other}'"
    return None


def content(name):
    """The bytes of a file; in an FST the properties are made 0."""
    with open(name, "rb") as file:
        data = bytearray(file.read())
    if data[:4] == bytes.fromhex("d6fdb27e"):
        at = 4
        for _ in range(2):
            at += 4 + struct.unpack_from("<i", data, at)[0]
        data[at + 8 : at + 16] = bytes(8)
    return data


def same_bytes(a, b):
    a, b = content(a), content(b)
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} bytes"
    differing = [i for i in range(len(a)) if a[i] != b[i]]
    return f"{len(differing)} bytes, the first at {differing[0]}" if differing else None


def size(name):
    with open(name) as file:
        lines = [line.split() for line in file]
    states = {line[0] for line in lines} | {line[1] for line in lines if len(line) > 2}
    return len(states), sum(len(line) > 2 for line in lines)


def same_sizes(a, b):
    a, b = size(a), size(b)
    near = all(abs(x - y) <= max(SIZE_TOLERANCE * y, 1) for x, y in zip(a, b))
    return None if near else f"states and arcs: {a} and {b}"


def windows(name):
    """The windows of an ilabel file in binary form."""
    with open(name, "rb") as file:
        data = file.read()
    assert data[:3] == b"\0B\4", f"{name} is no binary ilabel file"
    (count,) = struct.unpack_from("<i", data, 3)
    at, out = 7, []
    for _ in range(count):
        assert data[at] == 4, f"{name}: no integer vector at byte {at}"
        (n,) = struct.unpack_from("<i", data, at + 1)
        out.append(struct.unpack_from(f"<{n}i", data, at + 5))
        at += 5 + 4 * n
    return out


def relabel(name, from_labels, to_labels):
    ours, theirs = windows(from_labels), {w: i for i, w in enumerate(windows(to_labels))}
    with open(name) as file:
        for line in file:
            columns = line.split()
            if len(columns) > 2:
                columns[2] = str(theirs[ours[int(columns[2])]])
            print(*columns, sep="\t")


def main():
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__)
        sys.exit()
    mode, *names = sys.argv[1:] or [""]
    if mode not in ("text", "bytes", "numbers", "sizes", "relabel"):
        sys.exit(f"compare-fsts.py: unknown mode '{mode}'; --help says what there is")
    if mode == "relabel":
        relabel(*names)
        return 0
    if mode == "text":
        difference = same_lines(*names, 1e-4, 1e-6)
    elif mode == "numbers":
        difference = same_lines(names[0], names[1], 0.0, float(names[2]))
    else:
        difference = {"bytes": same_bytes, "sizes": same_sizes}[mode](*names)
    if difference:
        print(difference)
    return 1 if difference else 0


sys.exit(main())
