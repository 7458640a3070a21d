#!/usr/bin/env python3
"""Checks the relative links of all Markdown files that git knows.

    dev/lint-links.py [FOLDER]

FOLDER is the root of the repository; the default is the folder above this script. Prints a line for each link to a
file that does not exist, and for each anchor that no heading of the linked page has. The status is 1 if there is one.
Code blocks and code spans are not read.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\]\(<?([^()\s<>]+)>?(?: \"[^\"]*\")?\)")
FENCE = re.compile(r"\s*(```|~~~)")
HEADING = re.compile(r"#{1,6} +(.*?)(?: +#+)?$")


def text_of(path):
    """Yields (line number, line) outside code blocks, without code spans."""
    fence, blank = None, True
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        match = FENCE.match(line)
        if match and fence in (None, match[1]):
            fence = None if fence else match[1]
        elif not fence and not (blank and line.startswith("    ")):
            yield number, line
        # A block of indented code begins after an empty line and may hold others.
        blank = not line.strip() or (blank and line.startswith("    "))


def anchors(path):
    """Returns the anchors of the page's headings, as GitHub makes them."""
    found, count = set(), {}
    for _, line in text_of(path):
        match = HEADING.match(line)
        if match:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
            anchor = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).replace(" ", "-")
            again = count.get(anchor, 0)
            count[anchor] = again + 1
            found.add(f"{anchor}-{again}" if again else anchor)
        found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
    return found


def main(arguments):
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(arguments[0] if arguments else Path(__file__).resolve().parent.parent)
    listed = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    pages = [root / name for name in names if name and (root / name).is_file()]
    links, faults = 0, 0
    for page in pages:
        for number, line in text_of(page):
            for target in LINK.findall(re.sub(r"`[^`]*`", lambda span: " " * len(span[0]), line)):
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                links += 1
                name, _, anchor = target.partition("#")
                other = Path(os.path.normpath(page.parent / name)) if name else page
                if not other.exists():
                    fault = "no such file"
                elif anchor and other.suffix == ".md" and anchor not in anchors(other):
                    fault = f"no heading of {other.relative_to(root)} has this anchor"
                else:
                    continue
                faults += 1
                print(f"{page.relative_to(root)}:{number}: {target}: {fault}")
    print(f"{len(pages)} pages, {links} links, {faults} broken")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
