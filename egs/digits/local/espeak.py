"""Speech with exact phone times from libespeak-ng, through ctypes.

espeak-ng synthesises in the calling process and reports, with every buffer of samples, events that say at which sample
each word and each phone begins.  Only what this recipe needs of `speak_lib.h` (API version 12, espeak-ng 1.50 or later)
is declared here.
"""

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np

AUDIO_OUTPUT_SYNCHRONOUS = 2
INITIALIZE_PHONEME_EVENTS = 0x0001
INITIALIZE_DONT_EXIT = 0x8000
CHARS_UTF8 = 1
POS_CHARACTER = 1
RATE, VOLUME, PITCH, RANGE = 1, 2, 3, 4
EVENT_LIST_TERMINATED, EVENT_WORD, EVENT_PHONEME = 0, 1, 7
EE_OK = 0


class _EventId(ctypes.Union):
    _fields_ = [
        ("number", ctypes.c_int),
        ("name", ctypes.c_void_p),
        ("string", ctypes.c_ubyte * 8),  # a phone's name: NUL-terminated unless it fills all 8 bytes
    ]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),  # milliseconds; `sample` says the same exactly
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _EventId),
    ]


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


class EspeakError(RuntimeError):
    """The library is missing, or refused what was asked of it."""


@dataclass
class Mark:
    """Something that begins at `sample`: a word (`phone` is None) or a phone, by espeak's own name for it."""

    sample: int
    phone: str | None


def _load():
    try:
        return ctypes.CDLL("libespeak-ng.so.1")
    except OSError as error:
        raise EspeakError(f"cannot load libespeak-ng.so.1 ({error}); on Debian: apt install libespeak-ng1")


def check_voices(files):
    """Raises EspeakError unless every voice file exists; the library itself silently ignores an unknown variant."""
    lib, data = _load(), ctypes.c_char_p()
    lib.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, None, INITIALIZE_DONT_EXIT)
    lib.espeak_Info.restype = ctypes.c_char_p
    lib.espeak_Info(ctypes.byref(data))
    folder = Path(data.value.decode())
    for file in files:
        language, _, variant = file.partition("+")
        missing = [] if (folder / "lang" / language).is_file() else [folder / "lang" / language]
        if variant and not (folder / "voices/!v" / variant).is_file():
            missing.append(folder / "voices/!v" / variant)
        if missing:
            raise EspeakError(f"espeak-ng has no voice '{file}': there is no file {missing[0]}")


class Espeak:
    """The synthesiser.  The library keeps one global state, so make one object a process."""

    def __init__(self):
        self._lib = _load()
        options = INITIALIZE_PHONEME_EVENTS | INITIALIZE_DONT_EXIT
        self.sample_rate = self._lib.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, None, options)
        if self.sample_rate <= 0:
            raise EspeakError("espeak_Initialize failed: is the package espeak-ng-data installed?")
        self._libc = ctypes.CDLL(None)
        self._chunks, self._marks = [], []
        self._callback = _Callback(self._receive)  # kept alive as long as the library may call it
        self._lib.espeak_SetSynthCallback(self._callback)

    def _receive(self, samples, count, events):
        if samples and count > 0:
            self._chunks.append(np.ctypeslib.as_array(samples, shape=(count,)).copy())
        i = 0
        while events[i].type != EVENT_LIST_TERMINATED:
            event = events[i]
            if event.type == EVENT_WORD:
                self._marks.append(Mark(event.sample, None))
            elif event.type == EVENT_PHONEME:
                name = bytes(event.id.string).split(b"\0")[0].decode()
                self._marks.append(Mark(event.sample, name))
            i += 1
        return 0

    def speak(self, text, voice, rate=175, pitch=50, pitch_range=50, seed=1):
        """Speaks `text`; returns (samples as int16 at `sample_rate`, list of `Mark` in order of time).

        `voice` is a voice file, with a variant after `+` if wanted (`gmw/en-US+f2`); `rate` is in words a minute,
        `pitch` and `pitch_range` go from 0 to 99.  `seed` fixes the breath noise of the Klatt voices.
        """
        if self._lib.espeak_SetVoiceByName(voice.encode()) != EE_OK:
            raise EspeakError(f"espeak-ng has no voice '{voice}'")
        for parameter, value in ((RATE, rate), (PITCH, pitch), (RANGE, pitch_range)):
            self._lib.espeak_SetParameter(parameter, int(value), 0)
        self._libc.srand(seed)
        self._chunks, self._marks = [], []
        data = text.encode()
        status = self._lib.espeak_Synth(data, len(data) + 1, 0, POS_CHARACTER, 0, CHARS_UTF8, None, None)
        if status != EE_OK or self._lib.espeak_Synchronize() != EE_OK or not self._chunks:
            raise EspeakError(f"espeak-ng did not speak '{text}' with voice '{voice}'")
        return np.concatenate(self._chunks), self._marks
