# SPDX-License-Identifier: BSD-3-Clause
"""Reducers: functions that turn a tapped value into an output."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from sdk.exir.dialects._ops import ops


@dataclass(frozen=True)
class StatReducer:
    """Numbers that describe a tensor."""

    name: str
    fields: tuple[str, ...]
    """The meaning of each number; empty if the output is the whole tensor."""
    emit: Callable[[Graph, Node], Node]
    """Inserts operators of edge dialect that compute the numbers, float32 [fields], from a node's value."""
    eager: Callable[[Tensor], Tensor]
    """Computes the same in eager mode."""


Call = Callable[..., Any]
"""Calls an operator, or inserts the call into a graph."""


def _in_graph(graph: Graph, target: Any, *args: Any, **kwargs: Any) -> Node:
    """A call whose result has the metadata that the compiler needs."""
    node = graph.call_function(target, args, kwargs)
    values = map_arg((args, kwargs), lambda argument: argument.meta["val"])
    mode = next(value.fake_mode for value in _tensors(values[0]))
    with mode:
        node.meta["val"] = target(*values[0], **values[1])
    return node


def _tensors(values: Any) -> list[Any]:
    return [value for value in torch.utils._pytree.tree_leaves(values) if isinstance(value, Tensor)]


def _stats(call: Call, x: Any, value: Tensor) -> Any:
    """The numbers of STATS. `value` has the shape and the dtype of `x`, which may be a node."""
    aten = ops.edge.aten
    if not all(isinstance(size, int) for size in value.shape):
        raise ValueError(f"STATS needs the size of a tensor, found {list(value.shape)}: use FULL_TENSOR")
    count = value.numel()
    if count == 0:
        raise ValueError("STATS needs a tensor with elements")
    if value.dtype != torch.float32 or not value.is_contiguous():
        order = list(range(value.dim())) or None
        x = call(ops.edge.dim_order_ops._to_dim_order_copy.default, x, dtype=torch.float32, dim_order=order)
    x = call(aten.view_copy.default, x, [count])
    absolute, squares = call(aten.abs.default, x), call(aten.mul.Tensor, x, x)
    largest = partial(call, aten.amax.default)
    mean = partial(call, aten.mean.dim)
    total = partial(call, aten.sum.dim_IntList)
    average = mean(x, [0], True)
    deviation = call(aten.sub.Tensor, x, average)
    variance = mean(call(aten.mul.Tensor, deviation, deviation), [0])

    def counted(mask: Any) -> Any:
        return total(mask, [0], dtype=torch.float32)

    highest = call(aten.topk.default, absolute, max(1, -(-count // 100)))
    numbers = (
        call(aten.amin.default, x, [0]),
        largest(x, [0]),
        mean(x, [0]),
        largest(absolute, [0]),
        mean(absolute, [0]),
        call(aten.sqrt.default, variance),
        call(aten.sqrt.default, mean(squares, [0])),
        total(absolute, [0]),
        call(aten.sqrt.default, total(squares, [0])),
        counted(call(aten.isnan.default, x)),
        counted(call(aten.isinf.default, x)),
        counted(call(aten.eq.Scalar, x, 0)),
        call(aten.amin.default, call(operator.getitem, highest, 0), [0]),
    )
    return call(aten.stack.default, list(numbers))


def _direct(target: Any, *args: Any, **kwargs: Any) -> Any:
    return target(*args, **kwargs)


FULL_TENSOR = StatReducer("FULL_TENSOR", (), lambda graph, node: node, lambda x: x.detach())
"""The tensor itself."""
STATS = StatReducer(
    "STATS",
    (
        *("min", "max", "mean", "abs_max", "abs_mean", "std", "rms", "l1_norm", "l2_norm"),
        *("nan_count", "inf_count", "zero_count", "p99_abs"),
    ),
    lambda graph, node: _stats(partial(_in_graph, graph), node, node.meta["val"]),
    lambda x: _stats(_direct, x.detach(), x),
)
"""Statistics over all elements in float32. `std` divides by the number of elements; `p99_abs` is the smallest of the
largest 1 % of the absolute values."""

_REDUCERS = {reducer.name: reducer for reducer in (FULL_TENSOR, STATS)}


def get_reducer(name_or_reducer: str | StatReducer) -> StatReducer:
    """Returns the reducer with a name, or registers the given reducer and returns it.

    Raises ValueError for a name that is not known, and for a reducer with the name of another one.
    """
    if isinstance(name_or_reducer, StatReducer):
        if _REDUCERS.setdefault(name_or_reducer.name, name_or_reducer) != name_or_reducer:
            raise ValueError(f"there is another reducer of the name {name_or_reducer.name!r}: choose another name")
        return name_or_reducer
    if name_or_reducer not in _REDUCERS:
        raise ValueError(f"the reducer {name_or_reducer!r} is not known; known are {', '.join(sorted(_REDUCERS))}")
    return _REDUCERS[name_or_reducer]
