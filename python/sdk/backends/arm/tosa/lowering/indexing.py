# SPDX-License-Identifier: BSD-3-Clause
"""What reads elements at indices, with TOSA's GATHER."""

from __future__ import annotations

import math

import numpy as np

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.schema import DType


def _rows(call: Call, values: Value, indices: Value) -> Value:
    """Of [rows, ...], those at [count]."""
    rest = values.shape[1:]
    flat = call.b.reshape(values, (1, values.shape[0], math.prod(rest)))
    found = call.b.gather(flat, call.b.reshape(indices, (1, indices.size)))
    return call.b.reshape(found, (indices.size, *rest))


def _indices(call: Call, value: Value, size: int) -> Value:
    """Indices without negative ones, which count from the end. Computed ones are corrected as int32."""
    if value.dtype != DType.INT32:
        raise UnsupportedError("its indices are no integers")
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


@lowers("aten.index.Tensor", indices=True)
def index(call: Call) -> Value:
    """One tensor of indices for one dimension; several where they are constants."""
    given = {dim: node for dim, node in enumerate(call["indices"]) if node is not None}
    dims = list(given)
    values = {dim: call.value(node) for dim, node in given.items()}
    sizes = call.shape_of("self")
    if dims != list(range(dims[0], dims[-1] + 1)):
        raise UnsupportedError("it has indices for dimensions that are no neighbours")
    found = [_indices(call, values[dim], sizes[dim]) for dim in dims]
    if len(dims) > 1:
        if any(value.constant is None for value in found):
            raise UnsupportedError("it has several tensors of indices that are no constants")
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
    picked = _rows(call, rows, found[0])
    # The dimensions of the indices come where those that they replace were.
    shape = (*found[0].shape, *(sizes[dim] for dim in rest))
    count, before = found[0].rank, dims[0]
    order = (*range(count, count + before), *range(count), *range(count + before, len(shape)))
    return call.b.transpose(call.b.reshape(picked, shape), order)


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
