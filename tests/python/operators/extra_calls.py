# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the operators that no OpInfo reaches: PyTorch's own functions call them in another way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import backward_calls
import torch
from backward_calls import Calls, make
from recorder import Call, record_call

aten = torch.ops.aten

FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGRAL = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
BITS = (*INTEGRAL, torch.bool)
REAL = (*FLOATING, *INTEGRAL)
ALL = (*REAL, torch.bool)
ANTIALIASED = (torch.float32, torch.float64, torch.uint8)

SHAPES = ((), (0, 3), (5,), (4, 1, 6))


def _of_every_shape(operator: torch._ops.OpOverload, *others: Any) -> Callable[[torch.dtype], Calls]:
    """Returns the calls `operator(x, *others)` with an x of each shape of SHAPES."""

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


def _upsample_aa(operator: torch._ops.OpOverload) -> Callable[[torch.dtype], Calls]:
    def calls(dtype: torch.dtype) -> Calls:
        x = make((2, 3, 8, 9), dtype)
        for images in (x, x.to(memory_format=torch.channels_last)):
            for size, align_corners in (([3, 4], False), ([3, 4], True), ([13, 9], False), ([8, 20], True)):
                yield operator, images, size, align_corners
            yield operator, images, [5, 6], False, 0.6, 0.65

    return calls


def _unique_dim(dtype: torch.dtype) -> Calls:
    rows = make((4, 3), dtype)[[0, 1, 0, 3, 1]]
    yield aten.unique_dim.default, rows, 0, True, True, True
    yield aten.unique_dim.default, rows.t().contiguous(), 1, True, True, True


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


def _copy_in_place(dtype: torch.dtype) -> Calls:
    for shape in SHAPES:
        yield aten.copy_.default, make(shape, dtype), make(shape, torch.float32)
    yield aten.copy_.default, make((3, 4), dtype), make((4,), dtype)


def _index_put_in_place(dtype: torch.dtype) -> Calls:
    rows, mask = torch.tensor([2, 0, 2]), torch.tensor([True, False, True, False])
    for accumulate in (False, True):
        yield aten.index_put_.default, make((4, 5), dtype), [rows[:2]], make((2, 5), dtype), accumulate
        yield aten.index_put_.default, make((4, 5), dtype), [mask, torch.tensor(1)], make((2,), dtype), accumulate
    yield aten.index_put_.default, make((4, 5), dtype), [None, rows], make((), dtype), True


def _dropout(dtype: torch.dtype) -> Calls:
    """Calls whose results are not random."""
    for probability, training in ((0.5, False), (0.0, True), (1.0, True)):
        yield aten.native_dropout.default, make((3, 4), dtype), probability, training


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


def _adaptive_avg_pool1d(dtype: torch.dtype) -> Calls:
    for x in (make((2, 3, 7), dtype), make((3, 8), dtype)):
        for size in (1, 3, 9):
            yield aten.adaptive_avg_pool1d.default, x, [size]


def _avg_pool1d(dtype: torch.dtype) -> Calls:
    for x in (make((2, 3, 7), dtype), make((3, 8), dtype)):
        yield aten.avg_pool1d.default, x, [3], [2], [1], True, False
        yield aten.avg_pool1d.default, x, [2]


def _bucketize_number(dtype: torch.dtype) -> Calls:
    for value in (-3, 2, 100):
        yield aten.bucketize.Scalar, value, make((7,), dtype).sort().values, {"right": value == 2}
        yield aten.searchsorted.Scalar, make((7,), dtype).sort().values, value, {"out_int32": value == 2}


def _bucketize(dtype: torch.dtype) -> Calls:
    boundaries = make((7,), dtype).sort().values
    for shape in SHAPES:
        yield aten.bucketize.Tensor, make(shape, dtype), boundaries
        yield aten.bucketize.Tensor, make(shape, dtype), boundaries, {"out_int32": True, "right": True}


def _embedding_bag(dtype: torch.dtype) -> Calls:
    indices, offsets = torch.tensor([0, 3, 3, 1, 4, 0]), torch.tensor([0, 2, 2, 5])
    for mode in (0, 1, 2):
        for padding in (-1, 3):
            yield (
                aten._embedding_bag.default,
                make((5, 3), dtype),
                indices,
                offsets,
                False,
                mode,
                False,
                None,
                False,
                padding,
            )
    scales = make((6,), dtype)
    yield aten._embedding_bag.default, make((5, 3), dtype), indices, offsets, False, 0, False, scales
    yield (
        aten._embedding_bag.default,
        make((5, 3), dtype),
        indices,
        torch.tensor([0, 2, 2, 6]),
        False,
        1,
        False,
        None,
        True,
    )


def _empty_strided(dtype: torch.dtype) -> Calls:
    yield aten.empty_strided.default, [2, 3], [3, 1], {"dtype": dtype}


def _col2im(dtype: torch.dtype) -> Calls:
    for columns in (make((2, 12, 6), dtype), make((12, 6), dtype)):
        yield aten.col2im.default, columns, [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]


def _im2col(dtype: torch.dtype) -> Calls:
    for x in (make((2, 3, 5, 6), dtype), make((3, 5, 6), dtype)):
        yield aten.im2col.default, x, [2, 3], [1, 2], [1, 0], [2, 1]
        yield aten.im2col.default, x, [2, 2], [1, 1], [0, 0], [1, 1]


def _random(operator: torch._ops.OpOverload, *args: Any) -> Callable[[torch.dtype], Calls]:
    def calls(dtype: torch.dtype) -> Calls:
        yield operator, *args, {"dtype": dtype}

    return calls


