#!/usr/bin/env python3
"""Tests the page of nnet3-serve in a headless Chromium whose microphone plays a recording.

    dev/test-serve-page.py [--chromium=/usr/bin/chromium] [--pictures=FOLDER] URL SOUND.wav

Needs a running server with a model of the recording's language and the Python package playwright. SOUND.wav has one channel
of 16 bits. Names of speakers are tested if the server has a speaker model (--speakers).

- The microphone's text is that of POST /transcribe for the same sound. Chromium's device begins to play when the page asks
  for it, and the page listens a little later. So the sound gets two seconds of silence before and behind it.
- The page asks for sound without changes, and says so if the browser makes some nevertheless.
- The player has the sound that the server heard: sent to /transcribe, it has the same words, at most 0.1 s apart.
- A click and the Enter key on a word play from its begin.
- Downloads can be read by readers of the test's own, and have the words of the page. The subtitles of a recording that the
  server decodes are byte for byte those of /transcribe?format=srt and vtt.
- New names of speakers are in the text and in all downloads.
- No error or breach of the content-security-policy is reported. All controls have names and can be reached with the
  keyboard. Texts have a contrast of 4.5 or more, light and dark. A screen of 360 pixels is wide enough.

With --pictures, it writes what it saw.
"""

import argparse
import base64
import io
import json
import random
import re
import struct
import tempfile
import time
import urllib.parse
import urllib.request
import wave
from pathlib import Path

from playwright.sync_api import sync_playwright

# Seconds of a quiet room before and behind the sound, and the deviation of its samples. (In digital silence beside speech, as
# after the end of the device's sound, some models hear words.)
BEFORE, BEHIND, NOISE = 2, 4, 3
# Times that the page listens while the device leaves out pieces of the sound.
TRIALS = 5
CHANGES = ["echoCancellation", "noiseSuppression", "autoGainControl"]

# Keeps what the page asks of the microphone and gets, and the last sound that it made an address for.
WATCH = """
const ask = MediaDevices.prototype.getUserMedia;
MediaDevices.prototype.getUserMedia = async function (wanted) {
  const stream = await ask.call(this, wanted);
  window.watched = { wanted: wanted.audio, found: stream.getAudioTracks()[0].getSettings() };
  return stream;
};
const address = URL.createObjectURL;
URL.createObjectURL = (blob) => { if (/^audio/.test(blob.type)) window.sound = blob; return address(blob); };
"""
# A browser that cannot decode recordings, and changes the sound of the microphone whatever it is asked for.
POOR = """
OfflineAudioContext.prototype.decodeAudioData = () => Promise.reject(new Error('unknown'));
MediaStreamTrack.prototype.getSettings = () => ({ echoCancellation: true, noiseSuppression: false, autoGainControl: true });
"""


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
    page.locator("body").focus()
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("[document.activeElement].map((one) => one.id || one.dataset.form || one.tagName)[0]")
        )
    for wanted in ["speak", "file", "words", "txt", "srt", "vtt", "json", "copy", "clear", "SUMMARY"]:
        assert wanted in reached, f"{wanted} is not among {reached}"
    for role, name in [
        ("button", "Start microphone"),
        ("meter", "Level"),
        ("log", "Words"),
        ("group", "Download"),
        ("button", "Download text"),
        ("button", "Download SubRip subtitles"),
        ("button", "Download WebVTT subtitles"),
        ("button", "Download JSON"),
        ("button", "Copy text"),
    ]:
        assert page.get_by_role(role, name=name, exact=True).count() == 1, f"{role} {name}"
    assert page.get_by_label("Choose a recording…").count() == 1


def padded(sound, folder):
    """The sound in a quiet room, in a file."""
    with wave.open(sound) as whole:
        parameters, samples = whole.getparams(), whole.readframes(whole.getnframes())
    assert (parameters.nchannels, parameters.sampwidth) == (1, 2), f"{sound}: expected one channel of 16 bits"
    draw = random.Random(1)

    def room(seconds):
        noise = [round(draw.gauss(0, NOISE)) for _ in range(seconds * parameters.framerate)]
        return struct.pack(f"<{len(noise)}h", *noise)

    path = Path(folder) / "padded.wav"
    with wave.open(str(path), "wb") as out:
        out.setparams(parameters)
        out.writeframes(room(BEFORE) + samples + room(BEHIND))
    return path


