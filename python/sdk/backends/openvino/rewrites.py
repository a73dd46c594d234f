# SPDX-License-Identifier: BSD-3-Clause
"""Replaces operators that OpenVINO's frontend lacks, or computes differently from PyTorch, by others.

Each function adds the calls to a graph of ATen and returns the last one, or None to leave the call as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node

_aten = torch.ops.aten


Rewrite = Callable[..., Node | None]


def _greater(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    """Uses Less with swapped operands, because OpenVINO's Greater is true for NaN."""
    return graph.call_function(_aten.lt.Tensor, (args[1], args[0]))


def _greater_equal(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    return graph.call_function(_aten.le.Tensor, (args[1], args[0]))


def _scalar(compare: Any) -> Callable[..., Node]:
    """Swaps the operands of a comparison with a number, which becomes a tensor with `full`."""

    def rule(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node:
        dtype = node.all_input_nodes[0].meta["val"].dtype
        number = graph.call_function(_aten.full.default, ([], float(args[1])), {"dtype": dtype})
        return graph.call_function(compare, (number, args[0]))

    return rule


def _extreme(is_less: bool) -> Callable[..., Node]:
    """A maximum or minimum that is NaN if an operand is, as in PyTorch; OpenVINO's is not."""

    def rule(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node:
        a, b = args
        takes_b = graph.call_function(_aten.lt.Tensor, (b, a) if is_less else (a, b))
        chosen = graph.call_function(_aten.where.self, (takes_b, b, a))
        is_nan = graph.call_function(_aten.ne.Tensor, (b, b))
        return graph.call_function(_aten.where.self, (is_nan, b, chosen))

    return rule


def _truncate(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    (x,) = args
    zero = graph.call_function(_aten.full.default, ([], 0.0), {"dtype": node.meta["val"].dtype})
    is_negative = graph.call_function(_aten.lt.Tensor, (x, zero))
    up, down = (graph.call_function(half, (x,)) for half in (_aten.ceil.default, _aten.floor.default))
    return graph.call_function(_aten.where.self, (is_negative, up, down))


def _sign(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    """(x > 0) - (x < 0), which is 0 for NaN as in PyTorch."""
    (x,) = args
    dtype = node.meta["val"].dtype
    zero = graph.call_function(_aten.full.default, ([], 0.0), {"dtype": dtype})
    above, below = (graph.call_function(_aten.lt.Tensor, pair) for pair in ((zero, x), (x, zero)))
    signs = [graph.call_function(_aten._to_copy.default, (truth,), {"dtype": dtype}) for truth in (above, below)]
    return graph.call_function(_aten.sub.Tensor, tuple(signs))


def _subtract(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    """Gives alpha by its name, as the overload for tensors takes it."""
    named = dict(zip(("alpha",), args[2:], strict=False))
    return graph.call_function(_aten.sub.Tensor, args[:2], {**kwargs, **named})


def _elu(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    """Adds the default of alpha, which the frontend does not have."""
    return graph.call_function(_aten.elu.default, (args[0], float(args[1]) if len(args) > 1 else 1.0))


def _logic(of_bits: Any) -> Callable[..., Node]:
    """Maps logical operators to bitwise ones, which give the same results for bool and which the frontend supports."""
    return lambda graph, node, args, kwargs: graph.call_function(of_bits, args)


def _index_put(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    """Adds a view with the result's shape: the frontend loses the rank, and cannot index a result without rank."""
    sizes = [size if isinstance(size, int) else -1 for size in node.meta["val"].shape]
    if sizes.count(-1) > 1:
        return None
    put = graph.call_function(_aten.index_put.default, args, kwargs)
    return graph.call_function(_aten.view.default, (put, sizes))


def _over_all(graph: Graph, node: Node, args: Any, kwargs: Any) -> Node | None:
    """Adds all dimensions to the call. ATen may leave them out to mean all, but the frontend requires them."""
    if len(args) > 1 and args[1]:
        return None
    dims = list(range(node.all_input_nodes[0].meta["val"].dim()))
    return graph.call_function(node.target._op, (args[0], dims, *args[2:]), kwargs)


REWRITES: dict[str, Rewrite] = {
    "gt.Tensor": _greater,
    "ge.Tensor": _greater_equal,
    "gt.Scalar": _scalar(_aten.lt.Tensor),
    "ge.Scalar": _scalar(_aten.le.Tensor),
    "maximum.default": _extreme(is_less=False),
    "minimum.default": _extreme(is_less=True),
    "amax.default": _over_all,
    "amin.default": _over_all,
    "mean.dim": _over_all,
    "sum.dim_IntList": _over_all,
    "var.correction": _over_all,
    "var.dim": _over_all,
    "elu.default": _elu,
    "index_put.default": _index_put,
    "logical_and.default": _logic(_aten.bitwise_and.Tensor),
    "logical_or.default": _logic(_aten.bitwise_or.Tensor),
    "logical_xor.default": _logic(_aten.bitwise_xor.Tensor),
    "sub.Scalar": _subtract,
    "sign.default": _sign,
    "trunc.default": _truncate,
}
