"""Who speaks in a task: its voices, those for training and those that are held out."""

import sys
from pathlib import Path

import espeak
import lang


def seen_and_held_out(path=lang.CONF / "voices.txt"):
    """The voices marked `train`, and those marked `held-out`. Ends the program if espeak-ng lacks one of them."""
    voices = lang.voices(path)
    try:
        espeak.check_voices([voice.file for voice in voices])
    except espeak.EspeakError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    return [voice for voice in voices if not voice.held_out], [voice for voice in voices if voice.held_out]
