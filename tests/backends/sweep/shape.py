# SPDX-License-Identifier: BSD-3-Clause
"""Operators that move, repeat or make elements without arithmetic."""

from __future__ import annotations

from itertools import permutations

import torch

from backends.cases import Size
from backends.cases.call import call
from backends.cases.values import normal
from backends.sweep.constants import GRAIN, LANES, VECTORS
from backends.sweep.declare import Case, Dynamic, offset, sweep
from backends.sweep.shapes import last

SHAPES = (
    *((size,) for size in (1, *VECTORS)),
    *((3, size) for size in VECTORS[::2]),
    (2, 3, LANES[-1] + 1),
    (2, 3, 4, LANES[0] + 1),
    (2, 3, 2, 3, LANES[1] + 1),
    (1, 1, 1, 1, 1),
    (0, 3),
    (3, 0, 2),
    (GRAIN + 1,),
    (257, 129),
)
IMAGES = ((2, 8, 5, 7), (1, 1, 5, 7), (2, 17, 1, 1), (2, 5, 2, 3, 3))


def dims_of(shape: tuple[int, ...]) -> range:
    return range(-1, len(shape))


@sweep("view.default")
def _() -> list[Case]:
    calls = [call(normal(*shape), [-1]) for shape in SHAPES if 0 not in shape]
    calls += [call(normal(*shape), [1, torch.Size(shape).numel(), 1]) for shape in SHAPES]
    calls += [call(normal(2, 3, 5, 7), sizes) for sizes in ([6, 35], [2, 15, 7], [2, 3, 5, 7, 1], [210])]
    calls += [
        call(normal(1), []),
        call(normal(), [1, 1]),
        call(normal(0, 3), [3, 0, 2]),
        call(offset(normal(6, 5)), [3, 10]),
    ]
    return [
        *calls,
        Dynamic(lambda n: call(normal(n, 6), [Size(0, 0), 2, 3])),
        Dynamic(lambda n: call(normal(n, 6), [Size(0, 0, 6)])),
        Dynamic(lambda n: call(normal(2, n, 5), [Size(0, 1, 2), 5])),
    ]


@sweep("permute.default")
def _() -> list[Case]:
    of_each_rank = ((17,), (5, 33), (3, 5, LANES[-1] + 1), (2, 3, 4, 5))
    calls = [call(normal(*shape), list(dims)) for shape in of_each_rank for dims in permutations(range(len(shape)))]
    calls += [call(normal(rows, size), [1, 0]) for rows in VECTORS[::2] for size in VECTORS[1::2]]
    calls += [call(last(normal(*shape)), list(dims)) for shape in IMAGES[:1] for dims in permutations(range(4))]
    calls += [call(normal(2, 3, 4, 5, 6), dims) for dims in ([4, 0, 2, 1, 3], [0, 2, 3, 4, 1], [4, 3, 2, 1, 0])]
    calls += [
        call(normal(0, 3), [1, 0]),
        call(normal(257, 259), [1, 0]),
        call(offset(normal(9, 17)), [1, 0]),
        call(normal(), []),
    ]
    return [
        *calls,
        Dynamic(lambda n: call(normal(n, 17), [1, 0])),
        Dynamic(lambda n: call(normal(1, n, 12, 64), [0, 2, 1, 3]), (1, 7, 140)),
        Dynamic(lambda n: call(normal(2, 3, n, 5), [0, 2, 3, 1])),
    ]


@sweep("cat.default")
def _() -> list[Case]:
    calls = [call([normal(*shape), normal(*shape)], dim) for shape in SHAPES for dim in dims_of(shape)]
    calls += [call([normal(3, first), normal(3, size)], 1) for first in (1, 8, 17) for size in VECTORS[::2]]
    calls += [call([last(normal(*shape)), last(normal(*shape))], dim) for shape in IMAGES for dim in dims_of(shape)]
    calls += [
        call([last(normal(2, 8, 5, 7)), normal(2, 3, 5, 7)], 1),
        call([normal(2, 3, 5, 7), last(normal(2, 8, 5, 7))], 1),
    ]
    calls += [call([normal(1, 5) for _ in range(count)], 0) for count in (1, 2, 3, 4, 5, 6, 17)]
    calls += [call([normal(0), normal(2, 3)], 0), call([normal(2, 0), normal(2, 3), normal(2, 0)], 1)]
    calls += [call([offset(normal(3, 7)), offset(normal(3, 9))], 1), call([normal(2, 3)], 0)]
    return [
        *calls,
        Dynamic(lambda n: call([normal(n, 5), normal(n, 7)], 1)),
        Dynamic(lambda n: call([normal(n, 5), normal(3, 5)], 0)),
        Dynamic(lambda n: call([last(normal(1, 8, n, 3)), last(normal(1, 5, n, 3))], 1), (2, 7, 33)),
    ]


