# SPDX-License-Identifier: BSD-3-Clause
"""Operators that reduce or scan dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import torch

from backends.cases.call import call
from backends.cases.values import integers, normal, truths
from backends.sweep.constants import BLOCK, GRAIN, LANES, REDUCED_LANES, SOFTMAX_COLUMNS, VECTORS, around, grain_for
from backends.sweep.declare import Case, Dynamic, offset, sweep
from backends.sweep.shapes import Make, last

RUNS = (1, *VECTORS, *around(BLOCK, REDUCED_LANES * REDUCED_LANES))
"""Elements that go into one result."""
SHAPES = (
    *((3, size) for size in RUNS),
    *((size, 3) for size in RUNS),
    *((2, size, SOFTMAX_COLUMNS + d) for size in (1, 3, LANES[-1] + 1) for d in (-1, 0, 1)),
    (2, 3, 4, LANES[0] + 1),
    (2, 1, 3, LANES[1] - 1),
    (2, 3, 2, 3, LANES[1] + 1),
    (1, 1),
    (1, 1, 1, 1, 1),
)
LARGE = ((2 * GRAIN + 1,), (7, GRAIN // 3 + 1), (grain_for(GRAIN, 64) + 1, 64), (3, 257, 129))
NOTHING = ((0,), (0, 3), (3, 0), (2, 0, 5))
IMAGES = ((2, 8, 5, 7), (1, 17, 3, 3), (2, 1, 5, 7), (2, 33, 1, 1), (2, 5, 2, 3, 3))


def subsets(rank: int) -> Iterable[list[int]]:
    """Dimensions to reduce: each alone, adjacent and other pairs, all."""
    for count in range(1, rank + 1):
        yield from (list(dims) for dims in combinations(range(rank), count))


def lists(make: Make = normal, takes_nothing: bool = True) -> list[Case]:
    """An operator with a list of dimensions. Sums of many elements are exact in any order."""
    exact = make if make is not normal else lambda *shape: integers(-3, 4, *shape, dtype=torch.float32)
    calls: list[Case] = []
    for number, shape in enumerate((*SHAPES, *LARGE)):
        for position, dims in enumerate(subsets(len(shape))):
            values = exact if shape in LARGE else make
            calls.append(call(values(*shape), dims, (number + position) % 2 == 0))
    for shape in IMAGES:
        calls += [call(last(make(*shape)), dims, len(dims) % 2 == 0) for dims in subsets(len(shape))]
    calls += [call(offset(make(3, size)), [1], False) for size in VECTORS[::3]]
    if takes_nothing:
        calls += [call(make(*shape), dims, False) for shape in NOTHING for dims in subsets(len(shape))]
    varying = [
        Dynamic(lambda n: call(make(n, 17), [1], False)),
        Dynamic(lambda n: call(make(n, 17), [0], True)),
        Dynamic(lambda n: call(exact(3, n), [-1], False), (1, 7, 2 * GRAIN + 1)),
        Dynamic(lambda n: call(last(make(2, 8, n, 3)), [2, 3], True), (2, 7, 33)),
        Dynamic(lambda n: call(make(2, n, 3, 5), [1, 3], False)),
    ]
    return [*calls, *varying]


def single(make: Make = normal, *rest: object, keeps: bool = True) -> list[Case]:
    """An operator with one dimension, and with `keepdim` where it has that."""
    calls: list[Case] = []
    for number, shape in enumerate((*SHAPES, *LARGE)):
        for dim in range(-1, len(shape)):
            calls.append(call(make(*shape), dim, *rest, *([(number + dim) % 2 == 0] if keeps else [])))
    for shape in IMAGES:
        calls += [call(last(make(*shape)), dim, *rest, *([dim % 2 == 0] if keeps else [])) for dim in range(len(shape))]
    calls += [call(offset(make(3, size)), 1, *rest) for size in VECTORS[::3]]
    return [
        *calls,
        Dynamic(lambda n: call(make(n, 17), 1, *rest)),
        Dynamic(lambda n: call(make(n, 17), 0, *rest)),
        Dynamic(lambda n: call(make(3, n), -1, *rest), (1, 7, GRAIN + 1)),
        Dynamic(lambda n: call(last(make(2, 8, n, 3)), 1, *rest), (2, 7, 33)),
    ]


def whole_tensors(make: Make = normal) -> list[Case]:
    """An operator that reduces everything."""
    shapes = ((), (1,), *((size,) for size in RUNS), *SHAPES[-12:], *LARGE, *NOTHING)
    calls = [call(make(*shape)) for shape in shapes] + [call(last(make(*shape))) for shape in IMAGES]
    calls += [call(offset(make(size))) for size in VECTORS[::3]]
    return [*calls, Dynamic(lambda n: call(make(n)), (1, 7, GRAIN + 1)), Dynamic(lambda n: call(make(2, n, 3)))]


@sweep("sum.dim_IntList", "mean.dim")
def _() -> list[Case]:
    return lists()


@sweep("amax.default", "amin.default")
def _() -> list[Case]:
    return lists(takes_nothing=False)


@sweep("any.dims")
def _() -> list[Case]:
    return lists(truths)


@sweep("mean.default")
def _() -> list[Case]:
    return whole_tensors()


def factors(*shape: int) -> torch.Tensor:
    """Signs and a few powers of two, so that products are exact in any order."""
    kind = integers(0, 200, *shape)
    return torch.where(kind < 100, 1.0, -1.0) * torch.where(kind == 0, 2.0, torch.where(kind == 100, 0.5, 1.0))


@sweep("prod.default")
def _() -> list[Case]:
    return whole_tensors(factors)


@sweep("any.default")
def _() -> list[Case]:
    return whole_tensors(truths)


@sweep("any.dim")
def _() -> list[Case]:
    return [*single(truths), *(call(truths(*shape), 0) for shape in NOTHING)]


@sweep("max.dim", "min.dim", "argmax.default", "argmin.default")
def _() -> list[Case]:
    return single()


@sweep("prod.dim_int")
def _() -> list[Case]:
    return single(factors)


@sweep("cumsum.default")
def _() -> list[Case]:
    return [*single(keeps=False), *(call(normal(*shape), 0) for shape in NOTHING)]


@sweep("_softmax.default", "_log_softmax.default")
def _() -> list[Case]:
    return [*single(normal, False, keeps=False), *(call(normal(*shape), 0, False) for shape in NOTHING)]


@sweep("var.dim")
def _() -> list[Case]:
    calls = [one for one in lists(takes_nothing=False) if not isinstance(one, Dynamic)]
    # The variance of one element with a correction does not exist.
    plain: list[Case] = [call(one.args[0], one.args[1], False, one.args[2]) for one in calls]
    return [
        *plain,
        Dynamic(lambda n: call(normal(n, 17), [1], True)),
        Dynamic(lambda n: call(normal(3, n), [1], False)),
    ]


@sweep("var.correction")
def _() -> list[Case]:
    calls = [one for one in lists(takes_nothing=False) if not isinstance(one, Dynamic)]
    plain: list[Case] = [call(one.args[0], one.args[1], correction=0, keepdim=one.args[2]) for one in calls]
    return [*plain, Dynamic(lambda n: call(normal(n, 17), [1], correction=1))]


def _different(*shape: int) -> torch.Tensor:
    """Distinct values, so that the order of equal ones does not matter."""
    count = torch.Size(shape).numel()
    return torch.randperm(count).reshape(shape).float()


@sweep("topk.default")
def _() -> list[Case]:
    rows = [(size, k) for size in RUNS for k in {1, min(size, 5), size}]
    calls = [call(_different(3, size), k, -1, (size + k) % 2 == 0, True) for size, k in rows]
    calls += [call(_different(size, 3), k, 0, size % 2 == 0, True) for size, k in rows[::2]]
    images = [call(last(_different(*shape)), 1, dim, True, True) for shape in IMAGES for dim in range(len(shape))]
    return [
        *calls,
        *images,
        call(normal(0, 3), 2, 1, True, True),
        Dynamic(lambda n: call(_different(n, 17), 5, 1, True, True)),
        Dynamic(lambda n: call(_different(3, n), 2, 1, False, True), (2, 7, 300)),
    ]


@sweep("sort.default")
def _() -> list[Case]:
    calls = [call(_different(3, size), -1, size % 2 == 0) for size in RUNS]
    calls += [call(_different(size, 3), 0, size % 2 == 0) for size in RUNS]
    images = [call(last(_different(*shape)), dim, True) for shape in IMAGES for dim in range(len(shape))]
    nothing = [call(normal(*shape), -1, False) for shape in (*NOTHING, (), (1,))]
    return [
        *calls,
        *images,
        *nothing,
        call(_different(2 * GRAIN + 1), 0, False),
        Dynamic(lambda n: call(_different(n, 17), 1, False)),
        Dynamic(lambda n: call(_different(3, n), 1, True), (1, 7, 300)),
    ]


@sweep("_cdist_forward.default")
def _() -> list[Case]:
    calls = [call(normal(2, 5, size), normal(2, 7, size), p, None) for size in RUNS for p in (1.0, 2.0)]
    rows = [call(normal(rows, 17), normal(3, 17), p, None) for rows in VECTORS[::2] for p in (0.5, float("inf"))]
    return [
        *calls,
        *rows,
        call(normal(0, 5), normal(3, 5), 2.0, None),
        Dynamic(lambda n: call(normal(n, 5), normal(3, 5), 2.0, None)),
    ]


@sweep("_pdist_forward.default")
def _() -> list[Case]:
    calls = [call(normal(5, size), p) for size in RUNS for p in (1.0, 2.0)]
    rows = [call(normal(rows, 17), 2.0) for rows in (0, 1, 2, *VECTORS[::2])]
    return [*calls, *rows, Dynamic(lambda n: call(normal(5, n), 2.0))]


@sweep("nonzero.default")
def _() -> list[Case]:
    shapes = (*SHAPES[::3], *LARGE, *NOTHING, (), (1,))
    calls = [call(truths(*shape)) for shape in shapes] + [call(last(truths(*shape))) for shape in IMAGES]
    return [*calls, call(torch.zeros(3, 17)), call(integers(0, 2, 33)), Dynamic(lambda n: call(truths(n, 5)))]
