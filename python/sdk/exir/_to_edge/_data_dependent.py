# SPDX-License-Identifier: BSD-3-Clause
"""Upper bounds of sizes that depend on data. torch.export omits some of them, and others are wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree
from torch.utils._sympy.value_ranges import ValueRanges

from sdk.exir.sym_util import upper_bound

aten = torch.ops.aten


def _numel(*tensors: torch.Tensor) -> int | None:
    """An upper bound of the number of elements of the shape to which the tensors broadcast; None if there is none."""
    count = 1
    for size in torch.broadcast_shapes(*(t.shape for t in tensors)):
        bound = upper_bound(size)
        if bound is None:
            return None
        count *= bound
    return count


def _along(x: torch.Tensor, dim: int | None) -> int | None:
    return _numel(x) if dim is None else upper_bound(x.shape[dim]) if x.dim() else 1


_BOUNDS: dict[torch._ops.OpOverload, Callable[..., int | None]] = {
    aten._unique2.default: lambda x, *_, **__: _numel(x),
    aten.masked_select.default: lambda x, mask: _numel(x, mask),
    aten.nonzero.default: lambda x: _numel(x),
    aten.unique_consecutive.default: lambda x, inverse=False, counts=False, dim=None: _along(x, dim),
    aten.unique_dim.default: lambda x, dim, *_, **__: _along(x, dim),
}
"""Maps each operator to a function of its arguments, which returns the largest size that the result can have."""


_DIM = {aten.unique_consecutive.default: 3, aten.unique_dim.default: 1}
"""The position of the argument `dim`, by operator."""


def corrected(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> Any:
    """The fake result of a call, corrected: for a negative `dim`, PyTorch 2.13 returns unique slices with too many
    dimensions, and counts of a wrong size."""
    place = _DIM.get(op)
    dim = kwargs.get("dim", args[place] if place is not None and len(args) > place else None)
    if place is None or dim is None or dim >= 0 or value[0].dim() == args[0].dim():
        return value
    sizes = list(args[0].shape)
    sizes[dim] = value[0].shape[len(sizes) + dim]
    with value[0].fake_mode:
        return torch.empty(sizes, dtype=value[0].dtype), value[1], torch.empty([sizes[dim]], dtype=value[2].dtype)


def has_bound(op: torch._ops.OpOverload) -> bool:
    """Whether `bound_sizes` handles an operator."""
    return op in _BOUNDS


def bound_sizes(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> None:
    """Sets the range of the symbols that first occur in the shape of the result `value` of a call. `args` and `kwargs`
    hold fake tensors."""
    bound = _BOUNDS[op](*args, **kwargs)
    if bound is None:
        return
    for tensor in pytree.tree_leaves(value):
        for size in tensor.shape if isinstance(tensor, torch.Tensor) else ():
            if isinstance(size, torch.SymInt) and size.node.expr.is_symbol and size.node.shape_env is not None:
                ranges, symbol = size.node.shape_env.var_to_range, size.node.expr
                known = ranges.get(symbol)
                if known is None or size.node.shape_env.is_unbacked_symint(symbol):
                    lower = known.lower if known is not None else sympy.Integer(0)
                    ranges[symbol] = ValueRanges(lower, sympy.Integer(max(bound, int(lower))))