@sweep("slice.Tensor")
def _() -> list[Case]:
    calls = []
    for shape in SHAPES:
        for dim in dims_of(shape):
            size = shape[dim]
            bounds = (
                (0, 2**63 - 1, 1),
                (1, size, 2),
                (-3, 2**63 - 1, 1),
                (size, size, 1),
                (0, -1, 1),
                (size - 1, size, 3),
            )
            calls += [call(normal(*shape), dim, *bound) for bound in bounds[dim + 1 :: 2]]
    calls += [call(last(normal(*shape)), dim, 1, 3, 1) for shape in IMAGES for dim in dims_of(shape)]
    return [
        *calls,
        Dynamic(lambda n: call(normal(n, 5), 1, 1, 4, 1)),
        Dynamic(lambda n: call(normal(n, 5), 0, 0, -1, 1), (3, 7, 70)),
        Dynamic(lambda n: call(normal(2, n), 1, 1, 2**63 - 1, 2), (4, 7, 70)),
    ]


@sweep("select.int")
def _() -> list[Case]:
    calls = [
        call(normal(*shape), dim, index)
        for shape in SHAPES
        for dim in dims_of(shape)
        for index in {0, -1}
        if shape[dim] > 0
    ]
    calls += [call(last(normal(*shape)), dim, -1) for shape in IMAGES for dim in dims_of(shape)]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), 1, 2)), Dynamic(lambda n: call(normal(n, 5), 0, -1))]


@sweep("select_scatter.default")
def _() -> list[Case]:
    shapes = [shape for shape in SHAPES if 0 not in shape] + list(IMAGES)
    calls = [
        call(normal(*shape), normal(*(n for d, n in enumerate(shape) if d != dim)), dim, index)
        for shape in shapes
        for dim in range(len(shape))
        for index in (0, -1)
    ]
    calls += [call(last(normal(*shape)), normal(shape[0], *shape[2:]), 1, 0) for shape in IMAGES]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), normal(n), 1, 2))]


@sweep("slice_scatter.default")
def _() -> list[Case]:
    calls = []
    for shape in ((17,), (5, 33), (3, 9, 5), (2, 8, 5, 7), (2, 8, 3, 3, 5)):
        for dim, size in enumerate(shape):
            for start, end, step in ((0, size, 1), (1, size - 1, 1), (1, size, 2)):
                part = list(shape)
                part[dim] = len(range(start, end, step))
                calls.append(call(normal(*shape), normal(*part), dim, start, end, step))
    images = [call(last(normal(2, 8, 5, 7)), last(normal(2, 3, 5, 7)), 1, 2, 5, 1)]
    return [*calls, *images, Dynamic(lambda n: call(normal(n, 8), normal(n, 3), 1, 2, 5, 1))]


@sweep("split_with_sizes.default")
def _() -> list[Case]:
    calls = [call(normal(3, size), [1, size - 2, 1], 1) for size in VECTORS]
    calls += [call(normal(*shape), [shape[dim]], dim) for shape in SHAPES for dim in range(len(shape))]
    calls += [call(last(normal(2, 8, 5, 7)), sizes, 1) for sizes in ([4, 4], [1, 0, 7], [3, 5])]
    return [*calls, Dynamic(lambda n: call(normal(n, 9), [4, 5], 1))]


@sweep("unsqueeze.default")
def _() -> list[Case]:
    calls = [call(normal(*shape), dim) for shape in SHAPES if len(shape) < 5 for dim in range(-1, len(shape) + 1)]
    calls += [call(last(normal(*shape)), dim) for shape in IMAGES[:3] for dim in range(-1, 5)]
    return [*calls, call(normal(), 0), Dynamic(lambda n: call(normal(n, 5), 1))]


@sweep("squeeze.dim")
def _() -> list[Case]:
    calls = [call(normal(*shape), dim) for shape in (*SHAPES, (1, 17, 1), (2, 1, 5, 1)) for dim in dims_of(shape)]
    calls += [
        call(last(normal(*shape)), dim) for shape in (*IMAGES, (2, 1, 5, 7), (2, 5, 1, 1)) for dim in dims_of(shape)
    ]
    return [*calls, Dynamic(lambda n: call(normal(n, 1, 5), 1), (2, 7, 70))]


