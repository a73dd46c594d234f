# SPDX-License-Identifier: BSD-3-Clause
"""Matrix multiplications, attention and Fourier transforms."""

from __future__ import annotations

from itertools import product

import torch

from backends.cases import Weight
from backends.cases.call import call
from backends.cases.values import normal
from backends.sweep.constants import (
    COLUMNS,
    DEPTHS,
    LANES,
    PANEL,
    PRODUCTS,
    ROWS,
    STREAMS,
    STRIP,
    TILE_ROWS,
    VECTORS,
    around,
    grain_for,
)
from backends.sweep.declare import Case, Dynamic, offset, sweep

Sizes = tuple[int, int, int]


def products() -> list[Sizes]:
    """Rows, depth or columns around the size of a tile, all three around it, and sizes around the grain size."""
    rows = [(m, k, n) for m in (1, 2, *ROWS) for k, n in ((17, 33), (64, LANES[-1]))]
    columns = [
        (m, k, n) for n in (1, 2, *COLUMNS) for m, k in ((1, 33), (TILE_ROWS[0] + 1, 17), (TILE_ROWS[-1] + 1, 64))
    ]
    depths = [(m, k, n) for k in DEPTHS for m, n in ((1, 65), (65, 1), (TILE_ROWS[1] + 1, PANEL + 1))]
    corners = [*product(around(TILE_ROWS[1]), around(STREAMS), around(2 * LANES[1]))]
    row = [(1, STREAMS + 1, n) for n in around(STRIP, 2 * STRIP)]
    nothing = [(0, 4, 3), (4, 0, 3), (4, 3, 0), (0, 0, 0), (1, 1, 1)]
    return [*rows, *columns, *depths, *corners, *row, *nothing, *shared()]


