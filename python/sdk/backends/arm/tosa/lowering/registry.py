# SPDX-License-Identifier: BSD-3-Clause
"""The table of lowerings: a function for each operator of the edge dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True)
class Lowering:
    """How calls of an operator are lowered.

    Attributes:
        function: Gets a `Call`, and returns its result: a `Value`, a `Placed`, or a list of them. It raises
            UnsupportedError for calls that TOSA cannot express; partitioners show the text.
        indices: Whether operands and results may be int64. They are kept as int32: the operator chooses, moves or
            produces indices, and does not compute with them.
        moves: Whether the operator only moves elements: it computes nothing.
    """

    function: Function
    indices: bool = False
    moves: bool = False


LOWERINGS: dict[str, Lowering] = {}
"""By names like `aten.add.Tensor`."""


def lowers(*names: str, indices: bool = False, moves: bool = False) -> Callable[[Function], Function]:
    """Puts a function into the table."""

    def put(function: Function) -> Function:
        for name in names:
            assert name not in LOWERINGS, name
            LOWERINGS[name] = Lowering(function, indices or moves, moves)
        return function

    return put
