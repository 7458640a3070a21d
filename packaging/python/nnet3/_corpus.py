"""Recordings and texts that the caller gives one by one, as the table that alignment reads."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Union

from ._native import NotFoundError

Path = Union[str, "os.PathLike[str]"]
Text = Path
Pairs = Union[Mapping[str, Text], Mapping["os.PathLike[str]", Text], Iterable[Union["tuple[Path, Text]", "tuple[Path, Text, str]"]]]

# Endings of files that have the words of one recording and nothing else.
_TEXT_ENDINGS = (".txt", ".lab")


class Given(NamedTuple):
    """A recording, its words, and its speaker, if the caller names one."""

    recording: str
    text: str
    speaker: str | None


def need(what: str, name: object, words: tuple[str, ...] = ()) -> bool:
    """Returns True, or raises NotFoundError if there is no file or folder of a name."""
    if isinstance(name, (str, os.PathLike)) and os.fspath(name) not in words and not os.path.exists(name):
        raise NotFoundError(f"{what}: there is no file or folder {os.fspath(name)!r}")
    return True


def is_name(corpus: object) -> bool:
    return isinstance(corpus, (str, os.PathLike))


def is_recording(corpus: Path) -> bool:
    """True of a file that is no table of recordings or of keys. (A wav.scp is text; sound is not.)"""
    path = os.fspath(corpus)
    if not os.path.isfile(path) or os.path.splitext(path)[1].lower() in (".csv", ".tsv", ".json", ".jsonl", ".scp"):
        return False
    with open(path, "rb") as file:
        beginning = file.read(4096)
    # No text in any usual encoding has these bytes, but for the marks of UTF-16.
    return not beginning.startswith((b"\xff\xfe", b"\xfe\xff")) and any(byte < 9 or 13 < byte < 27 for byte in beginning)


def _words(place: str, text: object) -> str:
    """A text, or the contents of the file that has it."""
    if isinstance(text, os.PathLike) or (isinstance(text, str) and text.endswith(_TEXT_ENDINGS) and os.path.isfile(text)):
        name = os.fspath(text)
        if not name.endswith(_TEXT_ENDINGS):
            expected = " or ".join(_TEXT_ENDINGS)
            raise ValueError(f"{place}: expected the name of a text that ends with {expected}, found {name!r} (a folder takes TextGrids beside recordings)")
        with open(name, encoding="utf-8-sig") as file:
            text = file.read()
    if not isinstance(text, str):
        raise TypeError(f"{place}: expected a text (str), or the name of its file (os.PathLike), found {type(text).__name__}")
    words = " ".join(text.split())
    if not words:
        raise ValueError(f"{place}: expected a text, found an empty one")
    return words


def pairs(corpus: Any) -> list[Given]:
    """The recordings, with their names as they are given."""
    expected = "corpus: expected the name of a folder, a table or a recording, or pairs of recordings and texts"
    if isinstance(corpus, Mapping):
        corpus = corpus.items()
    try:
        given = list(corpus)
    except TypeError:
        raise TypeError(f"{expected}, found {type(corpus).__name__}") from None
    if not given:
        raise ValueError(f"{expected}, found none")
    found: list[Given] = []
    for number, pair in enumerate(given):
        place = f"corpus, pair {number}"
        if is_name(pair) or not isinstance(pair, (tuple, list)) or len(pair) not in (2, 3):
            raise TypeError(f"{place}: expected (recording, text) or (recording, text, speaker), found {pair!r:.80}")
        recording, text, speaker = (*pair, None)[:3]
        if not is_name(recording):
            raise TypeError(f"{place}: expected the name of a recording, a str or os.PathLike object of str, found {type(recording).__name__}")
        name = os.fspath(recording)
        if not isinstance(name, str) or not name:
            raise ValueError(f"{place}: expected the name of a recording, found {name!r}")
        if not os.path.isfile(name):
            raise NotFoundError(f"{place}: there is no file {name!r}")
        if speaker is not None and (not isinstance(speaker, str) or not speaker.strip()):
            raise TypeError(f"{place}: expected the name of a speaker, a str, found {speaker!r:.80}")
        found.append(Given(name, _words(f"{place}, the text of {name!r}", text), speaker))
    return found


def write(folder: str, given: list[Given], rule: str) -> str:
    """Writes the table of pairs into a folder, and returns its name. Line N has the pair N-1.

    Without a rule, a recording that has no speaker is one's own.
    """
    table = os.path.join(folder, "corpus.jsonl")
    stems = [os.path.splitext(os.path.basename(recording))[0] for recording, _, _ in given]
    counts = Counter(stems)
    with open(table, "w", encoding="utf-8") as out:
        for number, (recording, text, speaker) in enumerate(given):
            row = {"path": os.path.abspath(recording), "text": text}
            if not rule:
                own = stems[number] if counts[stems[number]] == 1 else f"{stems[number]}-{number}"
                row["speaker"] = speaker or own
            elif speaker:
                row["speaker"] = speaker
            out.write(json.dumps(row) + "\n")
    return table


def without_table(sentence: str, table: str, given: list[Given]) -> str:
    """A sentence in which places in the table are the recordings' names."""
    for place in (table, os.path.realpath(table)):
        parts = sentence.split(f"{place}, line ")
        sentence = parts[0]
        for part in parts[1:]:
            digits = part[: len(part) - len(part.lstrip("0123456789"))]
            sentence += f"{given[int(digits) - 1].recording!r}, pair {int(digits) - 1}{part[len(digits):]}"
        sentence = sentence.replace(place, "corpus")
    return sentence
