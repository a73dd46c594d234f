# SPDX-License-Identifier: BSD-3-Clause
"""Operators that move, repeat or make elements without arithmetic."""

from __future__ import annotations

import torch

from backends.cases.call import Call, call, operator
from backends.cases.values import LARGE, image, integers, normal


@operator("view.default")
def _() -> list[Call]:
    return [
        call(normal(2, 3, 5, 7), [6, 35]),
        call(normal(LARGE), [1, LARGE]),
        call(normal(0, 3), [3, 0]),
        call(normal(1), []),
        call(image(2, 8, 5, 7), [2, 8, 35]),
    ]


@operator("permute.default")
def _() -> list[Call]:
    images = [
        call(make(2, 3, 5, 7), dims) for make in (normal, image) for dims in ([0, 2, 3, 1], [0, 3, 1, 2], [3, 2, 1, 0])
    ]
    return [
        *images,
        call(normal(17, 33), [1, 0]),
        call(normal(1, 12, 70, 64), [0, 2, 1, 3]),
        call(normal(2, 3, 4, 5, 6), [4, 0, 2, 1, 3]),
    ]


@operator("cat.default")
def _() -> list[Call]:
    return [
        call([normal(2, 3), normal(2, 5)], 1),
        call([normal(3, 17), normal(1, 17), normal(4, 17)], 0),
        call([image(2, 3, 5, 7), image(2, 8, 5, 7)], 1),
        call([normal(2, 3, 5, 7), normal(2, 3, 5, 7)], -1),
        call([normal(2, 0), normal(2, 3)], 1),
        call([normal(0), normal(2, 3)], 0),
        call([normal(1, 5) for _ in range(9)], 0),
        call([integers(0, 9, 3), normal(4)], 0),
    ]


@operator("slice.Tensor")
def _() -> list[Call]:
    bounds = [(0, 1, 9, 1), (1, 0, 7, 2), (1, -5, 2**63 - 1, 1), (0, 9, 3, 1), (1, 16, 17, 1)]
    return [call(normal(17, 33), *bound) for bound in bounds] + [call(image(2, 8, 5, 7), 1, 2, 6, 1)]


@operator("select.int")
def _() -> list[Call]:
    return [call(normal(3, 17, 5), dim, index) for dim, index in ((0, 0), (1, -1), (2, 3))] + [
        call(image(2, 8, 5, 7), 1, 3)
    ]


@operator("select_scatter.default")
def _() -> list[Call]:
    return [
        call(normal(3, 17), normal(17), 0, 1),
        call(normal(3, 17), normal(3), 1, -1),
        call(image(2, 8, 5, 7), normal(2, 5, 7), 1, 3),
    ]


@operator("slice_scatter.default")
def _() -> list[Call]:
    return [
        call(normal(8, 17), normal(4, 17), 0, 2, 6, 1),
        call(normal(8, 17), normal(8, 8), 1, 1, 17, 2),
        call(image(2, 8, 5, 7), image(2, 3, 5, 7), 1, 2, 5, 1),
    ]


@operator("split_with_sizes.default")
def _() -> list[Call]:
    return [call(normal(3, 17), [1, 7, 9], 1), call(normal(6, 5), [2, 4]), call(image(1, 8, 5, 7), [4, 4], 1)]


@operator("unsqueeze.default")
def _() -> list[Call]:
    return [call(normal(3, 17), dim) for dim in (0, 1, -1)] + [call(normal(), 0)] + [call(image(2, 8, 5, 7), 1)]


@operator("squeeze.dim")
def _() -> list[Call]:
    return [call(normal(1, 17, 1), dim) for dim in (0, 1, -1)] + [call(image(2, 1, 5, 7), 1)]


@operator("squeeze.dims")
def _() -> list[Call]:
    return [call(normal(1, 17, 1, 5), [0, 2]), call(normal(1, 1), [0, 1]), call(image(2, 1, 5, 1), [1, 3])]


@operator("expand.default")
def _() -> list[Call]:
    return [
        call(normal(1, 17), [3, 17]),
        call(normal(17, 1), [2, 17, 9]),
        call(normal(), [5]),
        call(normal(3, 1, 5), [-1, 4, -1]),
        call(image(1, 8, 5, 7), [3, 8, 5, 7]),
    ]


@operator("repeat.default")
def _() -> list[Call]:
    return [
        call(normal(3, 17), [2, 1]),
        call(normal(17), [2, 3]),
        call(normal(2, 3), [1, 2, 2]),
        call(image(2, 3, 5, 7), [1, 2, 1, 1]),
    ]


@operator("flip.default")
def _() -> list[Call]:
    return [call(normal(3, 17), dims) for dims in ([0], [1], [0, 1])] + [call(image(2, 3, 5, 7), [2, 3])]


@operator("diagonal.default")
def _() -> list[Call]:
    return (
        [call(normal(5, 7), offset) for offset in (0, 2, -3)]
        + [call(normal(2, 5, 7), 1, 1, 2)]
        + [call(image(2, 3, 5, 7), 0, 2, 3)]
    )


@operator("as_strided.default")
def _() -> list[Call]:
    return [call(normal(33), [3, 5], [7, 2], 1), call(normal(4, 9), [4, 3, 3], [9, 3, 1])]


@operator("full.default")
def _() -> list[Call]:
    return [call([3, 17], 1.5), call([], 2.0), call([0], 1.0), call([17], 3, dtype=torch.int64)]


@operator("arange.start_step")
def _() -> list[Call]:
    return [call(0, 17, 1), call(1.0, 4.0, 0.25), call(9, -1, -2)]


@operator("scalar_tensor.default")
def _() -> list[Call]:
    return [call(1.5), call(3, dtype=torch.int64)]
