# SPDX-License-Identifier: BSD-3-Clause
"""Operators that write elements at indices, decomposed into index_put, scatter_reduce and slice_scatter; and views by
strides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten


def _diagonal_scatter(x: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal is every (columns + 1)-th element of the flattened rows."""
    rank = x.dim()
    dim1, dim2 = dim1 % rank, dim2 % rank
    order = [*(d for d in range(rank) if d not in (dim1, dim2)), dim1, dim2]
    moved = x.permute(order)
    columns, count = moved.shape[-1], src.shape[-1]
    if count == 0:
        return x.clone()
    start = offset if offset >= 0 else -offset * columns
    flat = moved.reshape([*moved.shape[:-2], -1])
    flat = aten.slice_scatter(flat, src, flat.dim() - 1, start, start + (count - 1) * (columns + 1) + 1, columns + 1)
    return flat.reshape(moved.shape).permute([order.index(d) for d in range(rank)])


def fill_diagonal(x: Tensor, value: Any, wrap: bool = False) -> Tensor:
    """Fills every (columns + 1)-th element of a matrix, without `wrap` only within its upper square; in a tensor of
    more dimensions, which have equal sizes, the elements whose indices are all equal."""
    step = sum(math.prod(x.shape[d + 1 :]) for d in range(x.dim()))
    end = x.numel() if wrap or x.dim() > 2 else x.shape[1] ** 2
    places = torch.arange(x.numel()).reshape(x.shape)
    return torch.where((places % step == 0) & (places < end), torch.tensor(value, dtype=x.dtype), x)


def _as_strided(x: Tensor, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None) -> Any:
    """The tensor itself if only strides of dimensions with one element change, as at the end of a mean over the pixels
    of a channels-last image (`adaptive_avg_pool2d`)."""
    if len(size) != x.dim() or (storage_offset is not None and storage_offset != x.storage_offset()):
        return NotImplemented
    for count, step, old_count, old_step in zip(size, stride, x.shape, x.stride(), strict=True):
        moves = not statically_known_true(count == 1) and not statically_known_true(step == old_step)
        if moves or not statically_known_true(count == old_count):
            return NotImplemented
    return x


def _as_strided_scatter(
    x: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    index = torch.full([1] * len(size), storage_offset or 0, dtype=torch.int64)
    for d, (count, step) in enumerate(zip(size, stride, strict=True)):
        index = index + torch.arange(count).reshape([-1] + [1] * (len(size) - 1 - d)) * step
    index = index.expand(list(size)).reshape(-1)
    return aten.index_put(x.reshape(-1), [index], src.expand(list(size)).reshape(-1)).reshape(x.shape)


def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    flat, index = x.reshape(-1), index.reshape(-1)
    if x.numel() == 0:
        return x.clone()
    return aten.index_put(flat, [index], source.reshape(-1), accumulate).reshape(x.shape)


def _index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if x.dim() == 0:
        index, source = index.reshape(-1), source.reshape(-1)
        return _index_reduce(x.reshape(1), 0, index, source, reduce, include_self=include_self).reshape([])
    dim = dim % x.dim()
    shape = [1] * source.dim()
    shape[dim] = -1
    places = index.reshape(shape).expand(source.shape).to(torch.int64)
    return aten.scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


_REDUCTIONS = {"add": "sum", "multiply": "prod"}


def _scatter_reduced(x: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    # scatter_reduce promotes bool sums, and scatter(reduce="add") does not count them either.
    return aten.scatter_reduce(x, dim, index, src, _REDUCTIONS[reduce], include_self=True)


def _scatter_reduced_value(x: Tensor, dim: int, index: Tensor, value: Any, *, reduce: str) -> Tensor:
    src = torch.full(list(index.shape), value, dtype=x.dtype)
    return aten.scatter_reduce(x, dim, index, src, _REDUCTIONS[reduce], include_self=True)


def _nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Writes the index of each nonzero element to the row of its number in row-major order. The others, and those
    beyond `size`, go to an additional row, which is dropped.
    """
    if x.dim() == 0:
        return aten.full([size, 0], fill_value, dtype=torch.int64)
    found = (x != 0).reshape(-1)
    number = torch.cumsum(found.to(torch.int64), 0) - 1
    place = torch.where(torch.logical_and(found, number < size), number, size)
    rows = torch.full([size + 1], -1, dtype=torch.int64)
    linear = aten.scatter.src(rows, 0, place, torch.arange(x.numel())) if x.numel() else rows
    linear = linear[:size]
    columns = []
    remaining = torch.clamp(linear, min=0)
    for extent in reversed(x.shape):
        columns.append(torch.where(linear < 0, fill_value, remaining % max(extent, 1)))
        remaining = torch.div(remaining, max(extent, 1), rounding_mode="floor")
    return torch.stack(columns[::-1], 1)


def _segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    if lengths is None and offsets is None:
        return NotImplemented
    if offsets is not None:
        ends = offsets[..., 1:].contiguous()
        lengths = ends - offsets[..., :-1]
    else:
        assert lengths is not None
        ends = torch.cumsum(lengths, -1)
    segments, extent = ends.shape[-1], data.shape[axis]
    positions = torch.arange(extent, dtype=ends.dtype).expand([*ends.shape[:-1], extent]).contiguous()
    # Elements after the last segment go to an additional segment, which is dropped.
    segment = torch.searchsorted(ends, positions, right=True)
    trailing = [1] * (data.dim() - axis - 1)
    places = segment.reshape([*segment.shape, *trailing]).expand(data.shape)
    start = initial if initial is not None else {"max": -torch.inf, "min": torch.inf, "prod": 1}.get(reduce, 0)
    shape = [*data.shape[:axis], segments + 1, *data.shape[axis + 1 :]]
    kind = {"max": "amax", "min": "amin", "prod": "prod"}.get(reduce, "sum")
    result = torch.full(shape, start, dtype=data.dtype)
    result = aten.scatter_reduce(result, axis, places, data, kind, include_self=True).narrow(axis, 0, segments)
    if reduce == "mean":
        counts = lengths.reshape([*lengths.shape, *trailing])
        empty = torch.full([], start if initial is not None else torch.nan, dtype=data.dtype)
        result = torch.where(counts > 0, result / torch.clamp(counts, min=1).to(data.dtype), empty)
    return result


SCATTER: dict[torch._ops.OperatorBase, Callable] = {
    aten.as_strided.default: _as_strided,
    aten.as_strided_scatter.default: _as_strided_scatter,
    aten.diagonal_scatter.default: _diagonal_scatter,
    aten.index_reduce.default: _index_reduce,
    aten.nonzero_static.default: _nonzero_static,
    aten.put.default: _put,
    aten.scatter.reduce: _scatter_reduced,
    aten.scatter.value_reduce: _scatter_reduced_value,
    aten.segment_reduce.default: _segment_reduce,
}
"""Maps each operator to the function that computes it."""
