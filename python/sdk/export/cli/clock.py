# SPDX-License-Identifier: BSD-3-Clause
"""Finds where a model reads the clock. A program has the time of the export as a constant, and a verification a moment
later cannot tell the two apart."""

from __future__ import annotations

import datetime
import gc
import sys
from types import FrameType, TracebackType
from typing import Any

from sdk.exir._messages import TORCH_FOLDER

_FUNCTIONS = frozenset(
    f"{name}{suffix}" for name in ("time", "monotonic", "perf_counter", "process_time") for suffix in ("", "_ns")
) | {"localtime", "gmtime", "ctime", "asctime", "strftime"}
_METHODS = ("now", "utcnow", "today")


class ClockReads:
    """While active, records which code in this thread reads the clock, except PyTorch's code and functions that the
    garbage collector calls."""

    def __init__(self) -> None:
        self.places: list[str] = []
        """`time.time() (net.py:7)`, each once."""
        self._before: Any = None

    def __enter__(self) -> ClockReads:
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and (name := _clock(function)):
            file = frame.f_code.co_filename
            place = f"{name}() ({file}:{frame.f_lineno})"
            if not file.startswith(TORCH_FOLDER) and place not in self.places and not _of_collector(frame):
                self.places.append(place)


def _of_collector(frame: FrameType | None) -> bool:
    """Whether a frame runs inside a function that the garbage collector has called, which it may do at any moment."""
    callbacks = {getattr(each, "__code__", getattr(type(each).__call__, "__code__", None)) for each in gc.callbacks}
    while frame is not None and frame.f_code not in callbacks:
        frame = frame.f_back
    return frame is not None


def _clock(function: Any) -> str | None:
    """The name of a built-in function that reads the clock."""
    name = function.__name__
    if name in _FUNCTIONS and getattr(function, "__module__", None) == "time":
        return f"time.{name}"
    owner = getattr(function, "__self__", None)
    if name in _METHODS and isinstance(owner, type) and issubclass(owner, datetime.date):
        return f"datetime.{owner.__name__}.{name}"
    return None


def note_of(method: str, places: list[str]) -> str:
    """The summary's note on the places where a method reads the clock."""
    return (
        f"{method} reads the clock: {', '.join(places)}. The program has the time of the export instead, in every "
        "call, which the verification does not show. Make the time an input of the model."
    )