def transcribe(url, sound, **values):
    """The answer of the server to a recording, in bytes."""
    address = urllib.parse.urljoin(url, "transcribe?" + urllib.parse.urlencode(values))
    with urllib.request.urlopen(urllib.request.Request(address, data=sound), timeout=300) as answer:
        return answer.read()


def words_of(answer):
    return [word for segment in json.loads(answer)["segments"] for word in segment["words"]]


def text_of(words):
    return " ".join(word["word"] for word in words)


def words(page):
    return " ".join(page.locator("#words .word").all_inner_texts())


def wait_for_end(page):
    page.locator("#state", has_text="Done.").wait_for(timeout=300000)


def wait_until(page, condition):
    """Waits for a condition. (The page's policy forbids wait_for_function.)"""
    end = time.monotonic() + 20
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def download(page, form):
    with page.expect_download() as waiting:
        page.click(f"[data-form={form}]")
    assert waiting.value.suggested_filename.endswith("." + form), waiting.value.suggested_filename
    return Path(waiting.value.path()).read_bytes().decode()


def seconds_of(stamp):
    hours, minutes, seconds = stamp.replace(",", ".").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def cues_of(text, is_vtt):
    """Reads subtitles: begin, end and text of each cue."""
    blocks = text.strip("\n").split("\n\n")
    if is_vtt:
        assert blocks.pop(0) == "WEBVTT", text
    cues = []
    for number, block in enumerate(blocks, 1):
        lines = block.split("\n")
        if not is_vtt:
            assert lines.pop(0) == str(number), block
        point = "\\." if is_vtt else ","
        stamp = f"\\d\\d:[0-5]\\d:[0-5]\\d{point}\\d\\d\\d"
        assert re.fullmatch(f"{stamp} --> {stamp}", lines[0]), block
        begin, end = map(seconds_of, lines[0].split(" --> "))
        assert begin < end and (not cues or cues[-1][1] <= begin), block
        assert 1 <= len(lines) - 1 <= 2 and all(len(line) <= 42 for line in lines[1:]), block
        cues.append((begin, end, " ".join(lines[1:])))
    return cues


def check_downloads(page, heard):
    """Compares downloads of a text without speakers with the words of the page."""
    assert " ".join(download(page, "txt").split()) == heard
    whole = json.loads(download(page, "json"))
    assert whole["text"] == heard and text_of(words_of(json.dumps(whole))) == heard, whole
    for form in ["srt", "vtt"]:
        cues = cues_of(download(page, form), form == "vtt")
        assert " ".join(text for _, _, text in cues) == heard, cues
        assert abs(cues[0][0] - whole["segments"][0]["start"]) < 0.0015, cues
    return whole


def kept(page):
    """The last sound that the page gave its player."""
    sound = page.evaluate(
        """async () => { const bytes = new Uint8Array(await window.sound.arrayBuffer());
        let text = ''; bytes.forEach((byte) => { text += String.fromCharCode(byte); }); return btoa(text); }"""
    )
    return base64.b64decode(sound)


