# SPDX-License-Identifier: BSD-3-Clause
"""Formatting of numbers, phrases of messages, and colours on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from math import isinf
from pathlib import Path
from typing import TextIO

_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def paint(text: str, colour: str, stream: TextIO) -> str:
    """`text` in a colour if `stream` is a terminal that is not "dumb" and NO_COLOR is not set
    (https://no-color.org)."""
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


def no_file(path: str | os.PathLike[str]) -> str:
    """The sentence for a path where a file was expected."""
    name = os.fspath(path)
    return f"`{name}` is a folder; name a file in it." if Path(name).is_dir() else f"There is no file `{name}`."


def similar(wrong: str, known: Iterable[str]) -> str | None:
    """Returns the known name that `wrong` probably means, or None if no name is close. Ignores case, and the dashes of
    options, which would make all options similar."""
    names: dict[str, list[str]] = {}
    for name in known:
        names.setdefault(name.lower().lstrip("-"), []).append(name)
    matches = get_close_matches(wrong.lower().lstrip("-"), names, n=1, cutoff=0.65)
    return get_close_matches(wrong, names[matches[0]], n=1, cutoff=0)[0] if matches else None


def relative(difference: float, share: float) -> str:
    """Formats a difference in relation to the expected output, which may be zero everywhere: `0.001 of the output's
    largest value`."""
    if isinf(share) and not isinf(difference):
        return "an infinite share of an output of zeros"
    return f"{share:.2g} of the output's largest value"


def counted(count: int, noun: str) -> str:
    """`1 operator`, `2 operators`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def readable_seconds(seconds: float) -> str:
    """`0.021 ms`, `12.3 ms`, `1.52 s`: three digits, or three decimals below 1 ms."""
    scaled, unit = (seconds, "s") if seconds >= 1 else (seconds * 1e3, "ms")
    digits = 1 if scaled >= 10 else 2 if scaled >= 1 else 3
    return f"{scaled:.{0 if scaled >= 100 else digits}f} {unit}"
