# SPDX-License-Identifier: BSD-3-Clause
"""Operators that move elements: views, permutations, slices, concatenations and copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed, without_axes
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.types import FLOATS


@lowers("aten.view_copy.default", "aten.view.default", "aten.reshape.default", indices=True)
def view(call: Call) -> Value:
    return call.b.reshape(call.value("self"), call.shape)


@lowers("aten.permute_copy.default", indices=True)
def permute(call: Call) -> Placed:
    return _permuted(call, [dim % len(call["dims"]) for dim in call["dims"]])


def _permuted(call: Call, dims: Sequence[int]) -> Placed:
    """Permutes dimensions by changing only the order of the axes; the elements stay in place."""
    source = call.placed("self")
    return Placed(source.value, tuple(dims.index(dim) for dim in source.order))


@lowers("aten.squeeze_copy.dims", "aten.squeeze_copy.dim", "aten.squeeze_copy.default", indices=True)
def squeeze(call: Call) -> Placed:
    sizes = call.shape_of("self")
    given = call["dim"] if "dim" in call else range(len(sizes))
    dims = [dim % max(len(sizes), 1) for dim in ([given] if isinstance(given, int) else given)]
    return without_axes(call.b, call.placed("self"), [dim for dim in dims if sizes and sizes[dim] == 1])


@lowers("aten.unsqueeze_copy.default", indices=True)
def unsqueeze(call: Call) -> Placed:
    source = call.placed("self")
    dim = call["dim"] % len(call.shape)
    order = (dim, *(each + (each >= dim) for each in source.order))
    return Placed(call.b.reshape(source.value, (1, *source.value.shape)), order)


@lowers("aten.expand_copy.default", indices=True)
def expand(call: Call) -> Placed:
    (value,) = call.operands(call["self"])
    assert call.order is not None
    wanted = [call.shape[dim] for dim in call.order]
    return Placed(call.b.tile(value, [to // size for to, size in zip(wanted, value.shape, strict=True)]), call.order)


@lowers("aten.repeat.default", indices=True)
def repeat(call: Call) -> Placed:
    (value,) = call.operands(call["self"])
    assert call.order is not None
    return Placed(call.b.tile(value, [call["repeats"][dim] for dim in call.order]), call.order)


@lowers("aten.cat.default", indices=True)
def cat(call: Call) -> Value:
    values = call.operands(*call["tensors"])
    assert call.order is not None
    return call.b.concat(values, call.order.index(call["dim"] % len(call.order)))


@lowers("aten.slice_copy.Tensor", indices=True)
def slice_(call: Call) -> Placed:
    source = call.placed("self")
    size = call.shape_of("self")[call["dim"]]
    start, _, step = slice(call["start"], call["end"], call["step"]).indices(size)
    count = call.shape[call["dim"]]
    return Placed(strided(call.b, source.value, source.axis(call["dim"]), start, count, step), source.order)


def strided(b: Builder, value: Value, axis: int, start: int, count: int, step: int) -> Value:
    """Takes every `step`-th element of an axis. TOSA's SLICE has no step, so the axis is split into [count, step] and
    the first column is taken."""
    if step == 1 or count == 1:
        return b.cut(value, axis, start, count)
    available = value.shape[axis] - start
    missing = max(count * step - available, 0)
    value = b.cut(value, axis, start, min(available, count * step))
    value = b.pad(value, [(0, missing if each == axis else 0) for each in range(value.rank)])
    split = b.reshape(value, (*value.shape[:axis], count, step, *value.shape[axis + 1 :]))
    return b.reshape(b.cut(split, axis + 1, 0, 1), (*value.shape[:axis], count, *value.shape[axis + 1 :]))


@lowers("aten.select_copy.int", indices=True)
def select(call: Call) -> Placed:
    source = call.placed("self")
    dim = call["dim"] % len(source.order)
    index = call["index"] % call.shape_of("self")[dim]
    return without_axes(call.b, Placed(call.b.cut(source.value, source.axis(dim), index, 1), source.order), [dim])


@lowers("aten.split_with_sizes_copy.default", indices=True)
def split_with_sizes(call: Call) -> list[Placed]:
    return _split(call, call["split_sizes"])


def _split(call: Call, sizes: Sequence[int]) -> list[Placed]:
    source = call.placed("self")
    axis = source.axis(call["dim"])
    starts = np.cumsum([0, *sizes]).tolist()
    return [
        Placed(call.b.cut(source.value, axis, start, size), source.order)
        for start, size in zip(starts, sizes, strict=False)
    ]


@lowers("aten.flip.default", indices=True)
def flip(call: Call) -> Placed:
    source = call.placed("self")
    value = source.value
    for dim in call["dims"]:
        value = call.b.reverse(value, source.axis(dim)) if source.order else value
    return Placed(value, source.order)


@lowers("aten.constant_pad_nd.default", indices=True)
def pad(call: Call) -> Placed:
    return padded(call, call["value"] or 0)


def padded(call: Call, number: float) -> Placed:
    """The operand, padded with a number."""
    source = call.placed("self")
    pairs = _pairs(call["pad"], len(source.order))
    cut = source.value
    for dim, (before, after) in enumerate(pairs):  # a negative number removes elements
        axis = source.axis(dim)
        start, stop = max(-before, 0), cut.shape[axis] - max(-after, 0)
        cut = call.b.cut(cut, axis, start, stop - start)
    kept = source.by_axis([(max(before, 0), max(after, 0)) for before, after in pairs])
    return Placed(call.b.pad(cut, kept, number), source.order)


def _pairs(flat: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """The pairs by dimension. PyTorch's list begins with the last dimension."""
    pairs = [(flat[position], flat[position + 1]) for position in range(0, len(flat), 2)]
    return [(0, 0)] * (rank - len(pairs)) + pairs[::-1]


