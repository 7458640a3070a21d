"""Speech recognition, networks, archives and features in this process; and the nnet3 programs.

    import nnet3
    model = nnet3.Model("model-ko")
    recognizer = nnet3.Recognizer(model, 16000)
    if recognizer.accept(samples):
        print(recognizer.result()["text"])
    print(recognizer.final_result()["text"])

    outputs = nnet3.Network("final.mdl").compute(features, frames_per_chunk=150)
    for name, matrix in nnet3.MatrixReader("scp:feats.scp"):
        ...
    nnet3.align("interviews", "lexicon.txt").to_textgrid("textgrids")
    print(nnet3.run("nnet3-info", "final.mdl"))

`run`, `command`, `find_bin` and `compute` start programs; everything else works in this process and needs numpy.
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
    Recognizer,
    VectorReader,
    VectorWriter,
    __version__,
    features,
    transcribe,
)
from ._programs import ProgramError, command, find_bin, run

__all__ = [
    "Alignment", "ArchiveError", "Error", "Interval", "MatrixReader", "MatrixWriter", "Model", "Network", "ProgramError", "Recognizer",
    "VectorReader", "VectorWriter", "__version__", "align", "command", "compute", "features", "find_bin", "run", "transcribe",
]
