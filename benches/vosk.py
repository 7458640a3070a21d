#!/usr/bin/env python3
"""Words and times of two libraries with vosk's functions, in turns.

Usage: vosk.py PACKAGE LIBRARY MODEL RECORDING.wav ...

PACKAGE is the folder of the Python package vosk with its own library, LIBRARY our libvosk.so, MODEL a folder whose
conf/mfcc.conf has --dither=0 (otherwise vosk adds random numbers to the sound). Each of five rounds starts a process for
each library, which opens the model once and gives it all recordings in pieces of 0.2 s. Prints user seconds of opening
and of recognition (medians), their ratio, and the number of recordings with the same words. The status is 1 if the
recognition takes more than half of vosk's time, or if fewer than nine of ten texts are equal.
"""

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

ROUNDS = 5


def user():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def recognize(folder, model, recordings):
    """Runs in a process of its own: prints times and texts as JSON."""
    sys.path.insert(0, folder)
    import vosk

    vosk.SetLogLevel(-1)
    began = user()
    model = vosk.Model(model)
    opened, texts = user(), []
    for name in recordings:
        with wave.open(name) as sound:
            rate, words = sound.getframerate(), []
            recognizer = vosk.KaldiRecognizer(model, rate)
            while data := sound.readframes(rate // 5):
                if recognizer.AcceptWaveform(data):
                    words.append(json.loads(recognizer.Result())["text"])
        words.append(json.loads(recognizer.FinalResult())["text"])
        texts.append(" ".join(filter(None, words)))
    print(json.dumps({"open": opened - began, "recognize": user() - opened, "texts": texts}))


def main():
    if sys.argv[1:2] == ["--recognize"]:
        return recognize(*sys.argv[2:4], sys.argv[4:])
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    package, library, model, *recordings = sys.argv[1:]
    with tempfile.TemporaryDirectory() as ours:
        shutil.copytree(package, f"{ours}/vosk")
        shutil.copy(library, f"{ours}/vosk/libvosk.so")
        folders = {"vosk": str(Path(package).parent), "ours": ours}
        found = {name: [] for name in folders}
        for _ in range(ROUNDS):
            for name, folder in folders.items():
                command = [sys.executable, __file__, "--recognize", folder, model, *recordings]
                found[name].append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    median = {name: {part: statistics.median(run[part] for run in runs) for part in ("open", "recognize")}
              for name, runs in found.items()}
    for part in ("open", "recognize"):
        ours, theirs = median["ours"][part], median["vosk"][part]
        print(f"{part:10} {ours:7.2f} s  vosk {theirs:7.2f} s  ratio {ours / theirs:.2f}")
    pairs = list(zip(found["ours"][0]["texts"], found["vosk"][0]["texts"]))
    equal = sum(ours == theirs for ours, theirs in pairs)
    print(f"{equal} of {len(pairs)} texts are equal")
    return int(median["ours"]["recognize"] > median["vosk"]["recognize"] / 2 or equal < 0.9 * len(pairs))


if __name__ == "__main__":
    sys.exit(main())
