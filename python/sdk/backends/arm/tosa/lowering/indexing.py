# SPDX-License-Identifier: BSD-3-Clause
"""Operators that read or write elements at indices, with TOSA's GATHER and SCATTER."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import numpy_type


def _rows(call: Call, values: Value, indices: Value) -> Value:
    """Returns the rows of `values` [rows, ...] at `indices` [count]."""
    rest = values.shape[1:]
    flat = call.b.reshape(values, (1, values.shape[0], math.prod(rest)))
    found = call.b.gather(flat, call.b.reshape(indices, (1, indices.size)))
    return call.b.reshape(found, (indices.size, *rest))


def _indices(call: Call, value: Value, size: int) -> Value:
    """Replaces negative indices, which count from the end. Indices that the program computes are corrected in int32."""
    if value.dtype != DType.INT32:
        raise UnsupportedError("its indices are not integers")
    if value.constant is not None:
        wrapped = np.where(value.constant < 0, value.constant + size, value.constant)
        if wrapped.size and (wrapped.min() < 0 or wrapped.max() >= size):
            raise UnsupportedError(f"an index is beyond the size {size}")
        return call.b.constant(wrapped.astype(value.constant.dtype), DType.INT32)
    return call.b.select(call.b.greater(0, value), call.b.add(value, size), value)


@lowers("aten.embedding.default", indices=True)
def embedding(call: Call) -> Value:
    indices = call.value("indices")
    return call.b.reshape(_rows(call, call.value("weight"), indices), call.shape)


@lowers("aten.index_select.default", indices=True)
def index_select(call: Call) -> Placed:
    rank = len(call.shape)
    if not rank:
        raise UnsupportedError("its operand has no dimensions")
    dim = call["dim"] % rank
    order = (dim, *(each for each in range(rank) if each != dim))
    found = _rows(call, call.value("self", order), call.value("index"))
    return Placed(found, order)


@dataclass(frozen=True)
class _Indexed:
    """The rows that one or several tensors of indices read or write. The indexed dimensions of the operand come first.

    Attributes:
        rows: The operand as [rows, ...].
        indices: The rows, in the shape of the tensors of indices.
        order: The order of a result's dimensions; in a tensor of rows, the dimensions of the indices come first.
        shape: The shape of such a tensor: that of the indices, then the other sizes.
    """

    rows: Value
    indices: Value
    order: tuple[int, ...]
    shape: tuple[int, ...]


def _indexed(call: Call) -> _Indexed:
    """Returns the rows for one tensor of indices in one dimension, or for several constant tensors of indices."""
    given = {dim: node for dim, node in enumerate(call["indices"]) if node is not None}
    dims = list(given)
    values = {dim: call.value(node) for dim, node in given.items()}
    sizes = call.shape_of("self")
    if dims != list(range(dims[0], dims[-1] + 1)):
        raise UnsupportedError("it has indices for dimensions that are not neighbours")
    found = [_indices(call, values[dim], sizes[dim]) for dim in dims]
    if len(dims) > 1:
        if any(value.constant is None for value in found):
            raise UnsupportedError("it has several tensors of indices that are not constants")
        together = np.asarray(
            np.ravel_multi_index(
                np.broadcast_arrays(*(value.constant for value in found)),  # type: ignore[arg-type]
                [sizes[dim] for dim in dims],
            )
        )
        found = [call.b.constant(together.astype(np.int32), DType.INT32)]
    rest = [dim for dim in range(len(sizes)) if dim not in given]
    source = call.value("self", (*dims, *rest))
    rows = call.b.reshape(source, (math.prod(sizes[dim] for dim in dims), *(sizes[dim] for dim in rest)))
    # The dimensions of the indices replace the indexed dimensions at their position.
    shape = (*found[0].shape, *(sizes[dim] for dim in rest))
    count, before = found[0].rank, dims[0]
    order = (*range(count, count + before), *range(count), *range(count + before, len(shape)))
    return _Indexed(rows, found[0], order, shape)


@lowers("aten.index.Tensor", indices=True)
def index(call: Call) -> Value:
    where = _indexed(call)
    picked = _rows(call, where.rows, where.indices)
    return call.b.transpose(call.b.reshape(picked, where.shape), where.order)


@lowers("aten.index_put.default", indices=True)
def index_put(call: Call) -> Value:
    """Lowers calls with constant indices only: TOSA's SCATTER requires that no index occurs twice, which cannot be
    checked for indices that the program computes."""
    where = _indexed(call)
    b, positions = call.b, where.indices.constant
    if positions is None or np.unique(positions).size != positions.size:
        raise UnsupportedError("its indices are not constants, or one occurs twice, which TOSA's SCATTER does not have")
    placed = b.with_rank(call.value("values"), len(where.shape))
    wanted = [where.shape[axis] for axis in where.order]
    placed = b.tile(placed, [to // size for to, size in zip(wanted, placed.shape, strict=True)])
    placed = b.transpose(placed, [where.order.index(axis) for axis in range(len(where.shape))])
    count, width = where.indices.size, math.prod(where.rows.shape[1:])
    written = b.reshape(placed, (1, count, width))
    indices = b.reshape(where.indices, (1, count))
    rows = b.reshape(where.rows, (1, where.rows.shape[0], width))
    if call["accumulate"]:
        if call.node.meta["val"].dtype == torch.int64:
            raise UnsupportedError("it adds int64, which TOSA does not have")
        written = b.add(b.gather(rows, indices), written)
    scattered = b.scatter(rows, indices, written)
    given = [dim for dim, node in enumerate(call["indices"]) if node is not None]
    first = (*given, *(dim for dim in range(len(call.shape)) if dim not in given))
    plain = b.reshape(scattered, [call.shape[dim] for dim in first])
    return b.transpose(plain, [first.index(dim) for dim in range(len(first))])


@lowers("aten.scatter.src", "aten.scatter.value", indices=True)
def scatter(call: Call) -> Value:
    """Lowers calls with constant indices, for the same reason as `index_put`."""
    sizes, wanted, indices = call.shape, call.shape_of("index"), call.constant("index")
    if not sizes:
        raise UnsupportedError("its operand has no dimensions")
    if indices is None:
        raise UnsupportedError("its indices are not constants, and TOSA's SCATTER must not get one twice")
    dim, b = call["dim"] % len(sizes), call.b
    if indices.min() < 0 or indices.max() >= sizes[dim]:
        raise UnsupportedError(f"an index is beyond the size {sizes[dim]}")
    places = list(np.indices(wanted))
    places[dim] = indices
    flat = np.ravel_multi_index(places, sizes).reshape(-1)
    rows = b.reshape(call.value("self"), (1, math.prod(sizes), 1))
    if "src" in call:
        if np.unique(flat).size != flat.size:
            raise UnsupportedError("one of its indices occurs twice, which TOSA's SCATTER does not have")
        written = b.reshape(b.slice(call.value("src"), [0] * len(wanted), wanted), (1, flat.size, 1))
    else:
        flat = np.unique(flat)
        number = np.full((1, flat.size, 1), call.stored(call["value"]), numpy_type(rows.dtype))
        written = b.constant(number, rows.dtype)
    where = b.constant(flat.astype(np.int32).reshape(1, -1), DType.INT32)
    return b.reshape(b.scatter(rows, where, written), sizes)


@lowers("aten.unfold_copy.default", indices=True)
def unfold(call: Call) -> Placed:
    """Returns the elements of each window in a new last dimension."""
    rank = len(call.shape_of("self"))
    if not rank:
        raise UnsupportedError("its operand has no dimensions")
    dim, size = call["dimension"] % rank, call["size"]
    others = [each for each in range(rank) if each != dim]
    count = call.shape[dim]
    positions = np.arange(count)[:, None] * call["step"] + np.arange(size)
    value = call.value("self", (dim, *others))
    found = _rows(call, value, call.b.constant(positions.astype(np.int32), DType.INT32))
    return Placed(call.b.reshape(found, (count, size, *value.shape[1:])), (dim, rank, *others))


@lowers("aten.as_strided_copy.default", indices=True)
def as_strided(call: Call) -> Value:
    """Returns the elements at constant positions of a tensor whose memory has the order of its dimensions."""
    given = call["self"].meta["val"]
    if not given.is_contiguous() or given.storage_offset():
        raise UnsupportedError("the order of its operand's elements in memory is not that of its dimensions")
    positions = np.full((), call["storage_offset"] or 0)
    for size, stride in zip(call["size"], call["stride"], strict=True):
        positions = positions[..., None] + np.arange(size) * stride
    value = call.value("self")
    flat = call.b.reshape(value, (value.size, 1))
    found = _rows(call, flat, call.b.constant(positions.astype(np.int32), DType.INT32))
    return call.b.reshape(found, call.shape)


@lowers("aten.gather.default", indices=True)
def gather(call: Call) -> Placed:
    sizes, wanted = call.shape_of("self"), call.shape
    rank = len(sizes)
    if not rank:
        raise UnsupportedError("its operand has no dimensions")
    dim = call["dim"] % rank
    others = [each for each in range(rank) if each != dim]
    order = (*others, dim)
    value = call.value("self", order)
    for axis, each in enumerate(others):  # PyTorch reads the first elements of a larger dimension
        value = call.b.cut(value, axis, 0, wanted[each])
    indices = call.value("index", order)
    rows = math.prod(wanted[each] for each in others)
    flat = call.b.reshape(value, (rows, sizes[dim], 1))
    found = call.b.gather(flat, call.b.reshape(indices, (rows, wanted[dim])))
    return Placed(call.b.reshape(found, indices.shape), order)
