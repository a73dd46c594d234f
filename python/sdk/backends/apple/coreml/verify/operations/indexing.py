# SPDX-License-Identifier: BSD-3-Clause
"""Slices, gathering, scattering and sorting."""

from __future__ import annotations

from typing import Any

import torch

from sdk.backends.apple.coreml.verify.operations.registry import flag, in_range, integer, ints, number, operation


def _slices(x: torch.Tensor, begin: Any, end: Any, stride: Any, begin_mask: Any, end_mask: Any) -> list[torch.Tensor]:
    """The positions that a slice takes in each dimension."""
    rank = x.dim()
    begins, ends = ints(begin), ints(end)
    steps = [1] * rank if stride is None else ints(stride)
    from_start = [False] * rank if begin_mask is None else [bool(i) for i in ints(begin_mask)]
    to_end = [False] * rank if end_mask is None else [bool(i) for i in ints(end_mask)]
    found = []
    for axis, size in enumerate(x.shape):
        chosen = slice(None if from_start[axis] else begins[axis], None if to_end[axis] else ends[axis], steps[axis])
        found.append(torch.tensor(range(size)[chosen], dtype=torch.int64))
    return found


def _squeezed(squeeze_mask: Any, rank: int) -> list[bool]:
    return [False] * rank if squeeze_mask is None else [bool(i) for i in ints(squeeze_mask)]


@operation("slice_by_index")
def slice_by_index(
    x: torch.Tensor,
    begin: Any,
    end: Any,
    stride: Any = None,
    begin_mask: Any = None,
    end_mask: Any = None,
    squeeze_mask: Any = None,
) -> torch.Tensor:
    """Returns x[begin:end:stride] in each dimension. Masks remove a bound, or select one element and remove the
    dimension."""
    squeezed = _squeezed(squeeze_mask, x.dim())
    ends = ints(end)
    if any(squeezed):
        # Only `begin` counts for a squeezed dimension.
        begins = ints(begin)
        ends = [b + 1 if s and b != -1 else e for b, e, s in zip(begins, ends, squeezed, strict=True)]
        masks = [False] * x.dim() if end_mask is None else [bool(i) for i in ints(end_mask)]
        end_mask = [(s and b == -1) or (m and not s) for b, s, m in zip(begins, squeezed, masks, strict=True)]
    for axis, places in enumerate(_slices(x, begin, ends, stride, begin_mask, end_mask)):
        x = x.index_select(axis, places)
    return x.squeeze(tuple(axis for axis, gone in enumerate(squeezed) if gone)) if any(squeezed) else x


@operation("slice_by_size")
def slice_by_size(x: torch.Tensor, begin: Any, size: Any) -> torch.Tensor:
    """`size` elements from `begin` on in each dimension; -1 takes all."""
    for axis, (start, count) in enumerate(zip(ints(begin), ints(size), strict=True)):
        start = start % x.shape[axis] if start < 0 else start
        x = x.narrow(axis, start, x.shape[axis] - start if count == -1 else count)
    return x


@operation("slice_update")
def slice_update(
    x: torch.Tensor,
    update: torch.Tensor,
    begin: Any,
    end: Any,
    stride: Any = None,
    begin_mask: Any = None,
    end_mask: Any = None,
    squeeze_mask: Any = None,
) -> torch.Tensor:
    """x with a slice replaced."""
    squeezed = _squeezed(squeeze_mask, x.dim())
    ends = [b + 1 if s else e for b, e, s in zip(ints(begin), ints(end), squeezed, strict=True)]
    places = _slices(x, begin, ends, stride, begin_mask, end_mask)
    sizes = [len(place) for place in places]
    result = x.clone()
    result[torch.meshgrid(*places, indexing="ij")] = update.reshape(sizes).to(x.dtype)
    return result


@operation("gather")
def gather(
    x: torch.Tensor, indices: torch.Tensor, axis: Any = None, batch_dims: Any = None, validate_indices: Any = None
) -> torch.Tensor:
    """The slices of x at indices along an axis."""
    dim, batch = integer(axis) % x.dim(), integer(batch_dims)
    chosen = in_range(indices, x.shape[dim])
    if batch == 0:
        found = x.index_select(dim, chosen.reshape(-1))
        return found.reshape([*x.shape[:dim], *chosen.shape, *x.shape[dim + 1 :]])
    rows = [
        gather(row, places, torch.tensor(dim - 1), torch.tensor(batch - 1))
        for row, places in zip(x, chosen, strict=True)
    ]
    return torch.stack(rows)


@operation("gather_along_axis")
def gather_along_axis(
    x: torch.Tensor, indices: torch.Tensor, axis: Any = None, validate_indices: Any = None
) -> torch.Tensor:
    """The elements of x at indices along an axis, one for each index."""
    dim = integer(axis) % x.dim()
    return torch.take_along_dim(x, in_range(indices, x.shape[dim]), dim)


