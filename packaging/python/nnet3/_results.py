"""Results of recognition: dictionaries, whose parts are attributes, too."""

from __future__ import annotations

from typing import Any

# Characters of a text that a repr shows.
_SHOWN = 60


def _shortened(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _times(part: dict[str, Any]) -> str:
    if part.get("start") is None:
        return "no times"
    return f"{part['start']:.2f}-{part['end']:.2f} s"


def _part(name: str, doc: str) -> Any:
    """A part that each result of the class has."""
    return property(lambda self: self[name], doc=doc)


def _optional(name: str, doc: str, otherwise: Any = None) -> Any:
    """A part that not each result has, with its value in the others."""
    return property(lambda self: self.get(name, otherwise() if callable(otherwise) else otherwise), doc=doc)


class Word(dict):
    """A word: `word`, `start` and `end` in seconds from the beginning of the sound, and `conf`, the probability that it was said.

    A dictionary with these keys, which are attributes, too. (Words of an Alternative have no `conf`.)
    """

    __slots__ = ()
    word = _part("word", "The word.")
    start = _part("start", "The beginning in seconds.")
    end = _part("end", "The end in seconds.")
    conf = _optional("conf", "The probability that it was said, from 0 to 1; None in an Alternative.")

    def __repr__(self) -> str:
        conf = "" if self.conf is None else f", conf {self.conf:.2f}"
        return f"<nnet3.Word {self.get('word')!r} {_times(self)}{conf}>"


class Alternative(dict):
    """A text that a sentence may have: `text`, `confidence`, and `result`, a list of Word, if it has words.

    `confidence` is for comparisons between the texts of a sentence. transcribe gives `probability`, too. A dictionary with these keys,
    which are attributes, too.
    """

    __slots__ = ()
    text = _part("text", "The text.")
    confidence = _part("confidence", "The higher, the likelier, among the texts of a sentence.")
    probability = _optional("probability", "The probability of the text, from 0 to 1; None of a Recognizer.")
    result = _optional("result", "The words, a list of Word.", list)

    def __repr__(self) -> str:
        return f"<nnet3.Alternative {_shortened(self['text'])}, confidence {self['confidence']:.2f}>"


class Sentence(dict):
    """A sentence, from Recognizer.result and final_result: `text`, `start` and `end` in seconds, and `words`, a list of Word.

    Times are None without words. `alternatives`, a list of Alternative, is there if the recogniser was made for them. A dictionary with
    these keys, which are attributes, too.
    """

    __slots__ = ()
    text = _part("text", "The words, with a blank between two.")
    start = _part("start", "The beginning in seconds from that of the sound; None without words.")
    end = _part("end", "The end in seconds; None without words.")
    words = _part("words", "A list of Word.")
    alternatives = _optional("alternatives", "A list of Alternative, the likeliest first; empty if none were asked for.", list)

    def __repr__(self) -> str:
        return f"<nnet3.{type(self).__name__} {_times(self)}: {_shortened(self['text'])}, {count(len(self['words']), 'word')}>"


class Segment(Sentence):
    """A sentence of a recording: `text`, `start` and `end` in seconds, and `words`, a list of Word.

    With channels="each" it has `channel`, from 1. `alternatives`, a list of Alternative, is there if they were asked for. A dictionary with
    these keys, which are attributes, too.
    """

    __slots__ = ()
    channel = _optional("channel", "The channel, from 1, with channels=\"each\"; otherwise None.")

    def __repr__(self) -> str:
        channel = "" if self.channel is None else f", channel {self.channel}"
        return super().__repr__()[:-1] + channel + ">"


class Recording(dict):
    """The result of transcribe: `file`, `text` and `segments`, a list of Segment.

    With faults of the recording it has `warnings`, a list of sentences. A dictionary with these keys, which are attributes, too.
    """

    __slots__ = ()
    file = _part("file", "The name of the file, or what stands in its place.")
    text = _part("text", "The text of all segments.")
    segments = _part("segments", "A list of Segment, in the order of time, and of channels if they begin at the same time.")
    warnings = _optional("warnings", "Sentences about faults of the recording; empty without faults.", list)

    def __repr__(self) -> str:
        faults = f", {count(len(self.warnings), 'warning')}" if self.warnings else ""
        return f"<nnet3.Recording {self['file']!r}: {count(len(self['segments']), 'segment')}{faults}: {_shortened(self['text'])}>"


def plain(found: dict[str, Any]) -> dict[str, Any]:
    return found


def _with_parts(kind: type[Any], found: dict[str, Any]) -> Any:
    found = kind(found)
    found["words"] = [Word(word) for word in found["words"]]
    if "alternatives" in found:
        found["alternatives"] = [Alternative(alternative) for alternative in found["alternatives"]]
        for alternative in found["alternatives"]:
            if "result" in alternative:
                alternative["result"] = [Word(word) for word in alternative["result"]]
    return found


def sentence(found: dict[str, Any]) -> Sentence:
    return _with_parts(Sentence, found)


def recording(found: dict[str, Any]) -> Recording:
    found = Recording(found)
    found["segments"] = [_with_parts(Segment, segment) for segment in found["segments"]]
    return found


for _kind in (Word, Alternative, Sentence, Segment, Recording):
    _kind.__module__ = "nnet3"
