# SPDX-License-Identifier: BSD-3-Clause
"""Operators that reduce or scan dimensions."""

from __future__ import annotations

import torch
from torch import Tensor

from backends.cases.call import Call, call, operator
from backends.cases.values import AROUND_VECTORS, LARGE, image, integers, normal, truths

# Shapes, and the dimensions to reduce: rows around each vector length, columns, planes of images, several dimensions,
# and all.
REDUCTIONS: tuple[tuple[tuple[int, ...], list[int]], ...] = (
    *(((3, size), [1]) for size in AROUND_VECTORS),
    *(((size, 3), [0]) for size in (1, 17, 65)),
    ((2, 3, 5, 7), [2, 3]),
    ((2, 3, 5, 7), [1]),
    ((2, 3, 5, 7), [-1, 0]),
    ((2, 3, 4, 5, 6), [1, 3]),
    ((1, 197, 192), [-1]),
    ((LARGE,), [0]),
    ((7, 10001), [0]),
)


def _lists(**options: object) -> list[Call]:
    calls = [call(normal(*shape), dims, keepdim, **options) for shape, dims in REDUCTIONS for keepdim in (False, True)]
    return [*calls, call(image(2, 8, 5, 7), [2, 3], True, **options), call(image(2, 8, 5, 7), [1], False, **options)]


def _single() -> list[tuple[Tensor, int]]:
    """A tensor and one dimension to reduce, also of images in channels-last order."""
    images = [(image(2, 8, 5, 7), dim) for dim in (0, 1, 2, -1)]
    return [(normal(*shape), dims[0]) for shape, dims in REDUCTIONS] + images


@operator("sum.dim_IntList")
def _() -> list[Call]:
    return [*_lists(), call(integers(-9, 9, 3, 33), [1]), call(truths(3, 33), [1]), call(normal(0, 3), [0])]


@operator("mean.dim")
def _() -> list[Call]:
    return _lists()


@operator("mean.default", "prod.default")
def _() -> list[Call]:
    return [call(normal(*shape)) for shape in ((), (1,), (17,), (3, 33), (2, 3, 5, 7))] + [call(image(2, 8, 5, 7))]


@operator("amax.default", "amin.default")
def _() -> list[Call]:
    nan = normal(3, 33)
    nan[1, 32] = float("nan")
    return [*_lists(), call(nan, [1]), call(integers(-9, 9, 3, 33), [1])]


@operator("any.dims")
def _() -> list[Call]:
    return [call(truths(*shape), dims, keepdim) for shape, dims in REDUCTIONS[::4] for keepdim in (False, True)]


@operator("any.dim")
def _() -> list[Call]:
    return [call(x > 0, dim, keepdim) for x, dim in _single() for keepdim in (False, True)]


@operator("any.default")
def _() -> list[Call]:
    return [call(truths(*shape)) for shape in ((), (0,), (17,), (3, 33))]


@operator("max.dim", "min.dim")
def _() -> list[Call]:
    return [call(x, dim, keepdim) for x, dim in _single() for keepdim in (False, True)]


@operator("argmax.default", "argmin.default")
def _() -> list[Call]:
    calls = [call(x, dim, keepdim) for x, dim in _single() for keepdim in (False, True)]
    return [*calls, call(normal(3, 33))]


@operator("prod.dim_int")
def _() -> list[Call]:
    return [call(x, dim) for x, dim in _single() if x.shape[dim] < 100]


@operator("var.dim")
def _() -> list[Call]:
    return [call(normal(*shape), dims, False) for shape, dims in REDUCTIONS] + [
        call(normal(3, 33), [1], True, True),
        call(image(2, 8, 5, 7), [2, 3], True),
    ]


@operator("var.correction")
def _() -> list[Call]:
    return [
        call(normal(*shape), dims, correction=1) for shape, dims in REDUCTIONS if shape != (3, 1) and shape != (1, 3)
    ]


@operator("cumsum.default")
def _() -> list[Call]:
    return [call(x, dim) for x, dim in _single()] + [call(integers(-9, 9, 3, 33), 1)]


@operator("_softmax.default", "_log_softmax.default")
def _() -> list[Call]:
    masked = normal(4, 17)
    masked[0, 3:], masked[1, :], masked[2, 5] = float("-inf"), float("-inf"), float("nan")
    calls = [call(x, dim, False) for x, dim in _single()]
    return [*calls, call(masked, -1, False), call(1e4 * normal(3, 33), -1, False)]


@operator("topk.default")
def _() -> list[Call]:
    return [
        call(normal(3, size), min(size, 5), -1, largest, True) for size in AROUND_VECTORS for largest in (True, False)
    ] + [call(image(2, 8, 5, 7), 3, 1, True, True)]


@operator("sort.default")
def _() -> list[Call]:
    return [
        call(torch.randperm(3 * size).reshape(3, size).float(), -1, down)
        for size in AROUND_VECTORS
        for down in (True, False)
    ] + [call(image(2, 8, 5, 7), 1, False)]


@operator("_cdist_forward.default")
def _() -> list[Call]:
    return [call(normal(2, 5, size), normal(2, 7, size), p, None) for size in (1, 16, 17) for p in (1.0, 2.0)]


@operator("_pdist_forward.default")
def _() -> list[Call]:
    return [call(normal(5, size), p) for size in (1, 16, 17) for p in (1.0, 2.0)]
