#!/usr/bin/env python3
"""Usage: attack-sound.py [TRIES [SEED]]

Damages recordings of 36 formats, and reads each from a file and from a pipe with `sound-to-wav`, and through the server's
decoder (`nnet3-serve --decode`). Programs come from the PATH; ffmpeg makes the recordings. TRIES is the number of damaged
recordings (200), each of which is tried three times.

A try fits if the program ends in time with status 0, or with an error that names the recording; if no signal ends it and it does
not panic; if it takes less than 500 MB; and if sound that is missing or added is named by a warning. File, pipe and server must give
the same number of samples. Prints a table by class, and ends with 1 if there is a misfit.
"""

import math
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

RATE = 16000
SECONDS = 2
PATIENCE = 60
MEMORY = 500 << 20
# Differences of length that codecs make, in seconds.
NEAR = 0.2
FORMATS = {
    "wav": "",
    "ima.wav": "-c:a adpcm_ima_wav",
    "w64": "",
    "aiff": "",
    "au": "",
    "caf": "",
    "flac": "",
    "mp3": "-c:a libmp3lame",
    "mp2": "-c:a mp2",
    "aac": "-c:a aac",
    "ac3": "-ar 32000 -c:a ac3",
    "ogg": "-c:a libvorbis",
    "opus": "-c:a libopus",
    "oga": "-c:a flac",
    "m4a": "-c:a aac",
    "mp4": "-c:a aac -movflags +faststart",
    "mov": "-c:a alac",
    "mkv": "-c:a aac",
    "webm": "-c:a libopus",
    "wma": "-c:a wmav2",
    "alac.caf": "-c:a alac",
    "avi": "-c:a libmp3lame",
    "3gp": "-c:a aac",
    "eac3": "-ar 48000 -c:a eac3",
    "flv": "-ar 44100 -c:a libmp3lame",
    "ts": "-ar 48000 -c:a mp2",
    "m2ts": "-ar 48000 -c:a ac3",
    "mpg": "-ar 48000 -c:a mp2",
    "voc": "-c:a pcm_s16le",
    "wv": "-c:a wavpack",
    "tta": "-c:a tta",
    "dts": "-ar 48000 -strict -2 -c:a dca",
    "mlp": "-ar 48000 -strict -2 -c:a mlp",
    "thd": "-ar 48000 -strict -2 -c:a truehd",
    "sf": "-c:a pcm_s16le",
    "rm": "-ar 8000 -c:a real_144",
}