@operation("gather_nd")
def gather_nd(
    x: torch.Tensor, indices: torch.Tensor, batch_dims: Any = None, validate_indices: Any = None
) -> torch.Tensor:
    """The slices of x at the positions in the last dimension of the indices."""
    batch = integer(batch_dims)
    if batch:
        return torch.stack(
            [gather_nd(row, places, torch.tensor(batch - 1)) for row, places in zip(x, indices, strict=True)]
        )
    places = [in_range(place, x.shape[axis]) for axis, place in enumerate(indices.unbind(-1))]
    return x[tuple(places)]


_REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _merge(data: torch.Tensor, places: tuple[torch.Tensor, ...], updates: torch.Tensor, mode: str) -> torch.Tensor:
    """data with updates at positions."""
    updates = updates.to(data.dtype)
    if mode == "sub":
        return data.clone().index_put(places, -updates, accumulate=True)
    if mode == "div":
        mode, updates = "mul", 1 / updates
    if mode == "update":
        return data.clone().index_put(places, updates)
    if mode == "add":
        return data.clone().index_put(places, updates, accumulate=True)
    numbers = torch.arange(data.numel()).reshape(data.shape)[places].reshape(-1)
    flat = data.reshape(-1).scatter_reduce(0, numbers, updates.reshape(-1), _REDUCE[mode], include_self=True)
    return flat.reshape(data.shape)


@operation("scatter")
def scatter(
    data: torch.Tensor,
    indices: torch.Tensor,
    updates: torch.Tensor,
    axis: Any = None,
    mode: str = "add",
    validate_indices: Any = None,
) -> torch.Tensor:
    """data with slices along an axis replaced or combined."""
    dim = integer(axis) % data.dim()
    places = in_range(indices, data.shape[dim])
    moved = data.movedim(dim, 0)
    if updates.dim() > moved.dim() - 1 + places.dim():
        updates = updates.reshape(updates.shape[: moved.dim() - 1 + places.dim()])
    source = list(range(dim, dim + places.dim()))
    updates = updates.movedim(source, list(range(places.dim()))) if places.dim() else updates
    return _merge(moved, (places,), updates, mode).movedim(0, dim)


@operation("scatter_along_axis")
def scatter_along_axis(
    data: torch.Tensor,
    indices: torch.Tensor,
    updates: torch.Tensor,
    axis: Any = None,
    mode: str = "add",
    validate_indices: Any = None,
) -> torch.Tensor:
    """data with single elements along an axis replaced or combined."""
    dim = integer(axis) % data.dim()
    places = in_range(indices, data.shape[dim])
    grid = list(torch.meshgrid(*(torch.arange(size) for size in places.shape), indexing="ij"))
    grid[dim] = places
    return _merge(data, tuple(grid), updates, mode)


@operation("scatter_nd")
def scatter_nd(
    data: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, mode: str = "add", validate_indices: Any = None
) -> torch.Tensor:
    """data with slices at the positions in the last dimension of the indices replaced or combined."""
    places = tuple(in_range(place, data.shape[axis]) for axis, place in enumerate(indices.unbind(-1)))
    return _merge(data, places, updates, mode)


@operation("argsort")
def argsort(x: torch.Tensor, axis: Any = None, ascending: Any = None) -> torch.Tensor:
    """The indices that sort x."""
    return torch.argsort(x, dim=integer(axis, -1), descending=not flag(ascending), stable=True).to(torch.int32)


@operation("topk")
def topk(
    x: torch.Tensor,
    k: Any = None,
    axis: Any = None,
    ascending: Any = None,
    sort: Any = None,
    return_indices: Any = None,
    output_indices_dtype: str = "int32",
) -> Any:
    """The k largest or smallest elements, and their indices."""
    dim = integer(axis, -1)
    count = x.shape[dim] if integer(k, 1) == -1 else integer(k, 1)
    values, places = torch.sort(x, dim=dim, descending=not flag(ascending), stable=True)
    values, places = values.narrow(dim, 0, count), places.narrow(dim, 0, count).to(torch.int32)
    return (values, places) if flag(return_indices, True) else values


@operation("one_hot")
def one_hot(
    indices: torch.Tensor, one_hot_vector_size: Any, axis: Any = None, on_value: Any = None, off_value: Any = None
) -> torch.Tensor:
    """Vectors with one value at the index and another elsewhere."""
    size = integer(one_hot_vector_size)
    dim = integer(axis, -1)
    hot = indices.to(torch.int64).unsqueeze(dim)
    shape = [1] * hot.dim()
    shape[dim] = size
    chosen = hot == torch.arange(size).reshape(shape)
    dtype = on_value.dtype if isinstance(on_value, torch.Tensor) else torch.int32
    return torch.where(chosen, torch.tensor(number(on_value, 1.0)), torch.tensor(number(off_value))).to(dtype)


@operation("non_zero")
def non_zero(x: torch.Tensor) -> torch.Tensor:
    """The positions of elements that are not zero."""
    return torch.nonzero(x).to(torch.int32)
