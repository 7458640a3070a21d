"""Forced alignment: times of words and phones."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from . import _corpus, _native, _progress, _results

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

    @property
    def duration(self) -> float:
        """The length in seconds."""
        return round(self.end - self.begin, 5)

    def __repr__(self) -> str:
        score = "" if self.score is None else f", score {self.score:.2f}"
        return f"<nnet3.Interval {self.type} {self.label!r} of {self.recording!r} {self.begin:.2f}-{self.end:.2f} s{score}>"


class Alignment:
    """The alignment of a corpus, as nnet3.align makes it.

    recordings: a list of dictionaries, as nnet3-align --formats=json writes them; those of pairs are in the order of these, with the
        names that they have there in "file".
    intervals: the words and phones of all recordings, in the order of time within each; a word stands before its phones.
    not_aligned: utterances and the reasons why they are not aligned.
    faults: places and what is wrong there; utterances of such places may be missing.
    unknown_words: words that the lexicon lacks, with count and first place.
    warnings: oddities of the model and of the lexicon.
    doubtful: the words whose score is far below those of most, or below -12 if there are fewer than 20, and those with a sound that is much
        longer than most; the worst first.
    left_out: words of long recordings that are not aligned: recording, begin and end of the gap between their neighbours, words.
    """

    recordings: list[dict[str, Any]]
    intervals: list[Interval]
    not_aligned: list[tuple[str, str]]
    faults: list[tuple[str, str]]
    unknown_words: list[dict[str, Any]]
    warnings: list[str]
    doubtful: list[Interval]
    left_out: list[dict[str, Any]]

    def __init__(self, found: dict[str, Any]) -> None:
        self.recordings = found["recordings"]
        self.faults = [(fault["place"], fault["fault"]) for fault in found["faults"]]
        self.unknown_words = found["unknown_words"]
        self.warnings = found["warnings"]
        self.intervals = []
        self.not_aligned = []
        self.left_out = found["left_out"]
        self.doubtful = []
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
        """A table with a row for each word and phone, the columns of Interval, and duration. It needs pandas.

        Times and scores are numbers (float64), also without scores (NaN) and without intervals.
        """
        import pandas

        table = pandas.DataFrame(self.intervals, columns=list(Interval._fields))
        table = table.astype({"begin": "float64", "end": "float64", "score": "float64"})
        table.insert(table.columns.get_loc("end") + 1, "duration", (table["end"] - table["begin"]).round(5))
        return table

    def __len__(self) -> int:
        return len(self.intervals)

    def __repr__(self) -> str:
        aligned = sum("words" in utterance for recording in self.recordings for utterance in recording["utterances"])
        recordings, utterances = (_results.count(*of) for of in ((len(self.recordings), "recording"), (aligned, "utterance")))
        return f"<nnet3.Alignment of {recordings}: {utterances}, {len(self.not_aligned)} not aligned>"


def align(
    corpus: Path | _corpus.Pairs,
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
    channels: str | int = "first",
    scores: bool = True,
    threads: int | None = None,
    all_words: bool = False,
    digraphs: Sequence[str] = (),
    progress: _progress.Progress = None,
) -> Alignment:
    """Finds out when each word and phone of a corpus is spoken, as nnet3-align does (see docs/alignment.md).

    `corpus` is one of these:
    a folder of recordings with texts beside them, a table, or a data folder of Kaldi;
    with `text`, a file of keys and texts: a folder of recordings, or a list like wav.scp;
    pairs (recording, text), some or all with a speaker's name as a third part, or a dictionary {recording: text};
    a recording, and `text` is what is spoken in it.
    The text of a pair or of a recording is a str of words, or the name of a file that has them, which ends with .txt or .lab.

    `lexicon` is a file, "letters" (each letter is a sound) or "model" (the lexicon within a recogniser). Without `model`, a model is
    trained on these recordings, for which a few are too few; `adapt` trains a given one on. `save_model` keeps a trained or adapted model.
    `unknown_words` is spoken, letters, g2p or skip. `threads` is the number of processors if it is None. `all_words` leaves no word of a
    long recording's text out. `digraphs` are groups of letters that are one phone, for the lexicon "letters". Utterances that cannot be
    used are in the result's `faults` and `not_aligned`.

    `progress` is a function that is called as progress(done, total, name): `done` of `total` hundredths of the work are done, whose present
    part has this name ("reading", "features", "training", "adaptation", "cutting", "alignment"). An exception of the function ends the
    alignment, and so does Ctrl-C, within about a second: then no file is written. True shows a bar on standard error, False nothing;
    None shows a bar if that is a terminal.
    """
    for name, value in ("text_extensions", text_extensions), ("digraphs", digraphs):
        if isinstance(value, str):
            raise TypeError(f"{name}: expected a list of texts (str), found str")
    path = os.fspath
    _corpus.need("lexicon", lexicon, ("letters", "model"))
    _corpus.need("model", model)
    given: list[_corpus.Given] = []
    if not _corpus.is_name(corpus):
        if text is not None:
            raise TypeError("text: expected none beside pairs of recordings and texts")
        given = _corpus.pairs(corpus)
    elif _corpus.need("corpus", corpus) and _corpus.is_recording(corpus):
        if text is None:
            raise TypeError(f"{path(corpus)} is a recording: text=\"…\" says what is spoken in it")
        given, text = _corpus.pairs([(corpus, text)]), None
    hears = _progress.shown(progress)

    def tell(share: float, part: str) -> None:
        hears(round(100 * share), 100, part)

    with contextlib.ExitStack() as stack:
        table = ""
        if given:
            table = _corpus.write(stack.enter_context(tempfile.TemporaryDirectory(prefix="nnet3-corpus-")), given, speakers)
        if isinstance(hears, _progress.Bar):
            stack.callback(hears.close)
        try:
            found = _native.align(
                table or path(corpus),
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
                None if hears is None else tell,
            )
        except _native.Error as error:
            if not given:
                raise
            raise type(error)(_corpus.without_table(str(error), table, given)) from None
    if given:
        _name_as_given(found, table, given)
        if not speakers and len(given) > 1 and not any(pair.speaker for pair in given):
            found["warnings"].append(f"each of {len(given)} recordings is taken for a speaker of its own; (recording, text, speaker) says who speaks")
    return Alignment(found)


def _name_as_given(found: dict[str, Any], table: str, given: list[_corpus.Given]) -> None:
    """Puts the recordings of pairs in the order of these, with their names."""
    order = {os.path.abspath(name): number for number, (name, _, _) in reversed(list(enumerate(given)))}
    found["recordings"].sort(key=lambda recording: order.get(recording["file"], len(order)))
    for recording in found["recordings"]:
        if recording["file"] in order:
            # (Behind the name of a speaker that the table alone has.)
            if not given[order[recording["file"]]].speaker and len(recording["utterances"]) == 1:
                utterance = recording["utterances"][0]
                if utterance["id"] == f"{utterance['speaker']}-{recording['recording']}":
                    utterance["id"] = recording["recording"]
            recording["file"] = given[order[recording["file"]]].recording
    for fault in found["faults"]:
        for name, sentence in fault.items():
            fault[name] = _corpus.without_table(sentence, table, given)
    found["warnings"] = [_corpus.without_table(warning, table, given) for warning in found["warnings"]]
    for word in found["unknown_words"]:
        word["place"] = _corpus.without_table(word["place"], table, given)


Interval.__module__ = Alignment.__module__ = "nnet3"
