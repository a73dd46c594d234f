# SPDX-License-Identifier: BSD-3-Clause
"""The backends that `--backend` knows. A new one is one line here: its name and where its partitioner is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdk.exir.backend.partitioner import Partitioner

BACKENDS: dict[str, str | None] = {
    "portable": None,  # the portable kernels: no partitioner takes anything away from them
}
"""Name -> `module:function` that returns its partitioner."""


def partitioners(names: Iterable[str]) -> list[Partitioner]:
    """The partitioners of the named backends, in the order of their priority."""
    made: list[Partitioner] = []
    for name in names:
        place = BACKENDS[name]
        if place is not None:
            module, _, function = place.partition(":")
            make: Callable[[], Partitioner] = getattr(import_module(module), function)
            made.append(make())
    return made