def gaps(sound):
    """Pieces of digital silence of 5 ms or more, without the first tenth of a second."""
    with wave.open(io.BytesIO(sound)) as whole:
        rate, samples = whole.getframerate(), whole.readframes(whole.getnframes())
    return len(re.findall(b"(?:\0\0){%d,}" % (rate // 200), samples[2 * (rate // 10) :]))


def check_player(page, url, whole):
    """Compares the sound of the player with the words, and plays words."""
    again = words_of(transcribe(url, kept(page)))
    said = words_of(json.dumps(whole))
    assert text_of(again) == text_of(said), f"player: {text_of(again)}\nwords: {text_of(said)}"
    for one, other in zip(again, said):
        assert abs(one["start"] - other["start"]) <= 0.1, (one, other)
    last = len(said) - 1
    page.locator("#words .word").nth(last).click()
    check_played(page, said, last)
    if last > 0:
        page.locator("#words").focus()
        page.evaluate("player.pause()")
        page.keyboard.press("ArrowRight")
        for _ in range(last):
            page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        check_played(page, said, 1)


def check_played(page, said, number):
    """Checks that the player plays a word, which is marked."""
    place = f"player.currentTime >= {said[number]['start']} - 0.02 && player.currentTime < {said[number]['start']} + 2"
    wait_until(page, f"!player.paused && {place}")
    marked = page.locator("#words .now").all_inner_texts()
    assert len(marked) <= 1 and (not marked or marked[0] in text_of(said[number:])), (marked, said[number])
    begin = page.evaluate("player.currentTime")
    wait_until(page, f"player.currentTime > {begin} || player.ended")


def check_names(page):
    """Gives a speaker a name, and looks for it in text and downloads."""
    fields = page.locator("#names input")
    assert fields.count() >= 1, "the server has a speaker model, and the page names no speaker"
    assert page.locator("#words .speaker").first.inner_text() == "Speaker 1:"
    page.get_by_label("Speaker 1", exact=True).fill("Anna <B> & C")
    assert page.locator("#words .speaker").first.inner_text() == "Anna <B> & C:"
    said = words(page)
    text = download(page, "txt")
    assert text.startswith("Anna <B> & C: "), text
    labels = "|".join(re.escape(label) for label in ["Anna <B> & C", *[f"Speaker {i}" for i in range(2, 20)], "Speaker ?"])
    assert " ".join(re.sub(f"^({labels}): ", "", line) for line in text.splitlines()) == said, text
    whole = json.loads(download(page, "json"))
    assert whole["speakers"][0] == "Anna <B> & C" and len(whole["speakers"]) >= fields.count(), whole
    assert all("speaker" in word for segment in whole["segments"] for word in segment["words"]), whole
    cues = cues_of(download(page, "srt"), False)
    assert cues[0][2].startswith("Anna <B> & C: "), cues
    assert " ".join(re.sub(f"^({labels}): ", "", cue[2]) for cue in cues) == said, cues
    assert "\n<v Anna &lt;B&gt; &amp; C>" in download(page, "vtt")
    return whole


class Trial:
    """A page in a browser, with all complaints of the browser."""

    def __init__(self, browser, options, complaints, scheme="light", script=WATCH, **settings):
        context = browser.new_context(color_scheme=scheme, permissions=["microphone"], **settings)
        context.add_init_script(script)
        self.page, self.options, self.scheme = context.new_page(), options, scheme
        self.page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: complaints.append(str(error)))
        self.page.goto(options.url)
        self.has_speakers = self.page.get_attribute("body", "data-speakers") == "true"

    def picture(self, name):
        if self.options.pictures:
            self.page.screenshot(path=f"{self.options.pictures}/{self.scheme}-{name}.png", full_page=True)

    def choose(self, sound):
        self.page.set_input_files("#file", sound)
        wait_for_end(self.page)
        assert words(self.page), "a file gives no words"

    def microphone(self, sound):
        """Listens to the whole sound of the microphone, and returns its words."""
        page, scheme = self.page, self.scheme
        check_keyboard(page)
        self.picture("begin")
        page.click("#speak")
        page.locator("#state", has_text="Listening.").wait_for(timeout=60000)
        begin = time.monotonic()
        watched = page.evaluate("window.watched")
        for change in CHANGES:
            assert watched["wanted"][change] is False, watched
            assert watched["found"].get(change) in [False, None], watched
        assert page.inner_text("#kept") == "", page.inner_text("#kept")
        assert page.get_attribute("#speak", "aria-pressed") == "true"
        page.locator("#words p").first.wait_for(timeout=60000)
        print(f"{scheme}: words so far: {page.inner_text('#words')}")
        check_colors(page, scheme)
        self.picture("live")
        with wave.open(str(sound)) as whole:
            seconds = whole.getnframes() / whole.getframerate() - BEHIND / 2
        page.wait_for_timeout(1000 * max(0, seconds - (time.monotonic() - begin)))
        page.click("#speak")
        wait_for_end(page)
        return words(page)

    def with_microphone(self, sound):
        page, scheme = self.page, self.scheme
        expected = text_of(words_of(transcribe(self.options.url, sound.read_bytes())))
        print(f"{scheme}: the server: {expected}")
        for _ in range(TRIALS):
            heard = self.microphone(sound)
            print(f"{scheme}: microphone: {heard}")
            lost = gaps(kept(page)) - gaps(sound.read_bytes())
            if heard == expected or lost <= 0:
                break
            print(f"{scheme}: the device left out {lost} pieces of the sound")
            page.click("#clear")
        assert heard == expected
        whole = check_names(page) if self.has_speakers else check_downloads(page, heard)
        check_player(page, self.options.url, whole)
        check_colors(page, scheme)
        self.picture("microphone")
        # Another sound of the microphone goes on with the text; this one is over.
        page.click("#speak")
        page.locator("#state", has_text="Listening.").wait_for(timeout=60000)
        page.wait_for_timeout(1000)
        page.click("#speak")
        wait_for_end(page)
        assert words(page).startswith(heard), words(page)
        page.click("#clear")
        assert words(page) == "" and page.locator("#player").is_hidden() and page.locator("#speakers").is_hidden()
        page.click("[data-form=srt]")
        assert page.inner_text("#state") == "There are no words yet."

    def with_file(self):
        page, scheme, options = self.page, self.scheme, self.options
        self.choose(options.sound)
        print(f"{scheme}: file: {words(page)}")
        page.locator("#words .word").first.click()
        wait_until(page, "!player.paused")
        page.locator("#words .now").wait_for(timeout=10000)
        check_colors(page, scheme)
        self.picture("file")
        # A file that the browser cannot decode goes to the server, which says why it cannot, either.
        page.set_input_files("#file", {"name": "a.bin", "mimeType": "audio/x", "buffer": b"no sound"})
        page.locator("#fault:not(:empty)").wait_for(timeout=60000)
        print(f"{scheme}: fault: {page.inner_text('#fault')}")
        self.picture("fault")

    def on_a_small_screen(self):
        """The same in a browser that cannot decode recordings, and changes the sound of the microphone."""
        page, options = self.page, self.options
        self.choose(options.sound)
        sound, values = Path(options.sound).read_bytes(), {"speakers": "true"} if self.has_speakers else {}
        for form in ["srt", "vtt"]:
            expected = transcribe(options.url, sound, format=form, **values).decode()
            found = download(page, form)
            assert found == expected, f"page: {found}\nserver: {expected}"
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, f"the page is {width} pixels wide"
        self.picture("small")
        page.click("#speak")
        page.locator("#state", has_text="Listening.").wait_for(timeout=60000)
        kept = page.inner_text("#kept")
        assert kept == "The browser keeps echo cancellation and gain control on: words may be wrong.", kept
        check_colors(page, self.scheme)
        page.click("#speak")
        wait_for_end(page)
        self.picture("small-kept")


def main(options):
    complaints = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        sound = padded(options.sound, folder)
        browser = playwright.chromium.launch(
            executable_path=options.chromium,
            args=[
                "--no-sandbox",
                "--use-fake-ui-for-media-stream",
                "--use-fake-device-for-media-stream",
                f"--use-file-for-fake-audio-capture={sound.resolve()}%noloop",
            ],
        )
        for scheme in ["light", "dark"]:
            trial = Trial(browser, options, complaints, scheme)
            trial.with_microphone(sound)
            trial.with_file()
        small = Trial(browser, options, complaints, script=POOR, viewport={"width": 360, "height": 640})
        small.on_a_small_screen()
        if not small.has_speakers:
            print("The server has no speaker model: names of speakers were not tested.")
        browser.close()
    # (Chromium logs the status of the recording that is none.)
    complaints = [text for text in complaints if "422" not in text]
    assert not complaints, complaints
    print("3 passed, 0 failed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--pictures")
    parser.add_argument("url")
    parser.add_argument("sound")
    main(parser.parse_args())
