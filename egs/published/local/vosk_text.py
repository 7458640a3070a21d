"""What vosk hears in wave files, a line for each. Usage: vosk_text.py <model> <wav> ..."""

import json
import sys
import wave
from pathlib import Path

import vosk

PIECE = 0.2  # seconds that are handed over at once, as nnet3-transcribe does


def text(model, path):
    with wave.open(path) as file:
        rate = file.getframerate()
        recognizer, texts = vosk.KaldiRecognizer(model, rate), []
        while piece := file.readframes(int(rate * PIECE)):
            if recognizer.AcceptWaveform(piece):
                texts.append(json.loads(recognizer.Result())["text"])
    texts.append(json.loads(recognizer.FinalResult())["text"])
    return " ".join(filter(None, texts))


vosk.SetLogLevel(-1)
loaded = vosk.Model(sys.argv[1])
for name in sys.argv[2:]:
    print(f"{Path(name).stem} {text(loaded, name)}".rstrip())
