"""The binary that holds all programs, and running one of them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from typing import Union, overload

from ._native import Error, NotFoundError

Data = Union[bytes, bytearray, memoryview]
Argument = Union[str, "os.PathLike[str]", int, float]


class ProgramError(Error):
    """A program failed. The message has what it said, the exception its `status` and `log`."""

    def __init__(self, failure: str, status: int, log: str) -> None:
        self._failure = failure
        said = [line for line in log.splitlines() if line.startswith(("ERROR", "WARNING", "nnet3: "))] or log.splitlines()[-5:]
        super().__init__(f"{failure}: " + ("\n".join(said[-5:]) or "it said nothing"))
        self.status = status
        self.log = log

    def __reduce__(self) -> tuple[type[ProgramError], tuple[str, int, str]]:
        return type(self), (self._failure, self.status, self.log)


ProgramError.__module__ = "nnet3"


def _folders() -> Iterator[str]:
    """Where installers put programs: this environment's, the user's, and what lies beside the module (`pip --target`)."""
    yield sysconfig.get_path("scripts")
    user = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        yield sysconfig.get_path("scripts", scheme=user)
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield os.path.join(packages, "bin")
    # lib/python3.X/site-packages below a prefix that is not this interpreter's (`pip --prefix`)
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(packages))), "bin")


def find_bin(name: str = "nnet3") -> str:
    """The path of a program, `nnet3` (the binary that holds them all) by default. Raises NotFoundError where there is none."""
    for folder in [*_folders(), *os.environ.get("PATH", "").split(os.pathsep)]:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise NotFoundError(f"there is no program {name!r} in {', '.join(_folders())} or on the PATH")


def command(name: str, *arguments: Argument) -> list[str]:
    """The words of a command that runs a program, for `subprocess`. It may be `nnet3` itself or a script, such as train.sh."""
    if name == "nnet3":
        program = [find_bin()]
    elif name.endswith(".sh"):
        program = [find_bin(name)]
    else:
        program = [find_bin(), name]
    return [*program, *(os.fspath(a) if isinstance(a, os.PathLike) else str(a) for a in arguments)]


@overload
def run(name: str, *arguments: Argument, input: str | None = None) -> str: ...
@overload
def run(name: str, *arguments: Argument, input: Data) -> bytes: ...
def run(name: str, *arguments: Argument, input: str | Data | None = None) -> str | bytes:
    """Runs a program and returns what it writes to standard output, as text if `input` is text or None, else as bytes.

    `input=b""` is no input, with the output as bytes. Raises ProgramError if the status is not 0, or if there is no program of this
    name, and ValueError if text is asked for and the output is not UTF-8. What the program logs is not shown.
    """
    as_bytes = isinstance(input, (bytes, bytearray, memoryview))
    data = input.encode() if isinstance(input, str) else input
    done = subprocess.run(command(name, *arguments), input=data, stdin=subprocess.DEVNULL if data is None else None,
                          capture_output=True, check=False)
    if done.returncode:
        raise ProgramError(f"{name} ended with status {done.returncode}", done.returncode, done.stderr.decode(errors="replace"))
    if as_bytes:
        return done.stdout
    try:
        return done.stdout.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} wrote bytes that are no text: with input=b\"\" run returns bytes") from error
