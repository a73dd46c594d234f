# SPDX-License-Identifier: BSD-3-Clause
"""Upper bounds of symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy
import torch
from torch.utils._sympy.value_ranges import bound_sympy

from sdk.exir.error import ExportError, ExportErrorType


class UnboundedSizeError(ExportError):
    """A size has no upper bound, so memory for it cannot be planned."""

    def __init__(self, expr: object) -> None:
        super().__init__(
            ExportErrorType.NOT_SUPPORTED,
            f"size {expr} has no upper bound, so no memory can be planned for it. Give the dynamic dimension one "
            f"when exporting, for "
            'example torch.export.Dim("batch", min=1, max=64), or, for a size that depends on data, torch._check(n '
            "<= 64) in the model.",
        )


def upper_bound(size: int | torch.SymInt) -> int | None:
    """The largest value `size` can take; None if it is unbounded."""
    if isinstance(size, int):
        return size
    node = size.node
    expr = node.shape_env.replace(node.expr)
    if expr.is_Integer:
        return int(expr)
    ranges = node.shape_env.var_to_range
    bound = bound_sympy(expr, {s: ranges[s] for s in expr.free_symbols if s in ranges}).upper
    if not isinstance(bound, (int, sympy.Integer)) or bound >= 2**31 - 1:
        return None
    return int(bound)


def eval_upper_bound(maybe_symint: int | torch.SymInt) -> int:
    """The largest value that a size can take. Raises `UnboundedSizeError` if there is none."""
    bound = upper_bound(maybe_symint)
    if bound is None:
        raise UnboundedSizeError(maybe_symint)
    return bound


def eval_expr(symint: int | torch.SymInt) -> int | None:
    """The value a symbolic size had in the example inputs; None if it depends on data."""
    if isinstance(symint, int):
        return symint
    return None if symint.node.hint is None else int(symint.node.hint)


def eval_shape(shape: Iterable[int | torch.SymInt]) -> list[int | None]:
    """`eval_expr` of every size."""
    return [eval_expr(size) for size in shape]


def eval_shape_upper_bound(shape: Sequence[int | torch.SymInt]) -> list[int]:
    """`eval_upper_bound` of every size."""
    return [eval_upper_bound(size) for size in shape]


def is_symbolic(shape: Iterable[int | torch.SymInt]) -> bool:
    """Whether any size is symbolic."""
    return any(isinstance(size, torch.SymInt) for size in shape)


def are_same_sizes(some: Sequence[int | torch.SymInt], others: Sequence[int | torch.SymInt]) -> bool:
    """Whether sizes, or strides, are the same for every value of their symbols.

    `==` compares the values that the symbols have in the example inputs, and fails for sizes that depend on data.
    """
    return len(some) == len(others) and all(map(_is_same_number, some, others))


def _is_same_number(one: object, other: object) -> bool:
    expressions = [getattr(getattr(value, "node", None), "expr", value) for value in (one, other)]
    return bool(expressions[0] == expressions[1])


def collect_free_symbols(shape: Iterable[int | torch.SymInt]) -> set[str]:
    """Names of the symbols that a shape depends on."""
    return {str(symbol) for size in shape if isinstance(size, torch.SymInt) for symbol in size.node.expr.free_symbols}
