#!/usr/bin/env python3
"""Plays the page's wave files in a headless chromium: pictures in the middle of one and at its end, and the words of each.

The words must be those that recognize.py --streaming found, and there must be fewer of them in the middle."""

import argparse
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *_):
        pass


def chromium(url, milliseconds, *options):
    """What chromium prints when that much of the page's time has passed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        sys.exit("try_page.py: there is no chromium; on Debian: apt install chromium")
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--mute-audio", "--hide-scrollbars",
                   "--autoplay-policy=no-user-gesture-required", f"--user-data-dir={profile}", "--window-size=1000,860",
                   f"--virtual-time-budget={milliseconds}", *options, url]
        return subprocess.run(command, capture_output=True, text=True, timeout=300).stdout


def words(page):
    """What is on the page, or the error that it shows."""
    error = re.search(r'data-error="([^"]*)"', page)
    if error:
        sys.exit(f"try_page.py: the page says: {error[1]}")
    found = re.search(r'<p id="words">([^<]*)</p>', page)
    return found[1] if found else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("page", type=Path, help="folder of make_page.py")
    parser.add_argument("pictures", type=Path, help="folder for middle.png and end.png")
    options = parser.parse_args()
    files = json.loads((options.page / "facts.json").read_text())["files"]
    handler = functools.partial(Quiet, directory=str(options.page))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/index.html?play="
    wrong = 0
    for i, file in enumerate(files):
        found = words(chromium(f"{url}{i}", 20000, "--dump-dom"))
        wrong += found != file["text"]
        print(f"page: {file['name']}: {found}" + ("" if found == file["text"] else f" (in Python: {file['text']})"))
    # The file with most words, and what has appeared after half of it.
    longest = max(range(len(files)), key=lambda i: len(files[i]["text"]))
    seconds = os.path.getsize(options.page / f"waves/{files[longest]['name']}.wav") / 32000
    half = f"{url}{longest}&seconds={seconds / 2}"
    middle = words(chromium(half, 20000, "--dump-dom"))
    for name, address in [("middle", half), ("end", f"{url}{longest}")]:
        chromium(address, 20000, f"--screenshot={options.pictures.resolve()}/{name}.png")
    print(f"page: after half of {files[longest]['name']}: {middle}")
    wrong += not (middle and len(middle) < len(files[longest]["text"]))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
