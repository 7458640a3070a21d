import array
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from ._results import Recording, Sentence

Floats = Union[NDArray[np.float32], NDArray[np.float64]]
Precision = Union[Literal["float32", "float64"], type[np.float32], type[np.float64], np.dtype[Any]]
Path = Union[str, os.PathLike[str]]
Buffer = Union[bytes, bytearray, memoryview, array.array[Any], mmap.mmap]
Samples = Union[Floats, NDArray[np.int16], Buffer]

class _SupportsRead(Protocol):
    def read(self) -> bytes: ...

_R = TypeVar("_R", bound=_Reader)
_W = TypeVar("_W", bound=_Writer)

__version__: str

class Error(RuntimeError): ...
class NotFoundError(Error, FileNotFoundError): ...

class Model:
    def __init__(self, folder: Path, allow_upsample: bool = True, threads: int = 1) -> None: ...
    @property
    def sample_rate(self) -> float: ...
    @property
    def warnings(self) -> list[str]: ...
    def word_number(self, word: str) -> int | None: ...
    def inputs(self, samples: Samples, sample_rate: float) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]: ...
    def network(self, output: str = "output") -> Network: ...
    def compute(
        self,
        features: Floats,
        ivectors: Floats | None = None,
        *,
        frames_per_chunk: int = 50,
        frame_subsampling_factor: int = 1,
        extra_left_context: int = 0,
        extra_right_context: int = 0,
        extra_left_context_initial: int = -1,
        extra_right_context_final: int = -1,
        acoustic_scale: float = 1.0,
        use_priors: bool = False,
        online_ivector_period: int = 10,
    ) -> NDArray[np.float32]: ...

class Recognizer:
    def __init__(
        self, model: Model, sample_rate: float, phrases: Sequence[str] | None = None, alternatives: int = 0
    ) -> None: ...
    @property
    def model(self) -> Model: ...
    @property
    def sample_rate(self) -> float: ...
    def accept(self, samples: Samples) -> bool: ...
    def partial(self) -> str: ...
    def result(self) -> Sentence: ...
    def final_result(self) -> Sentence: ...
    def reset(self) -> None: ...

class Network:
    def __init__(
        self, path: Path | None = None, output: str = "output", *, command: str | None = None
    ) -> None: ...
    @property
    def outputs(self) -> list[str]: ...
    @property
    def output(self) -> str: ...
    @property
    def input_dim(self) -> int | None: ...
    @property
    def ivector_dim(self) -> int | None: ...
    @property
    def output_dim(self) -> int | None: ...
    def compute(
        self,
        features: Floats,
        ivectors: Floats | None = None,
        *,
        frames_per_chunk: int = 50,
        frame_subsampling_factor: int = 1,
        extra_left_context: int = 0,
        extra_right_context: int = 0,
        extra_left_context_initial: int = -1,
        extra_right_context_final: int = -1,
        acoustic_scale: float = 1.0,
        use_priors: bool = False,
        online_ivector_period: int = 10,
    ) -> NDArray[np.float32]: ...

class _Reader:
    def __init__(self, rspecifier: Path, dtype: Precision | None = None, *, commands: bool = True) -> None: ...
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    def __contains__(self, key: str) -> bool: ...
    def __iter__(self) -> Iterator[tuple[str, NDArray[Any]]]: ...
    def __next__(self) -> tuple[str, NDArray[Any]]: ...
    def close(self) -> None: ...
    def __enter__(self: _R) -> _R: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class MatrixReader(_Reader): ...
class VectorReader(_Reader): ...

class _Writer:
    def __init__(self, wspecifier: Path, dtype: Precision | None = None, *, commands: bool = True) -> None: ...
    def write(self, key: str, array: Floats) -> None: ...
    def close(self) -> None: ...
    def __enter__(self: _W) -> _W: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class MatrixWriter(_Writer): ...
class VectorWriter(_Writer): ...

def align(
    corpus: Path,
    lexicon: Path,
    model: Path | None,
    adapt: bool,
    save_model: Path | None,
    unknown_words: str,
    text: Path | None,
    speakers: str,
    text_extensions: list[str],
    tiers: str,
    channels: str,
    scores: bool,
    threads: int,
    all_words: bool,
    digraphs: list[str],
    progress: Callable[[float, str], object] | None,
) -> dict[str, Any]: ...
def features(
    samples: Samples, sample_rate: float, config: Path = "", kind: Literal["mfcc", "fbank", "plp"] = "mfcc"
) -> NDArray[np.float32]: ...
def transcribe(
    model: Model,
    recording: Path | Buffer | _SupportsRead | Floats | NDArray[np.int16] | None = None,
    *,
    command: str | None = None,
    sample_rate: float | None = None,
    channels: Literal["first", "mix", "each"] | int = "first",
    phrases: Sequence[str] | None = None,
    alternatives: int = 0,
) -> Recording: ...
