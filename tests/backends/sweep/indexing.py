# SPDX-License-Identifier: BSD-3-Clause
"""Operators that read or write at indices."""

from __future__ import annotations

import torch
from torch import Tensor

from backends.cases import Weight
from backends.cases.call import call
from backends.cases.values import integers, normal, truths
from backends.sweep.constants import GRAIN, LANES, VECTORS
from backends.sweep.declare import Case, Dynamic, sweep
from backends.sweep.shapes import last

SHAPES = (
    *((size,) for size in VECTORS[::3]),
    *((5, size) for size in VECTORS[::3]),
    (3, 5, LANES[-1] + 1),
    (2, 3, 4, LANES[0] + 1),
    (2, 3, 2, 3, LANES[1] + 1),
    (257, 129),
)
IMAGES = ((2, 8, 5, 7), (2, 17, 1, 1), (2, 5, 2, 3, 3))
COUNTS = (0, 1, 3, 17)
"""Indices."""


def along(shape: tuple[int, ...], dim: int, count: int) -> tuple[int, ...]:
    """The shape with another size in a dimension."""
    return tuple(count if d == dim else n for d, n in enumerate(shape))


def places(shape: tuple[int, ...], dim: int, count: int) -> Tensor:
    """Indices into dimension `dim` of a tensor of `shape`. The index tensor has the same shape, except for `count` in
    that dimension.
    """
    return integers(0, shape[dim], *along(shape, dim, count))


def distinct(shape: tuple[int, ...], dim: int) -> Tensor:
    """Like the function above, without repeated indices."""
    return torch.rand(shape).argsort(dim)


@sweep("embedding.default")
def _() -> list[Case]:
    calls = [call(Weight(normal(50, width)), integers(0, 50, 2, 9)) for width in (1, 2, *VECTORS)]
    shapes = ((), (0,), (1,), (2, 3, 4), (GRAIN // 16 + 1,), (1, 2, 3, 4))
    calls += [call(Weight(normal(50, 17)), integers(0, 50, *shape)) for shape in shapes]
    calls += [call(normal(9, 8), integers(0, 9, 5, dtype=torch.int32))]
    return [
        *calls,
        Dynamic(lambda n: call(Weight(normal(50, 17)), integers(0, 50, n))),
        Dynamic(lambda n: call(Weight(normal(50, 17)), integers(0, 50, 2, n))),
    ]


@sweep("_embedding_bag.default")
def _() -> list[Case]:
    calls = [
        call(Weight(normal(50, width)), integers(0, 50, 9), torch.tensor(offsets), False, mode)
        for width in (1, *VECTORS[::3])
        for mode in (0, 1, 2)
        for offsets in ([0, 2, 7], [0], [0, 0, 9])
    ]
    table = Weight(normal(50, 17))
    return [*calls, Dynamic(lambda n: call(table, integers(0, 50, n), torch.tensor([0, 1]), False, 0))]


@sweep("embedding_dense_backward.default")
def _() -> list[Case]:
    return [
        call(normal(9, width), integers(0, 20, 9), 20, padding, scale)
        for width in VECTORS
        for padding in (-1, 3)
        for scale in (False, True)
    ]


@sweep("index.Tensor")
def _() -> list[Case]:
    calls = [call(normal(*shape), [integers(-shape[0], shape[0], count)]) for shape in SHAPES for count in COUNTS]
    calls += [call(normal(5, size), [None, integers(0, size, 9)]) for size in VECTORS]
    calls += [call(normal(4, 9, size), [None, integers(0, 9, 3, 1), integers(0, size, 1, 2)]) for size in VECTORS[::3]]
    calls += [call(normal(4, 9, size), [integers(0, 4, 3), None, integers(0, size, 3)]) for size in VECTORS[::3]]
    calls += [call(last(normal(2, 8, 5, 7)), [*[None] * dim, integers(0, n, 3)]) for dim, n in enumerate((2, 8, 5, 7))]
    calls += [
        call(normal(5, 7), [truths(5, 7)]),
        call(normal(5, 7), [truths(5)]),
        call(normal(5, 7), [None, truths(7)]),
    ]
    return [
        *calls,
        Dynamic(lambda n: call(normal(9, 5), [integers(0, 9, n)])),
        Dynamic(lambda n: call(normal(n, 5), [torch.tensor([0, -1, 0])])),
    ]


@sweep("index_put.default")
def _() -> list[Case]:
    calls = [
        call(normal(*shape), [torch.randperm(shape[0])[:3]], normal(min(3, shape[0]), *shape[1:])) for shape in SHAPES
    ]
    calls += [call(normal(*shape), [torch.tensor([0, 0, 1])], normal(3, *shape[1:]), True) for shape in SHAPES]
    calls += [call(normal(*shape), [torch.tensor([1, 0])], normal(1)) for shape in SHAPES]
    calls += [
        call(normal(1, 8, 16, size), [None, None, torch.tensor([5])], normal(1, 8, 1, size)) for size in VECTORS[::2]
    ]
    calls += [call(last(normal(2, 8, 5, 7)), [None, torch.tensor([5, 1])], normal(2, 2, 5, 7))]
    calls += [call(normal(5, 7), [truths(5, 7)], normal(1)), call(normal(5, 7), [integers(0, 5, 0)], normal(0, 7))]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), [torch.tensor([0])], normal(1, 5)))]