def _resize(dtype: torch.dtype) -> Calls:
    for size in ([2, 3], [6], [1, 2]):
        yield aten.resize.default, make((3, 2), dtype), size


def _view_dtype(dtype: torch.dtype) -> Calls:
    """Views as elements of the same size, of one byte and of eight bytes."""
    same = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    for of in (same, torch.uint8, torch.int64):
        yield aten.view_copy.dtype, make((2, 3, 8), dtype), of
    yield aten.view_copy.dtype, make((2, 8, 2, 8), dtype).to(memory_format=torch.channels_last), same


EXTRA_CALLS: dict[str, tuple[Callable[[torch.dtype], Calls], tuple[torch.dtype, ...]]] = {
    "_adaptive_avg_pool2d_backward.out": (backward_calls.adaptive_avg_pool2d_backward, FLOATING),
    "_embedding_bag.out": (_embedding_bag, FLOATING),
    "_native_batch_norm_legit.no_stats_out": (_batch_norm, FLOATING),
    "_native_batch_norm_legit_no_training.out": (_batch_norm_no_training, FLOATING),
    "adaptive_avg_pool1d.out": (_adaptive_avg_pool1d, FLOATING),
    "all.dims_out": (_all_dims, ALL),
    "avg_pool1d.out": (_avg_pool1d, FLOATING),
    "avg_pool2d_backward.grad_input": (backward_calls.avg_pool2d_backward, (*FLOATING, torch.int64)),
    "bitwise_and.Scalar_out": (_of_every_shape(aten.bitwise_and.Scalar, 1), BITS),
    "bitwise_left_shift.Tensor_Scalar_out": (_of_every_shape(aten.bitwise_left_shift.Tensor_Scalar, 2), INTEGRAL),
    "bitwise_or.Scalar_out": (_of_every_shape(aten.bitwise_or.Scalar, 1), BITS),
    "bitwise_right_shift.Tensor_Scalar_out": (_of_every_shape(aten.bitwise_right_shift.Tensor_Scalar, 2), INTEGRAL),
    "bitwise_xor.Scalar_out": (_of_every_shape(aten.bitwise_xor.Scalar, 1), BITS),
    "bucketize.Scalar_out": (_bucketize_number, REAL),
    "bucketize.Tensor_out": (_bucketize, REAL),
    "col2im.out": (_col2im, (*FLOATING, torch.bool)),
    "convolution_backward.out": (backward_calls.convolution_backward, FLOATING),
    "copy.out": (_copy, ALL),
    "copy_": (_copy_in_place, ALL),
    "div.Scalar_mode_out": (_div_mode, REAL),
    "embedding_dense_backward.out": (backward_calls.embedding_backward, ALL),
    "empty_strided.out": (_empty_strided, ALL),
    "fill.Tensor_out": (_fill, ALL),
    "fmod.Scalar_out": (_of_every_shape(aten.fmod.Scalar, 3), REAL),
    "im2col.out": (_im2col, (*FLOATING, torch.bool)),
    "index_put_": (_index_put_in_place, ALL),
    "lift_fresh_copy.out": (_of_every_shape(aten.lift_fresh_copy.default), ALL),
    "linear.out": (_linear, FLOATING),
    "max_pool2d_with_indices_backward.grad_input": (backward_calls.max_pool2d_backward, FLOATING),
    "native_dropout.out": (_dropout, FLOATING),
    "native_group_norm_backward.out": (backward_calls.group_norm_backward, FLOATING),
    "native_layer_norm_backward.out": (backward_calls.layer_norm_backward, FLOATING),
    "rand.out": (_random(aten.rand.default, [3, 4]), FLOATING),
    "randn.out": (_random(aten.randn.default, [3, 4]), FLOATING),
    "randperm.out": (_random(aten.randperm.default, 7), REAL),
    "reflection_pad2d.out": (_padding(aten.reflection_pad2d.default, 4, 2), FLOATING),
    "reflection_pad3d.out": (_padding(aten.reflection_pad3d.default, 5, 3), FLOATING),
    "replication_pad3d.out": (_padding(aten.replication_pad3d.default, 5, 3), FLOATING),
    "repeat_interleave.Tensor_out": (_repeat_interleave, (torch.int32, torch.int64)),
    "resize.out": (_resize, ALL),
    "scatter.value_out": (_scatter_value, ALL),
    "searchsorted.Scalar_out": (_bucketize_number, REAL),
    "unique_dim.out": (_unique_dim, ALL),
    "_upsample_bicubic2d_aa.out": (_upsample_aa(aten._upsample_bicubic2d_aa.default), ANTIALIASED),
    "_upsample_bilinear2d_aa.out": (_upsample_aa(aten._upsample_bilinear2d_aa.default), ANTIALIASED),
    "upsample_bilinear2d.vec_out": (_upsample(aten.upsample_bilinear2d.vec, False), (*FLOATING, torch.uint8)),
    "upsample_nearest2d.vec_out": (_upsample(aten.upsample_nearest2d.vec), (*FLOATING, torch.uint8)),
    "var.out": (_var, FLOATING),
    "view_copy.dtype_out": (_view_dtype, ALL),
}
"""For each operator, the function that calls it and the dtypes that it is called with."""


def record_extra(name: str, dtype: torch.dtype) -> Iterator[Call]:
    """The calls of EXTRA_CALLS for one operator and dtype."""
    torch.manual_seed(0)
    make_calls, _ = EXTRA_CALLS[name]
    for operator, *args in make_calls(dtype):
        kwargs = args.pop() if isinstance(args[-1], dict) else {}
        call = record_call(operator, args, kwargs)
        assert call is not None, f"{operator} is not in the library"
        if call.name == name:
            yield call
