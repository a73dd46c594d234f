# SPDX-License-Identifier: BSD-3-Clause
"""Pooling, resampling and padding."""

from __future__ import annotations

import torch

from backends.cases.call import Call, call, operator
from backends.cases.values import image, normal, uniform

IMAGES = ((1, 3, 8, 8), (2, 1, 8, 8), (2, 8, 9, 7), (1, 17, 14, 14))


@operator("avg_pool2d.default")
def _() -> list[Call]:
    calls = [call(make(*shape), [2, 2], [2, 2]) for make in (normal, image) for shape in IMAGES]
    return [
        *calls,
        call(normal(1, 8, 9, 9), [3, 3], [2, 2], [1, 1]),
        call(normal(1, 8, 9, 9), [3, 3], [2, 2], [1, 1], True, False),
        call(normal(1, 8, 9, 9), [3, 2], [1, 2], [0, 0], False, True, 5),
        call(normal(8, 9, 9), [2, 2]),
    ]


@operator("avg_pool1d.default")
def _() -> list[Call]:
    return [
        call(normal(2, 3, 17), [2], [2]),
        call(normal(1, 8, 9), [3], [2], [1], True, False),
        call(normal(3, 8), [2]),
    ]


@operator("adaptive_avg_pool1d.default")
def _() -> list[Call]:
    return [call(normal(2, 3, 17), [size]) for size in (1, 5, 17)]


@operator("max_pool2d_with_indices.default")
def _() -> list[Call]:
    calls = [call(make(*shape), [2, 2], [2, 2]) for make in (normal, image) for shape in IMAGES]
    nan = normal(1, 2, 4, 4)
    nan[0, 0, 1, 1] = float("nan")
    return [
        *calls,
        call(normal(1, 64, 28, 28), [3, 3], [2, 2], [1, 1]),
        call(normal(1, 8, 9, 9), [3, 3], [2, 2], [1, 1], [1, 1], True),
        call(normal(1, 8, 9, 9), [2, 2], [1, 1], [0, 0], [2, 2]),
        call(nan, [2, 2], [2, 2]),
    ]


@operator("max_pool3d_with_indices.default")
def _() -> list[Call]:
    return [call(normal(1, 3, 4, 6, 5), [2, 2, 2]), call(normal(1, 3, 5, 6, 5), [3, 3, 3], [2, 2, 2], [1, 1, 1])]


@operator("avg_pool3d.default")
def _() -> list[Call]:
    return [call(normal(1, 3, 4, 6, 5), [2, 2, 2]), call(normal(1, 3, 5, 6, 5), [3, 3, 3], [2, 2, 2], [1, 1, 1])]


@operator("_adaptive_avg_pool2d.default")
def _() -> list[Call]:
    return [
        call(make(*shape), size) for make in (normal, image) for shape in IMAGES for size in ([1, 1], [3, 2], [7, 7])
    ]


@operator("_adaptive_avg_pool3d.default")
def _() -> list[Call]:
    return [call(normal(1, 3, 4, 6, 5), size) for size in ([1, 1, 1], [2, 3, 4])]


@operator("upsample_bilinear2d.vec")
def _() -> list[Call]:
    sizes = [call(make(1, 3, 8, 9), [16, 17], align, None) for make in (normal, image) for align in (True, False)]
    scaled = [
        call(normal(1, 3, 9, 7), None, align, [0.5, 1.5]) for align in (True, False)
    ]  # to 4.5 x 10.5, rounded down
    whole = call(normal(2, 8, 7, 7), None, False, [2.0, 2.0])
    return [*sizes, *scaled, whole, call(normal(1, 3, 9, 9), [4, 5], False, None)]


@operator("upsample_nearest2d.vec")
def _() -> list[Call]:
    sizes = [call(make(1, 3, 8, 9), [16, 17], None) for make in (normal, image)]
    return [*sizes, call(normal(2, 8, 7, 7), None, [2.0, 2.0]), call(normal(1, 3, 9, 9), [4, 5], None)]


@operator("grid_sampler_2d.default")
def _() -> list[Call]:
    return [
        call(normal(2, 3, 7, 9), uniform(-1.2, 1.2, 2, 4, 5, 2), mode, padding, align)
        for mode in (0, 1)
        for padding in (0, 1, 2)
        for align in (True, False)
    ]


@operator("constant_pad_nd.default")
def _() -> list[Call]:
    pads = [
        call(make(1, 3, 5, 7), pad, 0.0) for make in (normal, image) for pad in ([1, 1, 1, 1], [0, 1, 2, 0], [-1, 2])
    ]
    return [*pads, call(normal(17), [1, 2], 1.5), call(normal(2, 3, 4), [0, 0, 1, 0], -1.0)]


@operator("reflection_pad1d.default")
def _() -> list[Call]:
    return [call(normal(3, 17), [1, 2]), call(normal(2, 3, 9), [8, 0])]


@operator("reflection_pad2d.default", "replication_pad2d.default")
def _() -> list[Call]:
    return [call(make(1, 3, 5, 7), pad) for make in (normal, image) for pad in ([1, 1, 1, 1], [0, 3, 2, 0])]


@operator("reflection_pad3d.default", "replication_pad3d.default")
def _() -> list[Call]:
    return [call(normal(1, 3, 4, 5, 6), [1, 1, 1, 1, 1, 1]), call(normal(1, 3, 4, 5, 6), [0, 2, 1, 0, 3, 1])]


@operator("col2im.default")
def _() -> list[Call]:
    return [call(normal(1, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])]


# Operators of training: they are in Core ATen, and programs of training call them.


@operator("avg_pool2d_backward.default")
def _() -> list[Call]:
    return [call(normal(1, 3, 4, 4), normal(1, 3, 8, 8), [2, 2], [2, 2], [0, 0], False, True, None)]


@operator("max_pool2d_with_indices_backward.default")
def _() -> list[Call]:
    x = normal(1, 3, 8, 8)
    _, indices = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], [2, 2])
    return [call(normal(1, 3, 4, 4), x, [2, 2], [2, 2], [0, 0], [1, 1], False, indices)]


@operator("_adaptive_avg_pool2d_backward.default")
def _() -> list[Call]:
    return [call(normal(1, 3, 2, 3), normal(1, 3, 7, 8))]


@operator("convolution_backward.default")
def _() -> list[Call]:
    options = ([8], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])
    return [call(normal(1, 8, 9, 9), normal(1, 3, 9, 9), normal(8, 3, 3, 3), *options)]


@operator("native_layer_norm_backward.default")
def _() -> list[Call]:
    x = normal(3, 33)
    _, mean, rstd = torch.ops.aten.native_layer_norm.default(x, [33], None, None, 1e-5)
    return [call(normal(3, 33), x, [33], mean, rstd, normal(33), normal(33), [True, True, True])]


@operator("native_group_norm_backward.default")
def _() -> list[Call]:
    x = normal(2, 8, 5, 7)
    _, mean, rstd = torch.ops.aten.native_group_norm.default(x, None, None, 2, 8, 35, 2, 1e-5)
    return [call(normal(2, 8, 5, 7), x, mean, rstd, normal(8), 2, 8, 35, 2, [True, True, True])]
