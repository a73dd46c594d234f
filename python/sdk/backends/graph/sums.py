# SPDX-License-Identifier: BSD-3-Clause
"""Calls that add or subtract, whose factor `alpha` is easily overlooked."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.transforms.constants import get_constant


class Sum(NamedTuple):
    """`first + factor * second`. The operands are nodes or numbers."""

    first: Any
    second: Any
    factor: Any


def sum_of(node: Any) -> Sum | None:
    """The sum that a node computes with add, sub or rsub, in ATen or in the edge dialect; None for other nodes. In ATen
    the call may also write its result to its first operand."""
    signs = _SIGNS.get(name_of(node))
    if signs is None:
        return None
    sign, is_reversed = signs
    given = arguments_of(node)
    if isinstance(given["alpha"], Node):
        return None  # a number that is known when the program runs only
    first, second = (given[operand] for operand in (("other", "self") if is_reversed else ("self", "other")))
    return Sum(first, second, sign * given["alpha"])


def terms_of(node: Any) -> tuple[Any, Any] | None:
    """The operands of an addition without a factor, in their order; None for other nodes."""
    found = sum_of(node)
    return None if found is None or found.factor != 1 else (found.first, found.second)


def shift_of(node: Any, program: ExportedProgram | None = None) -> tuple[Node, float] | None:
    """(x, number) if a node computes x + number, or x - number with the number's sign changed; None for other nodes.
    With a `program`, the number may be a constant of one element."""
    found = sum_of(node)
    if found is None or not isinstance(found.first, Node):
        return None
    number = found.second
    if isinstance(number, Node):
        known = None if program is None else get_constant(program, number)
        number = known.item() if known is not None and known.numel() == 1 else None
    return None if number is None else (found.first, float(found.factor * number))


_SIGNS = {
    f"aten.{name}.{overload}": (sign, is_reversed)
    for names, sign, is_reversed in (("add add_", 1, False), ("sub sub_", -1, False), ("rsub", -1, True))
    for name in names.split()
    for overload in ("Tensor", "Scalar")
}
"""The sign of the second operand, and whether the call's operands are in reverse order, by operator."""
