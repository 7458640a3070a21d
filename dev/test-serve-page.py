#!/usr/bin/env python3
"""Tests the page of nnet3-serve in a headless Chromium whose microphone plays a recording.

    dev/test-serve-page.py [--chromium=/usr/bin/chromium] [--pictures=FOLDER] URL SOUND.wav

Needs a running server with a model of the recording's language and the Python package playwright. It checks that the
microphone and a file give words, that no error or breach of the content-security-policy is reported, that all controls
have names and can be reached with the keyboard, and that texts have a contrast of 4.5 or more, light and dark. With
--pictures, it writes what it saw.
"""

import argparse
import re
from pathlib import Path

from playwright.sync_api import sync_playwright


def luminance(color):
    """The relative luminance of rgb(r, g, b), by WCAG 2."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


# The color and the background of each visible element with text of its own.
COLORS = """() => [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !['SCRIPT', 'STYLE'].includes(e.tagName)
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).map((e) => {
  let behind = e;
  while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
  return [e.id || e.className || e.tagName, getComputedStyle(e).color, behind ? getComputedStyle(behind).backgroundColor : 'rgb(255, 255, 255)'];
})"""


def check_colors(page, scheme):
    for name, color, background in page.evaluate(COLORS):
        found = contrast(color, background)
        assert found >= 4.5, f"{scheme}: {name}: {color} on {background} has a contrast of {found:.2f}"


def check_keyboard(page):
    reached = []
    page.keyboard.press("Tab")
    for _ in range(10):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    for wanted in ["speak", "file", "words", "copy", "clear", "SUMMARY"]:
        assert wanted in reached, f"{wanted} is not among {reached}"
    for role, name in [("button", "Start microphone"), ("meter", "Level"), ("log", "Words"), ("button", "Copy text")]:
        assert page.get_by_role(role, name=name).count() == 1, f"{role} {name}"
    assert page.get_by_label("Choose a recording…").count() == 1


def words(page):
    return " ".join(page.locator("#words p:not(.so-far)").all_inner_texts())


def main(options):
    complaints = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.chromium,
            args=[
                "--no-sandbox",
                "--use-fake-ui-for-media-stream",
                "--use-fake-device-for-media-stream",
                f"--use-file-for-fake-audio-capture={Path(options.sound).resolve()}%noloop",
            ],
        )
        for scheme in ["light", "dark"]:
            page = browser.new_context(color_scheme=scheme, permissions=["microphone"]).new_page()
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(options.url)
            check_keyboard(page)
            page.click("#speak")
            page.locator("#words p").first.wait_for(timeout=60000)
            print(f"{scheme}: words so far: {page.inner_text('#words')}")
            assert page.get_attribute("#speak", "aria-pressed") == "true"
            check_colors(page, scheme)
            if options.pictures:
                page.screenshot(path=f"{options.pictures}/{scheme}-live.png")
            page.wait_for_timeout(6000)
            page.click("#speak")
            page.locator("#state", has_text="Done.").wait_for(timeout=60000)
            heard = words(page)
            assert heard, "the microphone gives no words"
            page.click("#clear")
            page.set_input_files("#file", options.sound)
            page.locator("#state", has_text="Done.").wait_for(timeout=120000)
            print(f"{scheme}: microphone: {heard}\n{scheme}: file: {words(page)}")
            assert words(page), "a file gives no words"
            check_colors(page, scheme)
            if options.pictures:
                page.screenshot(path=f"{options.pictures}/{scheme}-file.png")
            # A file that the browser cannot decode goes to the server, which says why it cannot, either.
            page.set_input_files("#file", {"name": "a.bin", "mimeType": "audio/x", "buffer": b"no sound"})
            page.locator("#fault:not(:empty)").wait_for(timeout=60000)
            print(f"{scheme}: fault: {page.inner_text('#fault')}")
        browser.close()
    # (Chromium logs the status of the last one.)
    complaints = [text for text in complaints if "422" not in text]
    assert not complaints, complaints
    print("2 passed, 0 failed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--pictures")
    parser.add_argument("url")
    parser.add_argument("sound")
    main(parser.parse_args())