def _mirrored(call: Call, edges: bool) -> Placed:
    """Pads with copies of the element at each border if `edges` is set, else with a reflection of the elements next to
    that element."""
    source = call.placed("self")
    value = source.value
    for dim, (before, after) in enumerate(_pairs(call["padding"], len(source.order))):
        if min(before, after) < 0:
            raise UnsupportedError("it removes elements")
        axis = source.axis(dim)
        last = value.shape[axis]
        if edges:
            first = [call.b.cut(value, axis, 0, 1)] * before
            end = [call.b.cut(value, axis, last - 1, 1)] * after
        else:
            first = [call.b.reverse(call.b.cut(value, axis, 1, before), axis)] if before else []
            end = [call.b.reverse(call.b.cut(value, axis, last - 1 - after, after), axis)] if after else []
        value = call.b.concat([*first, value, *end], axis)
    return Placed(value, source.order)


@lowers(*(f"aten.reflection_pad{rank}d.default" for rank in (1, 2, 3)), indices=True)
def reflection_pad(call: Call) -> Placed:
    return _mirrored(call, edges=False)


@lowers(*(f"aten.replication_pad{rank}d.default" for rank in (1, 2, 3)), indices=True)
def replication_pad(call: Call) -> Placed:
    return _mirrored(call, edges=True)


@lowers(
    "aten.clone.default",
    "dim_order_ops._clone_dim_order.default",
    indices=True,
)
def copy(call: Call) -> Placed:
    return call.placed("self")


@lowers("aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default", indices=True)
def convert(call: Call) -> Placed:
    """Indices are int32 already. Floats that become int64 may be beyond int32."""
    source = call.placed("self")
    if source.value.dtype in FLOATS and call.node.meta["val"].dtype == torch.int64:
        raise UnsupportedError("it converts floats to int64, which TOSA 1.0 does not have")
    return Placed(call.b.cast(source.value, call.dtype), source.order)


@lowers("aten.copy.default")
def overwrite(call: Call) -> Placed:
    (value,) = call.operands(call["src"])
    assert call.order is not None
    wanted = [call.shape[dim] for dim in call.order]
    return Placed(call.b.tile(value, [to // size for to, size in zip(wanted, value.shape, strict=True)]), call.order)


@lowers("aten.full.default", "aten.full_like.default", indices=True)
def full(call: Call) -> Value:
    """A constant with one element, repeated: the file stays small."""
    return call.b.tile(call.b.number(call["fill_value"], call.dtype, len(call.shape)), call.shape)


@lowers("aten.slice_scatter.default", indices=True)
def slice_scatter(call: Call) -> Value:
    value, update = call.operands(call["self"], call["src"])
    assert call.order is not None
    axis = call.order.index(call["dim"] % len(call.order))
    start, stop, step = slice(call["start"], call["end"], call["step"]).indices(value.shape[axis])
    if step != 1:
        raise UnsupportedError("its step is not 1")
    return _with_part(call, value, update, axis, start, max(stop, start))


def _with_part(call: Call, value: Value, update: Value, axis: int, start: int, stop: int) -> Value:
    parts = [call.b.cut(value, axis, 0, start)] if start else []
    parts += [update] if stop > start else []
    rest = value.shape[axis] - stop
    return call.b.concat([*parts, *([call.b.cut(value, axis, stop, rest)] if rest else [])], axis)
