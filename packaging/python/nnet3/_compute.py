"""Outputs of a network for numpy arrays, by `nnet3-compute`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _archive
from ._programs import ProgramError, command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Path = Union[str, "os.PathLike[str]"]


def _checked(arrays, what, dimensions):
    import numpy

    if not isinstance(arrays, Mapping):
        raise TypeError(f"{what}: expected a dictionary of names and arrays, found {type(arrays).__name__}")
    result = {}
    for key, array in arrays.items():
        _archive.check_key(key)
        if isinstance(array, numpy.ma.MaskedArray):
            raise ValueError(f"{what} of {key}: expected an array without a mask, found a masked one (its method filled makes one without)")
        array = numpy.asarray(array)
        if array.ndim not in dimensions or array.dtype.kind not in "fiu":
            expected = " or ".join({1: "a vector", 2: "a matrix"}[d] for d in dimensions)
            raise ValueError(f"{what} of {key}: expected {expected} of numbers, found an array of shape {array.shape} and type {array.dtype}")
        most = numpy.finfo("f4").max
        if array.dtype.kind == "f" and (numpy.isfinite(array) & (numpy.abs(array) > most)).any():
            raise ValueError(f"{what} of {key}: a number is too large for float32")
        result[key] = array
    return result


def _options(options):
    for name, value in options.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield f"--{name.replace('_', '-')}={text}"


class _Feeder(threading.Thread):
    """Writes an archive into a pipe, until it is written or nobody reads any more."""

    def __init__(self, file, arrays):
        super().__init__(daemon=True)
        self.file, self.arrays, self.error = file, arrays, None

    def run(self):
        try:
            with contextlib.suppress(BrokenPipeError), self.file:
                _archive.write(self.file, self.arrays.items())
        except Exception as error:  # is raised where the outputs are read
            self.error = error


def compute(
    model: Path,
    features: Mapping[str, NDArray[Any]],
    ivectors: Mapping[str, NDArray[Any]] | None = None,
    **options: str | float | bool,
) -> dict[str, NDArray[np.float32]]:
    """The outputs of a network, {utterance: float32 array of frames × output dimension}.

    `model`: a `.raw` or `.mdl` file. `features`: {utterance: array of frames × input dimension}. `ivectors`: {utterance: vector},
    or {utterance: matrix} with a row every `online_ivector_period` frames. All other keywords are options of `nnet3-compute`
    with `_` for `-`, such as `frames_per_chunk=150`, `apply_exp=True`, `use_gpu="no"`.

    Raises TypeError or ValueError for arguments of another kind, and ProgramError with what the program said if it fails or computes no output
    for one of the utterances.
    """
    features = _checked(features, "features", (2,))
    if not features:
        return {}
    arguments = list(_options(options))
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(tempfile.TemporaryFile())
        pipes = []
        if ivectors is not None:
            ivectors = _checked(ivectors, "i-vectors", (1, 2))
            dimensions = {array.ndim for array in ivectors.values()}
            if len(dimensions) > 1:
                raise ValueError("i-vectors: expected only vectors or only matrices, found both")
            source, sink = os.pipe()
            pipes.append(source)
            sink = stack.enter_context(os.fdopen(sink, "wb"))
            name = "online-ivectors" if dimensions == {2} else "ivectors"
            arguments.append(f"--{name}=ark:/dev/fd/{source}")
        program = command("nnet3-compute", *arguments, model, "ark:-", "ark:-")
        try:
            process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, pass_fds=pipes)
        finally:
            for pipe in pipes:
                os.close(pipe)
        feeders = [_Feeder(process.stdin, features)]
        if pipes:
            feeders.append(_Feeder(sink, ivectors))
        damaged = None
        with process.stdout:
            for feeder in feeders:
                feeder.start()
            try:
                outputs = dict(_archive.read(process.stdout))
            except _archive.ArchiveError as error:  # the status says more, if the program failed
                outputs, damaged = {}, error
            except BaseException:
                process.kill()
                raise
            finally:
                process.stdout.close()
                status = process.wait()
        for feeder in feeders:
            feeder.join()
        log.seek(0)
        said = log.read().decode(errors="replace")
        missing = [key for key in features if key not in outputs]
        if status:
            raise ProgramError(f"nnet3-compute ended with status {status}", status, said)
        for error in [damaged, *(feeder.error for feeder in feeders)]:
            if error:
                raise error
        if missing:
            raise ProgramError(f"nnet3-compute has no output for {', '.join(missing[:5])}", status, said)
        return outputs
