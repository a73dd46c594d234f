# SPDX-License-Identifier: BSD-3-Clause
"""A line a stage, with its time, on stderr: rewritten in place on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO


@dataclass
class Stage:
    """One finished or running stage. `detail` may be set while it runs; it stands behind the name."""

    name: str
    detail: str = ""
    seconds: float = 0.0


@dataclass
class Progress:
    """Shows and remembers the stages of one export."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[Stage]:
        """Times the block. A stage that raises is shown as failed, and the exception goes on."""
        stage = Stage(name, detail)
        live = self.stream.isatty()
        if live:
            self.stream.write(f"  {paint('…', 'dim', self.stream)} {name:<8} {detail}")
            self.stream.flush()
        start = time.perf_counter()
        mark = paint("✗", "red", self.stream)
        try:
            yield stage
            mark = paint("✓", "green", self.stream)
        finally:
            stage.seconds = time.perf_counter() - start
            self.stages.append(stage)
            taken = paint(f"{stage.seconds:6.1f} s", "dim", self.stream)
            erase = "\r\033[K" if live else ""
            self.stream.write(f"{erase}  {mark} {name:<8} {taken}  {stage.detail}\n")
            self.stream.flush()


_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def paint(text: str, colour: str, stream: TextIO) -> str:
    """`text` in a colour if `stream` is a terminal and NO_COLOR is not set (https://no-color.org)."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{_COLOURS[colour]}m{text}\033[0m"


def readable_bytes(count: int) -> str:
    """`512 B`, `1.5 kB`, `13.6 MB`: decimal units, as file managers show them."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


def counted(count: int, noun: str) -> str:
    """`1 operator`, `2 operators`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