def shared() -> list[Sizes]:
    """Depths around those at which rows, or columns, are divided among one, two and eight threads."""
    unit = TILE_ROWS[-1]
    sizes = []
    for parts in (1, 2, 8):
        for width in (PANEL, PANEL + 1, 2 * PANEL):
            for k in around(grain_for(PRODUCTS, unit * width)):
                sizes.append((parts * unit + 1, k, width))
                sizes.append((unit - 1, k, parts * width + 1))
    return [*sizes, (1, PRODUCTS // STRIP, STRIP + 1), (STRIP + 1, PRODUCTS // STRIP, 1)]


@sweep("mm.default")
def _() -> list[Case]:
    calls = [call(normal(m, k), normal(k, n)) for m, k, n in products()]
    weights = [call(normal(m, k), Weight(normal(k, n))) for m, k, n in products()[::2]]
    return [
        *calls,
        *weights,
        call(offset(normal(7, 17)), offset(normal(17, 33))),
        Dynamic(lambda n: call(normal(n, 17), normal(17, 33))),
        Dynamic(lambda n: call(normal(5, 17), normal(17, n)), (1, 7, 700)),
        Dynamic(lambda n: call(normal(5, n), normal(n, 33)), (1, 7, 700)),
        Dynamic(lambda n: call(normal(n, 64), Weight(normal(64, 65))), (1, 7, 700)),
    ]


@sweep("addmm.default")
def _() -> list[Case]:
    calls = [call(Weight(normal(n)), normal(m, k), Weight(normal(k, n))) for m, k, n in products()]
    added = [
        call(normal(*shape), normal(m, k), normal(k, n), beta=beta, alpha=2)
        for m, k, n in products()[::9]
        for shape, beta in (((n,), 1), ((m, n), 0.5), ((m, 1), 1), ((), 1), ((1, n), 0))
    ]
    return [*calls, *added, Dynamic(lambda n: call(normal(33), normal(n, 17), normal(17, 33)))]


@sweep("bmm.default")
def _() -> list[Case]:
    calls = [call(normal(batch, m, k), normal(batch, k, n)) for batch in (1, 3) for m, k, n in products()[::2]]
    heads = [(batch, 25, 126, 64) for batch in (1, 2, 3, 8, 9, 12)]
    parts = [(batch, 40, 50, n) for batch in (1, 5, 12) for n in around(grain_for(PRODUCTS, 40 * 50))]
    calls += [call(normal(b, m, k), normal(b, k, n)) for b, m, k, n in (*heads, *parts, (0, 3, 4, 5), (12, 70, 64, 70))]
    return [
        *calls,
        Dynamic(lambda n: call(normal(n, 5, 17), normal(n, 17, 33))),
        Dynamic(lambda n: call(normal(12, n, 64), normal(12, 64, n)), (1, 7, 140)),
    ]


@sweep("linear.default")
def _() -> list[Case]:
    calls = [call(normal(m, k), Weight(normal(n, k)), Weight(normal(n))) for m, k, n in products()]
    bare = [call(normal(m, k), Weight(normal(n, k))) for m, k, n in products()[::3]]
    plain = [call(normal(m, k), normal(n, k), normal(n)) for m, k, n in products()[1::3]]
    ranks = [
        call(normal(*shape, 17), Weight(normal(33, 17)), Weight(normal(33)))
        for shape in ((), (1,), (2, 3), (2, 3, 5), (1, 2, 3, 5), (2, 0))
    ]
    return [
        *calls,
        *bare,
        *plain,
        *ranks,
        call(offset(normal(7, 17)), Weight(normal(33, 17)), Weight(normal(33))),
        Dynamic(lambda n: call(normal(n, 64), Weight(normal(65, 64)), Weight(normal(65))), (1, 7, 700)),
        Dynamic(lambda n: call(normal(2, n, 17), Weight(normal(33, 17)), None)),
    ]


@sweep("scaled_dot_product_attention.default")
def _() -> list[Case]:
    def heads(
        batch: int, count: int, queries: int, keys: int, width: int, value: int | None = None
    ) -> list[torch.Tensor]:
        sizes = ((queries, width), (keys, width), (keys, width if value is None else value))
        return [normal(batch, count, *size) for size in sizes]

    around_rows = (1, 2, *ROWS)
    calls = [call(*heads(1, 2, queries, 17, 16)) for queries in around_rows]
    calls += [call(*heads(1, 2, 5, keys, 16)) for keys in (1, *VECTORS, *around(2 * PANEL))]
    calls += [call(*heads(2, 3, 7, 9, width)) for width in (1, *VECTORS)]
    calls += [call(*heads(1, 2, 7, 9, 16, value)) for value in VECTORS[::2]]
    calls += [call(*heads(1, 2, queries, queries, 8), is_causal=True) for queries in around_rows]
    calls += [
        call(*heads(1, 2, queries, keys, 16), normal(queries, keys)) for queries, keys in ((5, 7), (24, 33), (1, 65))
    ]
    calls += [
        call(*heads(2, 3, 5, 7, 16), normal(*shape)) for shape in ((2, 1, 5, 7), (2, 3, 5, 7), (1, 1, 1, 7), (5, 7))
    ]
    calls += [call(*heads(1, 2, 5, 7, 16), scale=0.3)]
    calls += [call(*heads(1, count, 70, 70, 64)) for count in (1, 3, 8, 12)]
    return [
        *calls,
        Dynamic(lambda n: call(*heads(1, 2, n, n, 16)), (1, 7, 140)),
        Dynamic(lambda n: call(*heads(1, 2, 1, n, 16)), (1, 7, 140)),
        Dynamic(lambda n: call(*heads(1, 2, n, n, 16), is_causal=True), (1, 7, 140)),
    ]


LENGTHS = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 60, 64, 97, 100, 128, 400, 512, 1000, 1024)


@sweep("_fft_r2c.default")
def _() -> list[Case]:
    calls = [call(normal(3, size), [1], 0, onesided) for size in LENGTHS for onesided in (True, False)]
    calls += [call(normal(size, 3), [0], 1, True) for size in LENGTHS[::3]]
    return [*calls, call(normal(5, 6, 7), [1, 2], 2, True), Dynamic(lambda n: call(normal(n, 16), [1], 0, True))]


@sweep("_fft_c2r.default")
def _() -> list[Case]:
    return [
        *(call(torch.fft.rfft(normal(3, size)), [1], 2, size) for size in LENGTHS),
        call(torch.fft.rfftn(normal(5, 6, 7), dim=[1, 2]), [1, 2], 2, 7),
        Dynamic(lambda n: call(torch.fft.rfft(normal(n, 16)), [1], 2, 16)),
    ]
