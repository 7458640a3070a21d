"""Kaldi's binary archives of matrices and vectors, written from and read into numpy arrays."""

import struct
import sys

from ._native import Error


class ArchiveError(Error, ValueError):
    """What is not an archive, or not one of matrices and vectors of floating-point numbers. It is a ValueError, too."""


ArchiveError.__module__ = "nnet3"


def check_key(key):
    if not isinstance(key, str):
        raise TypeError(f"the name of an utterance must be a str, found {type(key).__name__}")
    if not key or key.split() != [key]:
        raise ValueError(f"the name of an utterance must be one word, found {key!r}")


def write(file, arrays):
    """Writes (name, array) pairs: matrices and vectors, as single precision."""
    import numpy

    for key, array in arrays:
        array = numpy.ascontiguousarray(array, dtype="<f4")
        token = {1: b"FV ", 2: b"FM "}[array.ndim]
        sizes = b"".join(struct.pack("<bi", 4, size) for size in array.shape)
        file.write(key.encode() + b" \0B" + token + sizes)
        file.write(memoryview(array).cast("B") if array.size else b"")


def _exactly(file, count):
    data = file.read(count)
    if len(data) != count:
        raise ArchiveError(f"the archive ends too soon: expected {count} bytes, found {len(data)}")
    return data


def _key(file):
    key = b""
    while True:
        byte = file.read(1)
        if byte == b" ":
            return key.decode()
        if not byte:
            if key:
                raise ArchiveError(f"the archive ends within the name {key!r}")
            return None
        key += byte


def read(file):
    """Yields (name, matrix) pairs."""
    import numpy

    while (key := _key(file)) is not None:
        head = _exactly(file, 5)
        if head not in (b"\0BFM ", b"\0BDM "):
            raise ArchiveError(f"{key}: expected a matrix of floating-point numbers, found {head!r}")
        marks_and_sizes = struct.unpack("<bibi", _exactly(file, 10))
        rows, columns = marks_and_sizes[1::2]
        if marks_and_sizes[::2] != (4, 4) or rows < 0 or columns < 0:
            raise ArchiveError(f"{key}: the size of the matrix is damaged")
        dtype = numpy.dtype("<f4" if head == b"\0BFM " else "<f8")
        size = rows * columns * dtype.itemsize
        if size > sys.maxsize:
            raise MemoryError(f"{key}: a matrix of {rows} × {columns}")
        data = _exactly(file, size)
        yield key, numpy.frombuffer(data, dtype).reshape(rows, columns).astype(dtype.newbyteorder("="), copy=True)
