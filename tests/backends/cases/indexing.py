# SPDX-License-Identifier: BSD-3-Clause
"""Operators that read or write at indices."""

from __future__ import annotations

import torch

from backends.cases.call import Call, Weight, call, operator
from backends.cases.values import image, integers, normal, truths


@operator("embedding.default")
def _() -> list[Call]:
    sizes = [call(Weight(normal(50, width)), integers(0, 50, 2, 9)) for width in (1, 7, 16, 17, 64)]
    return [
        *sizes,
        call(Weight(normal(50, 8)), integers(0, 50, 70, dtype=torch.int32)),
        call(Weight(normal(5, 8)), integers(0, 5, 0)),
    ]


@operator("_embedding_bag.default")
def _() -> list[Call]:
    return [
        call(Weight(normal(50, 17)), integers(0, 50, 9), torch.tensor([0, 2, 7]), False, mode) for mode in (0, 1, 2)
    ]


@operator("embedding_dense_backward.default")
def _() -> list[Call]:
    return [call(normal(9, 17), integers(0, 50, 9), 50, -1, False)]


@operator("index.Tensor")
def _() -> list[Call]:
    return [
        call(normal(9, 17), [integers(0, 9, 5)]),
        call(normal(9, 17), [integers(-9, 9, 5), integers(0, 17, 5)]),
        call(normal(4, 9, 17), [None, integers(0, 9, 3, 1), integers(0, 17, 1, 2)]),
        call(normal(4, 9, 17), [integers(0, 4, 3), None, integers(0, 17, 3)]),
        call(image(2, 8, 5, 7), [None, integers(0, 8, 3)]),
    ]


@operator("index_put.default")
def _() -> list[Call]:
    return [
        call(normal(9, 17), [torch.tensor([0, 3, 8])], normal(3, 17)),
        call(normal(9, 17), [torch.tensor([0, 3, 3])], normal(3, 17), True),
        call(normal(1, 8, 16, 4), [None, None, torch.tensor([5])], normal(1, 8, 1, 4)),
        call(image(2, 8, 5, 7), [None, torch.tensor([5])], normal(2, 1, 5, 7)),
    ]


@operator("index_select.default")
def _() -> list[Call]:
    return [call(normal(9, 17), dim, integers(0, 9, 5)) for dim in (0, 1)] + [
        call(image(2, 8, 5, 7), 1, integers(0, 8, 3))
    ]


@operator("gather.default")
def _() -> list[Call]:
    return [call(normal(9, 17), dim, integers(0, 9, 5, 7)) for dim in (0, 1)] + [
        call(image(2, 8, 5, 7), 1, integers(0, 8, 2, 3, 5, 7))
    ]


@operator("scatter.src")
def _() -> list[Call]:
    return [call(normal(9, 17), 1, torch.stack([torch.randperm(17)[:7] for _ in range(9)]), normal(9, 7))]


@operator("scatter.value")
def _() -> list[Call]:
    return [call(normal(9, 17), dim, integers(0, 9, 5, 7), 1.5) for dim in (0, 1)] + [
        call(image(2, 8, 5, 7), 1, integers(0, 8, 2, 3, 5, 7), 1.5)
    ]


@operator("scatter_add.default")
def _() -> list[Call]:
    return [call(normal(9, 17), dim, integers(0, 9, 5, 7), normal(5, 7)) for dim in (0, 1)] + [
        call(image(2, 8, 5, 7), 1, integers(0, 8, 2, 3, 5, 7), image(2, 3, 5, 7))
    ]


@operator("scatter_reduce.two")
def _() -> list[Call]:
    return [
        call(normal(9, 17), 0, integers(0, 9, 5, 7), normal(5, 7), how)
        for how in ("sum", "prod", "mean", "amax", "amin")
    ]


@operator("masked_scatter.default")
def _() -> list[Call]:
    return [call(normal(3, 17), truths(3, 17), normal(51))]


@operator("nonzero.default")
def _() -> list[Call]:
    return [call(truths(3, 17)), call(torch.zeros(5)), call(normal(2, 3, 4))]


@operator("_fft_r2c.default")
def _() -> list[Call]:
    return [call(normal(3, size), [1], 0, onesided) for size in (1, 8, 9, 17, 512) for onesided in (True, False)]


@operator("_fft_c2r.default")
def _() -> list[Call]:
    return [call(torch.fft.rfft(normal(3, size)), [1], 2, size) for size in (1, 8, 9, 17, 512)]
