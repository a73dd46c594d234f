# SPDX-License-Identifier: BSD-3-Clause
"""The dynamic sizes of a method's inputs, by which the runtime checks the inputs of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.utils._sympy.value_ranges import ValueRanges

from sdk.exir.schema import TensorShapeDynamism
from sdk.exir.sym_util import input_lower_bound
from sdk.exir.tensor import TensorSpec

_LARGEST_TERM = 2**30
"""Limit of a factor and of an offset: the runtime multiplies in 64 bits."""


def dynamic_sizes(
    inputs: Sequence[tuple[TensorSpec | None, Any]], ranges: Mapping[sympy.Symbol, ValueRanges]
) -> list[int] | None:
    """`ExecutionPlan.dynamic_sizes` of a method.

    Arguments:
        inputs: for each input, the spec, which has the largest sizes, and the fake tensor, which has symbolic sizes.
        ranges: the program's `range_constraints`.
    """
    numbers: list[int] = []
    first_of: dict[sympy.Symbol, int] = {}
    any_dynamic = False
    for index, (spec, value) in enumerate(inputs):
        if spec is None or spec.shape_dynamism != TensorShapeDynamism.DYNAMIC_BOUND:
            continue
        if not isinstance(value, torch.Tensor) or value.dim() != len(spec.shape):
            return None
        any_dynamic = True
        for dim, (size, largest) in enumerate(zip(value.shape, spec.shape, strict=True)):
            if isinstance(size, int):
                continue
            expr = size.node.shape_env.replace(size.node.expr)
            if expr.is_Integer:
                continue
            entry = len(numbers) // 6
            symbol, factor, offset = _linear(expr)
            first = entry if symbol is None else first_of.setdefault(symbol, entry)
            numbers += [index, dim, min(input_lower_bound(size, ranges), int(largest)), factor, offset, first]
    return numbers if any_dynamic else None


def _linear(expr: sympy.Expr) -> tuple[sympy.Symbol | None, int, int]:
    """(n, factor, offset) if the size is factor * n + offset, otherwise (None, 1, 0): only its bounds are checked."""
    if len(expr.free_symbols) == 1:
        (symbol,) = expr.free_symbols
        if expr.is_polynomial(symbol) and sympy.degree(expr, symbol) == 1:
            factor, offset = sympy.Poly(expr, symbol).all_coeffs()
            if factor.is_Integer and offset.is_Integer and 0 < factor <= _LARGEST_TERM and abs(offset) <= _LARGEST_TERM:
                return symbol, int(factor), int(offset)
    return None, 1, 0
