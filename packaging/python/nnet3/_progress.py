"""A line that shows progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Union

Progress = Union[Callable[[int, int, str], object], bool, None]

_WIDTH = 30


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Bar:
    """A bar on standard error, with the time that is left. It is gone at the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = 0

    def __call__(self, done: int, total: int, name: str) -> None:
        share = done / total
        line = f"{name:9} {'█' * round(_WIDTH * share):·<{_WIDTH}} {round(100 * share):3} %"
        passed = time.monotonic() - self._began
        if share >= 0.05 and passed > 2:
            line += f", {_clock(passed / share - passed)} left"
        self._write("\r" + line.ljust(self._shown))
        self._shown = len(line)

    def close(self) -> None:
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (AttributeError, OSError, ValueError):  # a stream that is closed, or cannot show these signs
            pass


def shown(progress: Progress) -> Callable[[int, int, str], object] | None:
    """The function that hears of progress: the caller's, a bar, or none."""
    if progress is None:
        try:
            progress = sys.stderr.isatty()
        except (AttributeError, ValueError):
            progress = False
    if isinstance(progress, bool):
        return Bar() if progress else None
    if not callable(progress):
        raise TypeError(f"progress: expected a function of (done, total, name), or True, False or None, found {type(progress).__name__}")
    return progress
