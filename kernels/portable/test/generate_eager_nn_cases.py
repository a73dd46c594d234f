# SPDX-License-Identifier: BSD-3-Clause
"""Writes eager_nn_cases.txt: the calls of eager_cases_test.cpp for normalisation, pooling, sampling and distances.

Run it from the root of the repository after adding a case below::

    python kernels/portable/test/generate_eager_nn_cases.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eager_case_format as eager
import torch
from eager_case_format import FLOATS, INF, NAN, Fails, channels_last, of, tensor


def norm_cases() -> Iterator[tuple[Any, ...]]:
    for dtype in FLOATS:
        weight, bias = tensor(5, dtype=dtype), tensor(5, dtype=dtype)
        if dtype in (torch.float32, torch.float64):
            yield "native_layer_norm.out", tensor(2, 3, 5, dtype=dtype), [5], weight, bias, 1e-5
    yield "native_layer_norm.out", tensor(3, 70), [70], None, None, 1e-3
    yield "native_layer_norm.out", tensor(2, 3, 4), [3, 4], tensor(3, 4), None, 1e-5
    yield "native_layer_norm.out", tensor(4), [4], None, tensor(4), 1e-5
    yield "native_layer_norm.out", torch.zeros(0, 4), [4], tensor(4), tensor(4), 1e-5
    stats = (tensor(2, 4), tensor(2, 1), tensor(2, 1))
    yield "native_layer_norm.out", tensor(2, 4), [3], None, None, 1e-5, Fails(*stats)
    yield "native_layer_norm.out", tensor(2, 4), [], None, None, 1e-5, Fails(*stats)
    yield "native_layer_norm.out", tensor(2, 4), [4], tensor(3), None, 1e-5, Fails(*stats)
    yield (
        "native_layer_norm.out",
        channels_last(1, 2, 2, 2),
        [2],
        None,
        None,
        1e-5,
        Fails(tensor(1, 2, 2, 2, dtype=torch.float64), tensor(1, 2, 2, 1), tensor(1, 2, 2, 1)),
    )
    yield "native_group_norm.out", tensor(2, 6, 3, 3), tensor(6), tensor(6), 2, 6, 9, 3, 1e-5
    yield "native_group_norm.out", tensor(2, 4, 20), None, None, 2, 4, 20, 1, 1e-3
    yield (
        "native_group_norm.out",
        tensor(1, 4, 2, dtype=torch.float64),
        tensor(4, dtype=torch.float64),
        None,
        1,
        4,
        2,
        4,
        1e-5,
    )
    like = (tensor(1, 4, 2), tensor(1, 3), tensor(1, 3))
    yield "native_group_norm.out", tensor(1, 4, 2), None, None, 1, 4, 2, 3, 1e-5, Fails(*like)
    yield "native_group_norm.out", tensor(1, 4, 2), None, None, 1, 4, 2, 0, 1e-5, Fails(*like)
    yield "native_group_norm.out", tensor(1, 4, 2), None, None, 4, 1, 2, 1, 1e-5, Fails(*like)
    name = "_native_batch_norm_legit_no_training.out"
    positive = {"low": 0.5, "high": 3.0}
    for make in (tensor, channels_last):
        yield name, make(2, 3, 4, 5), tensor(3), tensor(3), tensor(3), tensor(3, **positive), 0.1, 1e-5
        yield name, make(1, 3, 1, 2), None, None, tensor(3), tensor(3, **positive), 0.1, 1e-3
        yield "_native_batch_norm_legit.no_stats_out", make(2, 3, 4, 5), tensor(3), tensor(3), True, 0.1, 1e-5
    yield name, tensor(4, 3), tensor(3), tensor(3), tensor(3), tensor(3, **positive), 0.1, 1e-5
    yield (
        name,
        tensor(2, 3, 4, dtype=torch.float64),
        None,
        None,
        tensor(3, dtype=torch.float64),
        tensor(3, dtype=torch.float64, **positive),
        0.1,
        1e-5,
    )
    empty = (torch.zeros(0), torch.zeros(0))
    yield name, tensor(2, 3), tensor(2), None, tensor(3), tensor(3), 0.1, 1e-5, Fails(tensor(2, 3), *empty)
    yield name, tensor(2, 3), None, None, tensor(2), tensor(3), 0.1, 1e-5, Fails(tensor(2, 3), *empty)
    yield name, tensor(2), None, None, tensor(2), tensor(2), 0.1, 1e-5, Fails(tensor(2), *empty)


def pool_cases() -> Iterator[tuple[Any, ...]]:
    for make in (tensor, channels_last):
        for ceil_mode in (False, True):
            x = make(2, 3, 7, 8)
            yield "max_pool2d_with_indices.out", x, [3, 2], [2, 3], [1, 1], [1, 2], ceil_mode
            yield "max_pool2d_with_indices.out", x, [3], [], [0], [1], ceil_mode
            for include in (False, True):
                yield "avg_pool2d.out", x, [3, 2], [2, 3], [1, 1], ceil_mode, include
            yield "avg_pool2d.out", x, [3], [], [0], ceil_mode, True, 5
        for size in ([1, 1], [3, 5], [9, 2], [7, 8]):
            yield "_adaptive_avg_pool2d.out", make(2, 3, 7, 8), size
    for dtype in FLOATS:
        yield "_adaptive_avg_pool2d.out", tensor(3, 5, 4, dtype=dtype), [2, 3]
        yield "avg_pool2d.out", tensor(1, 5, 4, dtype=dtype), [2, 2]
    for dtype in (torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.uint8):
        yield "max_pool2d_with_indices.out", tensor(1, 5, 4, dtype=dtype), [2, 2]
    yield "avg_pool2d.out", tensor(1, 5, 4, dtype=torch.int64), [2, 2]
    special = of(NAN, 1.0, -INF, -INF, 2.0, NAN, -INF, -INF, INF, 3.0, 4.0, 5.0).reshape(1, 3, 4)
    yield "max_pool2d_with_indices.out", special, [2, 2], [1, 1]
    yield "avg_pool2d.out", special, [2, 2], [1, 1]
    like = tensor(1, 2, 2)
    for bad in ([0, 1], [], [2, 2, 2], [9, 1], [-1, 1], [2**62, 1]):
        yield "avg_pool2d.out", tensor(1, 4, 4), bad, Fails(like)
        yield "max_pool2d_with_indices.out", tensor(1, 4, 4), bad, Fails(like, like.long())
    yield "avg_pool2d.out", tensor(1, 4, 4), [2, 2], [0, 1], Fails(like)
    yield "avg_pool2d.out", tensor(1, 4, 4), [2, 2], [2, 2], [2, 2], Fails(like)
    yield "avg_pool2d.out", tensor(1, 4, 4), [2, 2], [2, 2], [0, 0], False, True, 0, Fails(like)
    yield "avg_pool2d.out", tensor(4, 4), [2, 2], Fails(like)
    yield "max_pool2d_with_indices.out", tensor(1, 4, 4), [2, 2], Fails(like, like)
    yield "_adaptive_avg_pool2d.out", tensor(1, 0, 4), [2, 2], Fails(like)
    yield "_adaptive_avg_pool2d.out", tensor(1, 4, 4), [2, -2], Fails(like)


def sampling_cases() -> Iterator[tuple[Any, ...]]:
    # Eager rounds positions to float in several steps, in an order that depends on the layout.
    rounded = {"tolerance": 1e-5}
    for make in (tensor, channels_last):
        for corners in (False, True):
            for size in ([3, 5], [1, 1], [7, 2], [4, 6]):
                yield "upsample_bilinear2d.vec_out", make(2, 3, 4, 6), size, corners, None, rounded
            yield "upsample_bilinear2d.vec_out", make(1, 2, 4, 6), None, corners, [1.7, 0.6], rounded
        for size in ([3, 5], [1, 1], [7, 13], [4, 6]):
            yield "upsample_nearest2d.vec_out", make(2, 3, 4, 6), size, None
        yield "upsample_nearest2d.vec_out", make(1, 2, 4, 6), None, [1.7, 2.3]
    yield "upsample_bilinear2d.vec_out", tensor(1, 1, 2, 3, dtype=torch.float64), [5, 4], False, None
    yield "upsample_nearest2d.vec_out", tensor(1, 1, 2, 3, dtype=torch.float16), [5, 4], None
    yield "upsample_nearest2d.vec_out", tensor(1, 1, 2, 3, dtype=torch.uint8), [5, 4], None
    like = tensor(1, 1, 2, 2)
    x = tensor(1, 1, 4, 4)
    for name, middle in (("upsample_bilinear2d.vec_out", [False]), ("upsample_nearest2d.vec_out", [])):
        yield name, x, None, *middle, None, Fails(like)
        yield name, x, [2, 2], *middle, [0.5, 0.5], Fails(like)
        yield name, x, [2], *middle, None, Fails(like)
        yield name, x, [2, 0], *middle, None, Fails(like)
        yield name, x, None, *middle, [0.5, NAN], Fails(like)
        yield name, x, None, *middle, [0.1, 1e300], Fails(like)
        yield name, tensor(1, 1, 0, 4), [2, 2], *middle, None, Fails(like)
        yield name, tensor(1, 4, 4), [2, 2], *middle, None, Fails(like)
    far = of(NAN, 0.5, 3.0, -7.25, INF, 0.0, 1e30, -1e30, 1.0, 1.0, -1.0, -1.0, 0.5, NAN).reshape(1, 7, 1, 2)
    for mode in range(3):
        for padding in range(3):
            for corners in (False, True):
                grid = tensor(2, 3, 5, 2, low=-2.5, high=2.5)
                yield "grid_sampler_2d.out", tensor(2, 2, 5, 7), grid, mode, padding, corners, rounded
                if mode == 1 or padding == 0:
                    yield "grid_sampler_2d.out", tensor(1, 1, 3, 4), far[:, :1], mode, padding, corners, rounded
    yield "grid_sampler_2d.out", channels_last(1, 3, 4, 4), tensor(1, 2, 2, 2, low=-1, high=1), 0, 0, True
    yield (
        "grid_sampler_2d.out",
        tensor(1, 1, 4, 4, dtype=torch.float64),
        tensor(1, 2, 2, 2, dtype=torch.float64),
        2,
        2,
        False,
    )
    like = tensor(1, 1, 2, 2)
    grid = tensor(1, 2, 2, 2)
    yield "grid_sampler_2d.out", tensor(1, 1, 4, 4), grid, 3, 0, False, Fails(like)
    yield "grid_sampler_2d.out", tensor(1, 1, 4, 4), grid, 0, -1, False, Fails(like)
    yield "grid_sampler_2d.out", tensor(1, 1, 4, 4), tensor(1, 2, 2, 3), 0, 0, False, Fails(like)
    yield "grid_sampler_2d.out", tensor(1, 1, 4, 4), tensor(2, 2, 2, 2), 0, 0, False, Fails(like)
    yield "grid_sampler_2d.out", tensor(1, 1, 0, 4), grid, 0, 0, False, Fails(like)


def distance_cases() -> Iterator[tuple[Any, ...]]:
    for p in (0.0, 1.0, 2.0, 2.5, INF):
        yield "_cdist_forward.out", tensor(3, 4), tensor(5, 4), p, None
        yield "_pdist_forward.out", tensor(4, 3), p
    yield "_cdist_forward.out", tensor(2, 3, 4), tensor(2, 5, 4), 2.0, 2
    yield "_cdist_forward.out", tensor(3, 1, 3, 4, dtype=torch.float64), tensor(2, 5, 4, dtype=torch.float64), 1.0, None
    yield "_cdist_forward.out", of(NAN, 1.0).reshape(2, 1), of(0.0, 2.0).reshape(2, 1), 2.0, None
    yield "_cdist_forward.out", tensor(2, 0), tensor(3, 0), 2.0, None
    yield "_pdist_forward.out", tensor(1, 3), 2.0
    yield "_cdist_forward.out", tensor(3, 4), tensor(5, 3), 2.0, None, Fails(tensor(3, 5))
    yield "_cdist_forward.out", tensor(3, 4), tensor(4), 2.0, None, Fails(tensor(3, 5))
    yield "_cdist_forward.out", tensor(3, 4), tensor(5, 4), -1.0, None, Fails(tensor(3, 5))
    yield "_cdist_forward.out", tensor(2, 3, 4), tensor(3, 5, 4), 1.0, None, Fails(tensor(2, 3, 5))
    yield "_pdist_forward.out", tensor(3), 2.0, Fails(tensor(3))


def other_cases() -> Iterator[tuple[Any, ...]]:
    for dim in (0, 1, -1):
        yield "glu.out", tensor(4, 6, 2), dim
    yield "glu.out", tensor(4, dtype=torch.float64), 0
    yield "glu.out", tensor(3, 4), 0, Fails(tensor(3, 4))
    yield "glu.out", tensor(4, 3), 2, Fails(tensor(2, 3))
    yield "glu.out", tensor(), 0, Fails(tensor())
    for dtype in (torch.float32, torch.int8, torch.int16, torch.float64, torch.bool):
        yield "pixel_shuffle.out", tensor(2, 8, 3, 2, dtype=dtype), 2
        yield "pixel_unshuffle.out", tensor(2, 1, 6, 9, dtype=dtype), 3
    yield "pixel_shuffle.out", tensor(9, 1, 1), 3
    yield "pixel_shuffle.out", tensor(1, 8, 2, 2), 3, Fails(tensor(1, 2, 4, 4))
    yield "pixel_shuffle.out", tensor(1, 8, 2, 2), 0, Fails(tensor(1, 2, 4, 4))
    yield "pixel_unshuffle.out", tensor(1, 2, 5, 4), 2, Fails(tensor(1, 8, 2, 2))
    yield "pixel_shuffle.out", tensor(8, 2), 2, Fails(tensor(8, 2))
    indices = of(0, 4, 2, 2, 1, 0, dtype=torch.int64).reshape(2, 3)
    for dtype in (torch.float32, torch.float16, torch.float64):
        yield "embedding.out", tensor(5, 4, dtype=dtype), indices
    yield "embedding.out", tensor(5, 4), indices.int()
    yield "embedding.out", tensor(5, 4), of(dtype=torch.int64)
    like = tensor(2, 3, 4)
    yield "embedding.out", tensor(4, 4), indices, Fails(like)
    yield "embedding.out", tensor(5, 4), indices - 1, Fails(like)
    yield "embedding.out", tensor(5, 4), indices.float(), Fails(like)
    yield "embedding.out", tensor(5), indices, Fails(like)
    yield "native_dropout.out", tensor(3, 4), 0.5, False
    yield "native_dropout.out", tensor(3, 4), 0.0, True
    yield "native_dropout.out", tensor(3, 4), 1.0, True
    yield "native_dropout.out", tensor(3, 4), 1.5, True, Fails(tensor(3, 4), tensor(3, 4, dtype=torch.bool))


def single_cases() -> Iterator[tuple[Any, ...]]:
    """A call of each operator that other tests examine in detail; the fuzz target mutates these calls."""
    images, volume = tensor(1, 2, 5, 5), tensor(1, 2, 4, 4, 4)
    yield "convolution.out", images, tensor(4, 1, 3, 3), tensor(4), [1, 1], [1, 1], [1, 1], False, [0, 0], 2
    yield "convolution.out", images, tensor(2, 3, 2, 2), None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1
    yield "linear.out", tensor(2, 3, 4), tensor(5, 4), tensor(5)
    yield "mm.out", tensor(3, 4), tensor(4, 2)
    yield "_adaptive_avg_pool3d.out", volume, [2, 2, 2]
    yield "adaptive_max_pool3d.out", volume, [2, 3, 2]
    yield "avg_pool3d.out", volume, [2, 2, 2], [2, 2, 2], [1, 1, 1], False, True, None
    yield "max_pool3d_with_indices.out", volume, [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False
    yield "avg_pool1d.out", tensor(2, 3, 7), [3], [2], [1], True, False
    grad, square = tensor(1, 2, 2, 2), tensor(1, 2, 4, 4)
    yield "avg_pool2d_backward.grad_input", grad, square, [2, 2], [2, 2], [0, 0], False, True, None
    _, places = torch.ops.aten.max_pool2d_with_indices(square, [2, 2], [2, 2])
    pooled = grad, square, [2, 2], [2, 2], [0, 0], [1, 1], False, places
    yield "max_pool2d_with_indices_backward.grad_input", *pooled
    yield "col2im.out", tensor(2, 12, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]
    yield "im2col.out", tensor(2, 3, 5, 6), [2, 3], [1, 2], [1, 0], [2, 1]
    ordered = tensor(7).sort().values
    yield "bucketize.Scalar_out", 2, ordered
    yield "searchsorted.Scalar_out", ordered, 2
    yield "cummax.out", tensor(3, 4), 1
    yield "kthvalue.values", tensor(3, 5), 2, 1, True
    yield "median.dim_values", tensor(3, 5), 1, False
    yield "nanmedian.dim_values", tensor(3, 5), 0, False
    indices, offsets = of(0, 3, 3, 1, 4, 0, dtype=torch.int64), of(0, 2, 2, 5, dtype=torch.int64)
    yield "_embedding_bag.out", tensor(5, 3), indices, offsets, False, 0, False, None, False, -1
    yield "embedding_dense_backward.out", tensor(2, 3, 4), indices.reshape(2, 3), 5, -1, False


def channels_last_cases() -> Iterator[tuple[Any, ...]]:
    """Normalisations whose rows and groups are not contiguous."""
    yield "native_layer_norm.out", channels_last(1, 2, 2, 2), [2], None, None, 1e-5
    yield "native_layer_norm.out", channels_last(2, 3, 2, 5), [2, 5], tensor(2, 5), tensor(2, 5), 1e-5
    yield "native_group_norm.out", channels_last(2, 4, 3, 5), tensor(4), tensor(4), 2, 4, 15, 2, 1e-5


if __name__ == "__main__":
    sections = (
        norm_cases,
        pool_cases,
        sampling_cases,
        distance_cases,
        other_cases,
        single_cases,
        channels_last_cases,
    )
    eager.write_cases(Path(__file__).with_name("eager_nn_cases.txt"), Path(__file__).name, sections)
