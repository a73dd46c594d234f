# SPDX-License-Identifier: BSD-3-Clause
"""The inverses of views: a tensor with the values that were written to a view of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.fx import Node

_aten = torch.ops.aten

Call: TypeAlias = Callable[..., Node]
Back: TypeAlias = Callable[[Call, Node, Node], Node]
"""Given a function that inserts calls, the tensor, and the new value of the view, returns the tensor's new value."""

_RESHAPES = frozenset(
    (
        *(_aten.view.default, _aten.reshape.default, _aten.flatten.using_ints, _aten.unflatten.int),
        *(_aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims, _aten.unsqueeze.default),
        *(_aten.view_as.default, _aten.reshape_as.default, _aten._unsafe_view.default),
    )
)
_SAME = frozenset(
    (_aten.alias.default, _aten.detach.default, _aten.contiguous.default, _aten.to.dtype, _aten.to.dtype_layout)
)
_PARTS = frozenset(
    (
        *(_aten.split.Tensor, _aten.split.sizes, _aten.split_with_sizes.default, _aten.chunk.default),
        *(_aten.tensor_split.sections, _aten.tensor_split.indices),
    )
)


def item_of(views: Node, index: int) -> tuple[Any, tuple[Any, ...]] | None:
    """An item of a list of views as an operator and its arguments; None for lists that are not parts of a tensor."""
    if views.target is not _aten.unbind.int and views.target not in _PARTS:
        return None
    dim = _arguments(views)["dim"]
    if views.target is _aten.unbind.int:
        return _aten.select.int, (views.args[0], dim, index)
    sizes = [part.shape[dim] for part in views.meta["val"]]
    if not all(isinstance(size, int) for size in sizes):
        return None
    start = sum(sizes[:index])
    return _aten.slice.Tensor, (views.args[0], dim, start, start + sizes[index])


def written_back(view: Node) -> Back | None:
    """The inverse of a view; None for views without one here."""
    given = _arguments(view)
    source = view.args[0].meta["val"]
    if view.target is _aten.select.int:
        return _one(given["dim"] % source.dim(), given["index"], source)
    if view.target is _aten.slice.Tensor:
        part = (given["dim"], given["start"], given["end"], given["step"])
        return lambda call, whole, new: call(_aten.slice_scatter.default, whole, new, *part)
    if view.target is _aten.narrow.default:
        return _part(given, source.shape[given["dim"]])
    if view.target is _aten.diagonal.default:
        dims = (given["offset"], given["dim1"], given["dim2"])
        return lambda call, whole, new: call(_aten.diagonal_scatter.default, whole, new, *dims)
    if view.target in _SAME:
        return lambda call, whole, new: new
    if view.target in _RESHAPES and all(isinstance(size, int) for size in source.shape):
        return lambda call, whole, new: call(_aten.reshape.default, new, list(source.shape))
    if view.target in _RESHAPES:
        return lambda call, whole, new: call(_aten.reshape_as.default, new, whole)
    order = _order(view, given, source.dim())
    if order is not None:
        inverse = [order.index(dim) for dim in range(len(order))]
        return lambda call, whole, new: call(_aten.permute.default, new, inverse)
    return None


def _arguments(view: Node) -> dict[str, Any]:
    schema = view.target._schema.arguments
    given = {argument.name: argument.default_value for argument in schema}
    given.update(zip((argument.name for argument in schema), view.args, strict=False))
    return {**given, **view.kwargs}


def _part(given: dict[str, Any], size: Any) -> Back | None:
    """The inverse of `narrow`, of known numbers."""
    start, length = given["start"], given["length"]
    if not all(isinstance(number, int) for number in (start, length, size)):
        return None
    start += size if start < 0 else 0
    part = (given["dim"], start, start + length)
    return lambda call, whole, new: call(_aten.slice_scatter.default, whole, new, *part)


def _one(dim: int, index: Any, source: torch.Tensor) -> Back:
    if isinstance(index, Node):
        return lambda call, whole, new: call(_aten.select_scatter.default, whole, new, dim, index)
    size = source.shape[dim]
    at = index % size if isinstance(size, int) else index
    end = None if at == -1 else at + 1

    def write(call: Call, whole: Node, new: Node) -> Node:
        # More backends have slices than have single indices.
        return call(_aten.slice_scatter.default, whole, call(_aten.unsqueeze.default, new, dim), dim, at, end)

    return write


def _order(view: Node, given: dict[str, Any], rank: int) -> list[int] | None:
    """The order of the dimensions in a view that permutes them."""
    order = list(range(rank))
    if view.target is _aten.permute.default:
        return [dim % rank for dim in given["dims"]]
    if view.target in (_aten.movedim.int, _aten.movedim.intlist):
        sizes = torch.empty(tuple(range(rank)), device="meta").movedim(given["source"], given["destination"]).shape
        return list(sizes)
    if view.target is _aten.t.default or view.target is _aten.numpy_T.default:
        return order[::-1]
    if view.target is _aten.mT.default:
        return [*order[:-2], order[-1], order[-2]]
    if view.target in (_aten.transpose.int, _aten.swapaxes.default, _aten.swapdims.default):
        first, second = (number for name, number in given.items() if name != "self")
        order[first], order[second] = order[second], order[first]
        return order
    return None
