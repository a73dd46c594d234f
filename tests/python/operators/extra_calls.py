# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the operators that no OpInfo reaches: PyTorch's own functions get there in another way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from recorder import Call, record_call

aten = torch.ops.aten

FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGRAL = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
BITS = (*INTEGRAL, torch.bool)
REAL = (*FLOATING, *INTEGRAL)
ALL = (*REAL, torch.bool)

SHAPES = ((), (0, 3), (5,), (4, 1, 6))

Calls = Iterator[tuple[Any, ...]]
"""(operator, arguments of it ...)"""


def make(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Random numbers from -9 to 9, as far as the dtype has them."""
    return torch.testing.make_tensor(shape, dtype=dtype, device="cpu")


def _of_every_shape(operator: torch._ops.OpOverload, *others: Any) -> Callable[[torch.dtype], Calls]:
    """`operator(x, *others)` for an x of each of SHAPES."""

    def calls(dtype: torch.dtype) -> Calls:
        for shape in SHAPES:
            yield operator, make(shape, dtype), *others

    return calls


def _padding(operator: torch._ops.OpOverload, rank: int, dims: int) -> Callable[[torch.dtype], Calls]:
    def calls(dtype: torch.dtype) -> Calls:
        for pad in (1, 2):
            yield operator, make((2,) * (rank - dims) + (4, 5, 3)[-dims:], dtype), [pad] * (2 * dims)

    return calls


def _div_mode(dtype: torch.dtype) -> Calls:
    for mode in ("trunc", "floor"):
        for operator, x, divisor in _of_every_shape(aten.div.Scalar_mode, 3)(dtype):
            yield operator, x, divisor, {"rounding_mode": mode}


def _fill(dtype: torch.dtype) -> Calls:
    for shape in SHAPES:
        yield aten.fill.Tensor, make(shape, dtype), make((), dtype)


def _scatter_value(dtype: torch.dtype) -> Calls:
    index = torch.tensor([[0, 2, 1], [3, 3, 0]])
    yield aten.scatter.value, make((4, 5), dtype), 0, index, 1
    yield aten.scatter.value, make((4, 5), dtype), 1, index, 0


def _upsample(operator: torch._ops.OpOverload, *extra: bool) -> Callable[[torch.dtype], Calls]:
    def calls(dtype: torch.dtype) -> Calls:
        x = make((2, 3, 4, 5), dtype)
        for images in (x, x.to(memory_format=torch.channels_last)):
            yield operator, images, [7, 3], *extra, None
            yield operator, images, None, *extra, [2.0, 1.5]

    return calls


def _var(dtype: torch.dtype) -> Calls:
    for dim in ([0], [1, 2], [-1]):
        for unbiased in (False, True):
            yield aten.var.dim, make((3, 4, 5), dtype), dim, unbiased, True


def _batch_norm(dtype: torch.dtype) -> Calls:
    x, weight, bias = make((2, 3, 4, 5), dtype), make((3,), dtype), make((3,), dtype)
    for images in (x, x.to(memory_format=torch.channels_last)):
        yield aten._native_batch_norm_legit.no_stats, images, weight, bias, True, 0.1, 1e-5


def _batch_norm_no_training(dtype: torch.dtype) -> Calls:
    for images in (make((2, 3, 4, 5), dtype), make((2, 3, 4, 5), dtype).to(memory_format=torch.channels_last)):
        affine, statistics = [make((3,), dtype) for _ in range(2)], [make((3,), dtype), make((3,), dtype).abs() + 1]
        yield aten._native_batch_norm_legit_no_training.default, images, *affine, *statistics, 0.1, 1e-5
        yield aten._native_batch_norm_legit_no_training.default, images, None, None, *statistics, 0.1, 1e-5


def _copy(dtype: torch.dtype) -> Calls:
    for shape in SHAPES:
        yield aten.copy.default, make(shape, dtype), make(shape, torch.float32)
    yield aten.copy.default, make((3, 4), dtype), make((4,), dtype)


def _all_dims(dtype: torch.dtype) -> Calls:
    for dims in (None, [0], [0, 2], [-1]):
        yield aten.all.dims, make((2, 3, 2), dtype), dims, False


def _repeat_interleave(dtype: torch.dtype) -> Calls:
    yield aten.repeat_interleave.Tensor, torch.tensor([2, 0, 3, 1], dtype=dtype)
    yield aten.repeat_interleave.Tensor, torch.tensor([], dtype=dtype)


def _linear(dtype: torch.dtype) -> Calls:
    for shape in ((7,), (2, 7), (20, 7), (2, 3, 7), (0, 7)):
        for bias in (None, make((4,), dtype)):
            yield aten.linear.default, make(shape, dtype), make((4, 7), dtype), bias


EXTRA_CALLS: dict[str, tuple[Callable[[torch.dtype], Calls], tuple[torch.dtype, ...]]] = {
    "_native_batch_norm_legit.no_stats_out": (_batch_norm, FLOATING),
    "_native_batch_norm_legit_no_training.out": (_batch_norm_no_training, FLOATING),
    "all.dims_out": (_all_dims, ALL),
    "bitwise_and.Scalar_out": (_of_every_shape(aten.bitwise_and.Scalar, 1), BITS),
    "bitwise_left_shift.Tensor_Scalar_out": (_of_every_shape(aten.bitwise_left_shift.Tensor_Scalar, 2), INTEGRAL),
    "bitwise_or.Scalar_out": (_of_every_shape(aten.bitwise_or.Scalar, 1), BITS),
    "bitwise_right_shift.Tensor_Scalar_out": (_of_every_shape(aten.bitwise_right_shift.Tensor_Scalar, 2), INTEGRAL),
    "bitwise_xor.Scalar_out": (_of_every_shape(aten.bitwise_xor.Scalar, 1), BITS),
    "copy.out": (_copy, ALL),
    "div.Scalar_mode_out": (_div_mode, REAL),
    "fill.Tensor_out": (_fill, ALL),
    "fmod.Scalar_out": (_of_every_shape(aten.fmod.Scalar, 3), REAL),
    "lift_fresh_copy.out": (_of_every_shape(aten.lift_fresh_copy.default), ALL),
    "linear.out": (_linear, FLOATING),
    "reflection_pad2d.out": (_padding(aten.reflection_pad2d.default, 4, 2), FLOATING),
    "reflection_pad3d.out": (_padding(aten.reflection_pad3d.default, 5, 3), FLOATING),
    "replication_pad3d.out": (_padding(aten.replication_pad3d.default, 5, 3), FLOATING),
    "repeat_interleave.Tensor_out": (_repeat_interleave, (torch.int32, torch.int64)),
    "scatter.value_out": (_scatter_value, ALL),
    "upsample_bilinear2d.vec_out": (_upsample(aten.upsample_bilinear2d.vec, False), FLOATING),
    "upsample_nearest2d.vec_out": (_upsample(aten.upsample_nearest2d.vec), (*FLOATING, torch.uint8)),
    "var.out": (_var, FLOATING),
}
"""For each operator what calls it, and the dtypes it is called with."""


def record_extra(name: str, dtype: torch.dtype) -> Iterator[Call]:
    """The calls of EXTRA_CALLS for one operator and dtype."""
    torch.manual_seed(0)
    make_calls, _ = EXTRA_CALLS[name]
    for operator, *args in make_calls(dtype):
        kwargs = args.pop() if isinstance(args[-1], dict) else {}
        call = record_call(operator, args, kwargs)
        assert call is not None and call.name == name, f"{operator} is not {name}"
        yield call