@sweep("index_select.default")
def _() -> list[Case]:
    shapes = [(shape, normal(*shape)) for shape in SHAPES] + [(shape, last(normal(*shape))) for shape in IMAGES]
    calls = [
        call(x, dim, integers(0, shape[dim], COUNTS[(number + dim) % len(COUNTS)]))
        for number, (shape, x) in enumerate(shapes)
        for dim in range(len(shape))
    ]
    return [
        *calls,
        Dynamic(lambda n: call(normal(9, 5), 0, integers(0, 9, n))),
        Dynamic(lambda n: call(normal(n, 5), 1, integers(0, 5, 3))),
    ]


@sweep("gather.default")
def _() -> list[Case]:
    calls = [
        call(normal(*shape), dim, places(shape, dim, count))
        for shape in SHAPES
        for dim in range(len(shape))
        for count in COUNTS[::2]
    ]
    calls += [call(last(normal(*shape)), dim, places(shape, dim, 3)) for shape in IMAGES for dim in range(len(shape))]
    calls += [call(normal(9, 17), 0, integers(0, 9, 5, 7)), call(normal(), 0, torch.tensor(0))]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), 1, integers(0, 5, n, 3)))]


@sweep("scatter.src")
def _() -> list[Case]:
    calls = [
        call(normal(*shape), dim, distinct(shape, dim), normal(*shape)) for shape in SHAPES for dim in range(len(shape))
    ]
    calls += [
        call(last(normal(*shape)), dim, distinct(shape, dim), normal(*shape))
        for shape in IMAGES
        for dim in range(len(shape))
    ]
    return [
        *calls,
        call(normal(3, 5), 1, integers(0, 5, 0, 5), normal(0, 5)),
        Dynamic(lambda n: call(normal(n, 5), 1, distinct((n, 5), 1), normal(n, 5))),
    ]


@sweep("scatter.value")
def _() -> list[Case]:
    calls = [call(normal(*shape), dim, places(shape, dim, 3), 1.5) for shape in SHAPES for dim in range(len(shape))]
    calls += [
        call(last(normal(*shape)), dim, places(shape, dim, 3), 1.5) for shape in IMAGES for dim in range(len(shape))
    ]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), 1, integers(0, 5, n, 3), 1.5))]


@sweep("scatter_add.default")
def _() -> list[Case]:
    calls = [
        call(normal(*shape), dim, places(shape, dim, 3), normal(*along(shape, dim, 3)))
        for shape in SHAPES
        for dim in range(len(shape))
    ]
    calls += [
        call(last(normal(*shape)), dim, places(shape, dim, 3), normal(*along(shape, dim, 3)))
        for shape in IMAGES
        for dim in range(len(shape))
    ]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), 1, integers(0, 5, n, 3), normal(n, 3)))]


@sweep("scatter_reduce.two")
def _() -> list[Case]:
    hows = ("sum", "prod", "mean", "amax", "amin")
    calls = [
        call(
            normal(*shape),
            dim,
            places(shape, dim, 3),
            normal(*along(shape, dim, 3)),
            hows[(number + dim) % 5],
            include_self=dim % 2 == 0,
        )
        for number, shape in enumerate(SHAPES)
        for dim in range(len(shape))
    ]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), 1, integers(0, 5, n, 3), normal(n, 3), "sum"))]


@sweep("masked_scatter.default")
def _() -> list[Case]:
    calls = [call(normal(*shape), truths(*shape), normal(*shape)) for shape in (*SHAPES, (0, 3))]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), truths(n, 5), normal(n, 5)))]
