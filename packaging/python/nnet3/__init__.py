"""Speech recognition, forced alignment, networks, archives and features in this process; and the nnet3 programs.

Recognition of recordings, and of sound as it arrives:

    import nnet3
    model = nnet3.Model("model-ko")
    result = nnet3.transcribe(model, "meeting.mp3")             # a Recording: a dictionary, and result.text, result.segments
    recognizer = nnet3.Recognizer(model, 16000)
    if recognizer.accept(samples):                              # True at the end of a sentence
        print(recognizer.result()["text"])
    print(recognizer.final_result()["text"])

Times of words and phones:

    nnet3.align("interviews", "lexicon.txt").to_textgrid("textgrids")
    nnet3.align([("a.wav", "hello there")], "lexicon.txt", model="aligner").intervals

Networks, features, archives of Kaldi, programs:

    outputs = nnet3.Network("final.mdl").compute(features, frames_per_chunk=150)
    bands = nnet3.features(samples, 16000, kind="fbank")
    for name, matrix in nnet3.MatrixReader("feats.scp"):
        ...
    print(nnet3.run("nnet3-info", "final.mdl"))

Exceptions: Error is the base of all failures, with NotFoundError (a FileNotFoundError, too), ProgramError and ArchiveError (a ValueError,
too). Arguments that cannot be meant raise TypeError or ValueError, arrays without memory MemoryError. Faults that end nothing are
UserWarnings.

`run`, `command`, `find_bin` and `compute` start programs; everything else works in this process. Calls release the interpreter's lock,
and Ctrl-C ends long ones. docs/python.md of the repository has examples.
"""

from ._align import Alignment, Interval, align
from ._archive import ArchiveError
from ._compute import compute
from ._native import (
    Error,
    MatrixReader,
    MatrixWriter,
    Model,
    Network,
    NotFoundError,
    Recognizer,
    VectorReader,
    VectorWriter,
    __version__,
    features,
    transcribe,
)
from ._programs import ProgramError, command, find_bin, run
from ._results import Alternative, Recording, Segment, Sentence, Word

__all__ = [
    "Alignment", "Alternative", "ArchiveError", "Error", "Interval", "MatrixReader", "MatrixWriter", "Model", "Network", "NotFoundError",
    "ProgramError", "Recognizer", "Recording", "Segment", "Sentence", "VectorReader", "VectorWriter", "Word", "__version__", "align",
    "command", "compute", "features", "find_bin", "run", "transcribe",
]
