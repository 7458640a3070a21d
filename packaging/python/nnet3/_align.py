"""Forced alignment: times of words and phones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from . import _native

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]


class Interval(NamedTuple):
    """A word or a phone of a recording, with its times in seconds. `type` is word or phone.

    `score` is None without scores; otherwise it is 0 or negative, and very negative if something else was said.
    """

    recording: str
    speaker: str
    utterance: str
    type: str
    label: str
    begin: float
    end: float
    score: float | None


class Alignment:
    """The alignment of a corpus, as nnet3.align makes it.

    recordings: a list of dictionaries, as nnet3-align --formats=json writes them.
    intervals: the words and phones of all recordings, in the order of time within each; a word stands before its phones.
    not_aligned: utterances and the reasons why they are not aligned.
    faults: places and what is wrong there; utterances of such places may be missing.
    unknown_words: words that the lexicon lacks, with count and first place.
    warnings: oddities of the model and of the lexicon.
    doubtful: the words whose score is far below those of most, the worst first.
    left_out: words of long recordings that are not aligned: recording, begin and end of the gap between their neighbours, words.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.recordings: list[dict[str, Any]] = found["recordings"]
        self.faults: list[tuple[str, str]] = [(fault["place"], fault["fault"]) for fault in found["faults"]]
        self.unknown_words: list[dict[str, Any]] = found["unknown_words"]
        self.warnings: list[str] = found["warnings"]
        self.intervals: list[Interval] = []
        self.not_aligned: list[tuple[str, str]] = []
        self.left_out: list[dict[str, Any]] = found["left_out"]
        self.doubtful: list[Interval] = []
        for recording in self.recordings:
            for utterance in recording["utterances"]:
                self._add(recording["recording"], utterance)
        self.doubtful.sort(key=lambda word: word.score or 0.0)
        self._textgrids = {False: found["textgrids"], True: found["short_textgrids"]}

    def _add(self, recording: str, utterance: dict[str, Any]) -> None:
        name, speaker = utterance["id"], utterance["speaker"]
        if "not_aligned" in utterance:
            self.not_aligned.append((name, utterance["not_aligned"]))
        for word in utterance.get("words", []):
            for kind, part in [("word", word), *(("phone", phone) for phone in word["phones"])]:
                times = part["begin"], part["end"], part["score"]
                self.intervals.append(Interval(recording, speaker, name, kind, part[kind], *times))
                if part.get("doubtful", False):
                    self.doubtful.append(self.intervals[-1])

    def to_textgrid(self, folder: Path | None = None, *, short: bool = False) -> dict[str, str]:
        """The TextGrid of each recording, by its path below the corpus without the ending (`anna/1`).

        With `folder`, writes them there as PATH.TextGrid, each one whole.
        """
        grids = dict(self._textgrids[short])
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            for name, text in grids.items():
                file = os.path.join(folder, f"{name}.TextGrid")
                os.makedirs(os.path.dirname(file), exist_ok=True)
                part = f"{file}.{os.getpid()}.part"
                with open(part, "w", encoding="utf-8", newline="") as out:
                    out.write(text)
                os.replace(part, file)
        return grids

    def to_pandas(self) -> pandas.DataFrame:
        """A table with a row for each word and phone, and the columns of Interval. It needs pandas.

        Times and scores are numbers (float64), also without scores (NaN) and without intervals.
        """
        import pandas

        table = pandas.DataFrame(self.intervals, columns=list(Interval._fields))
        return table.astype({"begin": "float64", "end": "float64", "score": "float64"})

    def __len__(self) -> int:
        return len(self.intervals)

    def __repr__(self) -> str:
        aligned = sum("words" in utterance for recording in self.recordings for utterance in recording["utterances"])
        return f"<nnet3.Alignment of {len(self.recordings)} recordings: {aligned} utterances, {len(self.not_aligned)} not aligned>"


def align(
    corpus: Path,
    lexicon: Path,
    *,
    model: Path | None = None,
    adapt: bool = False,
    save_model: Path | None = None,
    unknown_words: str = "spoken",
    text: Path | None = None,
    speakers: str = "",
    text_extensions: Sequence[str] = (),
    tiers: str = "",
    channels: str = "first",
    scores: bool = True,
    threads: int | None = None,
    all_words: bool = False,
    digraphs: Sequence[str] = (),
) -> Alignment:
    """Finds out when each word and phone of a corpus is spoken, as nnet3-align does (see docs/alignment.md).

    `corpus` is a folder of recordings with texts beside them, a table, or a data folder of Kaldi; with `text`, a file of keys and
    texts, it is a folder of recordings or a list like wav.scp. `lexicon` is a file, "letters" (each letter is a sound) or "model"
    (the lexicon within a recogniser). Without `model`, a model is trained on these recordings; `adapt` trains a given one on.
    `save_model` keeps a trained or adapted model. `unknown_words` is spoken, letters, g2p or skip. `threads` is the number of
    processors if it is None. `all_words` leaves no word of a long recording's text out. `digraphs` are groups of letters that are one
    phone, for the lexicon "letters". Utterances that cannot be used are in the result's `faults` and `not_aligned`.
    """
    for name, value in ("text_extensions", text_extensions), ("digraphs", digraphs):
        if isinstance(value, str):
            raise TypeError(f"{name}: expected a list of texts (str), found str")
    path = os.fspath
    found = _native.align(
        path(corpus),
        path(lexicon),
        None if model is None else path(model),
        adapt,
        None if save_model is None else path(save_model),
        unknown_words,
        None if text is None else path(text),
        speakers,
        list(text_extensions),
        tiers,
        str(channels),
        scores,
        (os.cpu_count() or 1) if threads is None else threads,
        all_words,
        list(digraphs),
    )
    return Alignment(found)