@sweep("squeeze.dims")
def _() -> list[Case]:
    calls = [call(normal(1, size, 1, 5), dims) for size in VECTORS[::3] for dims in ([0, 2], [0], [2, 3], [0, 1, 2])]
    calls += [call(last(normal(2, 8, 1, 1)), [2, 3]), call(normal(1, 1, 1, 1, 1), [0, 2, 4]), call(normal(0, 1), [1])]
    return [*calls, Dynamic(lambda n: call(normal(n, 1, 5, 1), [1, 3]), (2, 7, 70))]


@sweep("expand.default")
def _() -> list[Case]:
    calls = [call(normal(1, size), [rows, size]) for size in VECTORS for rows in (1, 3)]
    calls += [call(normal(size, 1), [2, size, columns]) for size in VECTORS[::3] for columns in VECTORS[1::3]]
    calls += [
        call(normal(), []),
        call(normal(), [0]),
        call(normal(1), [GRAIN + 1]),
        call(normal(3, 1, 5), [-1, 4, -1]),
        call(normal(2, 1, 3, 1, 5), [2, 4, 3, 6, 5]),
        call(normal(1, 3), [0, 3]),
        call(last(normal(1, 8, 5, 7)), [3, 8, 5, 7]),
        call(last(normal(2, 8, 1, 1)), [2, 8, 5, 7]),
        call(last(normal(2, 1, 5, 7)), [2, 8, 5, 7]),
    ]
    return [*calls, Dynamic(lambda n: call(normal(n, 1), [-1, 5])), Dynamic(lambda n: call(normal(n, 5), [3, -1, -1]))]


@sweep("repeat.default")
def _() -> list[Case]:
    calls = [call(normal(3, size), repeats) for size in VECTORS for repeats in ([2, 1], [1, 3])]
    calls += [call(normal(*shape), [2] * len(shape)) for shape in SHAPES if torch.Size(shape).numel() < GRAIN]
    calls += [
        call(normal(17), [2, 3, 1]),
        call(normal(2, 3), [0, 1]),
        call(normal(), [3]),
        call(last(normal(2, 3, 5, 7)), [1, 2, 1, 1]),
        call(last(normal(2, 3, 5, 7)), [2, 1, 2, 2]),
    ]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), [2, 3]))]


@sweep("flip.default")
def _() -> list[Case]:
    calls = [call(normal(*shape), [dim]) for shape in SHAPES for dim in dims_of(shape)]
    calls += [call(normal(*shape), list(range(len(shape)))) for shape in SHAPES]
    calls += [call(last(normal(*shape)), [dim]) for shape in IMAGES for dim in dims_of(shape)]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), [0, 1]))]


@sweep("diagonal.default")
def _() -> list[Case]:
    squares = [(size, size) for size in VECTORS[::3]] + [(5, 33), (33, 5), (0, 3), (1, 1)]
    calls = [call(normal(*shape), at) for shape in squares for at in (0, 1, -2, 40)]
    calls += [call(normal(2, 5, 7), at, *dims) for at in (0, -1) for dims in ((0, 1), (1, 2), (2, 0), (-1, -2))]
    return [*calls, call(last(normal(2, 3, 5, 7)), 0, 2, 3), Dynamic(lambda n: call(normal(n, 5, 5), 0, 1, 2))]


@sweep("as_strided.default")
def _() -> list[Case]:
    calls = [call(normal(4 * size), [3, size], [size, 1], 2) for size in VECTORS]
    calls += [
        call(normal(99), sizes, strides, at)
        for sizes, strides, at in (
            ([5, 7], [1, 9], 3),
            ([3, 3, 3], [2, 2, 2], 0),
            ([4, 5], [0, 1], 1),
            ([], [], 98),
            ([0, 3], [3, 1], 0),
            ([2, 2, 2, 2, 3], [32, 16, 8, 4, 1], 0),
        )
    ]
    return calls


@sweep("full.default")
def _() -> list[Case]:
    calls = [call(list(shape), 1.5) for shape in SHAPES] + [call([], 2.0)]
    calls += [
        call([size], 3, dtype=dtype) for size in VECTORS[::4] for dtype in (torch.int64, torch.bool, torch.float16)
    ]
    return calls


@sweep("arange.start_step")
def _() -> list[Case]:
    calls = [call(0, size, 1) for size in VECTORS] + [call(0.0, 0.25 * size, 0.25) for size in VECTORS]
    return [*calls, call(9, -1, -2), call(0, 0, 1), call(1, GRAIN + 2, 1), call(-3.0, 5.0, 0.3)]


@sweep("scalar_tensor.default")
def _() -> list[Case]:
    return [
        call(value, dtype=dtype)
        for value, dtype in ((1.5, torch.float32), (3, torch.int64), (True, torch.bool), (2, torch.int32))
    ]