def wave(draw):
    samples = []
    for t in range(RATE * SECONDS):
        tone = 9000 * math.sin(t * 440 * 2 * math.pi / RATE) if (t // 8000) % 2 else 0
        samples.append(int(tone + draw.uniform(-400, 400)))
    data = struct.pack(f"<{len(samples)}h", *samples)
    form = struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return b"RIFF" + struct.pack("<I", len(data) + 36) + b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data


def cut(draw, data, _):
    return data[: draw.randrange(1, len(data))]


def gap(draw, data, _):
    at = draw.randrange(len(data))
    return data[:at] + data[at + draw.randrange(1, max(2, len(data) // 3)) :]


def flips(draw, data, _):
    out = bytearray(data)
    for _ in range(draw.choice((1, 3, 30))):
        out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


def header(draw, data, _):
    """Absurd numbers in the first kilobyte."""
    out = bytearray(data)
    at = draw.randrange(4, min(len(out) - 8, 600))
    number = draw.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x10000))
    out[at : at + 4] = struct.pack(draw.choice("<>") + "I", number)
    return bytes(out)


def zeros(draw, data, _):
    at, size = draw.randrange(len(data)), draw.randrange(1, max(2, len(data) // 4))
    return (data[:at] + bytes(size) + data[at + size :])[: len(data)]


def doubled(draw, data, _):
    at = draw.randrange(len(data))
    size = draw.randrange(1, max(2, len(data) // 3))
    return data[: at + size] + data[at : at + size] + data[at + size :]


def joined(draw, data, others):
    return data + draw.choice(others)


def spliced(draw, data, others):
    other = draw.choice(others)
    return data[: draw.randrange(1, len(data))] + other[draw.randrange(len(other)) :]


def prefixed(draw, data, _):
    return bytes(draw.randrange(256) for _ in range(draw.choice((1, 4, 200)))) + data


def exchanged(draw, data, _):
    """Two parts of the same length in each other's place."""
    size = draw.randrange(1, max(2, len(data) // 4))
    one = draw.randrange(max(1, len(data) - 2 * size))
    other = draw.randrange(one + size, max(one + size + 1, len(data) - size + 1))
    return data[:one] + data[other : other + size] + data[one + size : other] + data[one : one + size] + data[other + size :]


def ends(draw, data, _):
    """Bytes changed where the sound begins or ends."""
    out = bytearray(data)
    share = max(1, len(out) // 10)
    for _ in range(draw.choice((1, 4, 40))):
        at = draw.randrange(share) + draw.choice((len(out) - share, min(len(out) - share, 3 * share)))
        out[at] = draw.randrange(256)
    return bytes(out)


CLASSES = {
    "cut": cut,
    "bytes missing in the middle": gap,
    "bits changed": flips,
    "absurd numbers in the header": header,
    "zeros in the middle": zeros,
    "a part twice": doubled,
    "two parts exchanged": exchanged,
    "bytes changed near the ends": ends,
    "joined with another format": joined,
    "the rest of another format": spliced,
    "other bytes in front": prefixed,
}


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))


def run(command, stdin=None):
    """Status, samples of each channel, messages, and the fault of the try."""
    child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
    try:
        out, errors = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return None, 0, "", "no end"
    said = errors.decode(errors="replace")
    if child.returncode < 0:
        return child.returncode, 0, said, f"signal {-child.returncode}"
    if "panicked" in said:
        return child.returncode, 0, said, "panic"
    # (A changed byte may make two channels of one; the server's decoder gives both.)
    channels = max(1, int.from_bytes(out[22:24], "little"))
    return child.returncode, max(0, len(out) - 44) // 2 // channels, said, None


def attempt(folder, number, name, kind, data, whole):
    """The misfits of one damaged recording in three ways."""
    path = os.path.join(folder, f"{number}.{name}")
    with open(path, "wb") as out:
        out.write(data)
    ways = {
        "file": lambda: run(["sound-to-wav", "--print-args=false", path, "-"]),
        "pipe": lambda: run(["sound-to-wav", "--print-args=false", f"cat '{path}' |", "-"]),
    }

    def by_server():
        with open(path, "rb") as recording:
            return run(["nnet3-serve", "--decode", "--print-args=false"], recording)

    ways["server"] = by_server
    misfits, seen = [], {}
    for way, go in ways.items():
        status, samples, said, fault = go()
        seen[way] = (status == 0, samples)
        warned = "warning" in said.lower()
        if fault is None and status != 0 and not (said.strip() and (path in said or "recording" in said or "ERROR" in said)):
            fault = f"status {status} without a reason: {said!r}"
        lost = abs(samples - whole) > NEAR * whole / SECONDS
        if fault is None and status == 0 and lost and not warned and kind != "joined with another format":
            fault = f"{samples} samples of {whole}, without a warning"
        if fault:
            misfits.append(f"{kind}, {name}, try {number}, {way}: {fault}")
    if len(set(seen.values())) > 1:
        misfits.append(f"{kind}, {name}, try {number}: {seen}")
    if not misfits:
        os.remove(path)
    return kind, misfits


def main():
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    draw = random.Random(seed)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    folder = tempfile.mkdtemp(prefix="attack-sound-")
    with open(os.path.join(folder, "in.wav"), "wb") as out:
        out.write(wave(draw))
    files, lengths = {}, {}
    for name, arguments in FORMATS.items():
        path = os.path.join(folder, f"whole.{name}")
        command = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", os.path.join(folder, "in.wav"), *arguments.split(), path]
        subprocess.run(command, check=True)
        with open(path, "rb") as made:
            files[name] = made.read()
        status, samples, said, fault = run(["sound-to-wav", "--print-args=false", path, "-"])
        assert status == 0 and fault is None, (name, said)
        lengths[name] = samples
    others = list(files.values())
    plan = []
    for number in range(tries):
        name, kind = list(FORMATS)[number % len(FORMATS)], list(CLASSES)[number // len(FORMATS) % len(CLASSES)]
        plan.append((folder, number, name, kind, CLASSES[kind](draw, files[name], others), lengths[name]))
    counts = {kind: [0, 0] for kind in CLASSES}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for kind, misfits in pool.map(lambda one: attempt(*one), plan):
            counts[kind][0] += 3
            counts[kind][1] += len(misfits)
            for misfit in misfits:
                print(misfit)
    print(f"| class | tried | misfits |\n|---|---|---|  (seed {seed}, {folder})")
    for kind, (tried, misfits) in counts.items():
        print(f"| {kind} | {tried} | {misfits} |")
    total = [sum(values) for values in zip(*counts.values())]
    print(f"| all | {total[0]} | {total[1]} |")
    sys.exit(1 if total[1] else 0)


main()
