"""The nnet3 programs from Python: where they are, running them, and computing outputs of networks for numpy arrays.

    import nnet3
    print(nnet3.run("nnet3-info", "final.mdl"))
    outputs = nnet3.compute("final.mdl", {"utt1": features}, frames_per_chunk=150)

Each call is a process of its own, and arrays go through pipes; nothing is kept between calls.
"""

from ._archive import ArchiveError
from ._compute import compute
from ._programs import ProgramError, command, find_bin, run

__all__ = ["ArchiveError", "ProgramError", "command", "compute", "find_bin", "run"]
