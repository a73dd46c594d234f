# SPDX-License-Identifier: BSD-3-Clause
"""Types of arguments, and what arguments name."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from sdk.command import CommandError, describe

if TYPE_CHECKING:
    from sdk.backends.registry import Backend


def count(least: int) -> Callable[[str], int]:
    """Integers from `least` to 2^40."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= 1 << 40:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least}, found `{text}`")
        return int(text)

    return parse


def numbers(text: str) -> tuple[float, ...]:
    """Numbers that are separated by commas."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(map(math.isfinite, found)):
        raise argparse.ArgumentTypeError(f"expected numbers with commas between them, found `{text}`")
    return found


def seconds(text: str) -> float:
    """A positive time in seconds, at most a day."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 86400:
        raise argparse.ArgumentTypeError(f"expected a number of seconds, found `{text}`")
    return found


def number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Finite numbers from `least` to `most`."""
    expected = f"{least:g} up" if most == math.inf else f"{least:g} to {most:g}"

    def parse(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not least <= found <= most or found == math.inf:
            raise argparse.ArgumentTypeError(f"expected a number from {expected}, found `{text}`")
        return found

    return parse


def chosen_backend(name: str | None) -> Backend | None:
    """The backend of `--backend NAME`: by default the one for CPUs; None for `portable`, or if no backend is the
    default. Raises CommandError for an unknown backend, or one without a delegate."""
    from sdk.backends.registry import BackendError, backend, default_backend

    if name == "portable":
        return None
    try:
        found = default_backend() if name is None else backend(name)
    except BackendError as error:
        raise CommandError(f"--backend: {describe(error)}") from None
    if found is not None and found.partitioner is None:
        raise CommandError(f"--backend {found.name} has no delegate; name another one, or `portable`")
    return found
