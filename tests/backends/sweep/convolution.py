# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions."""

from __future__ import annotations

from itertools import product
from typing import Any

from backends.cases import Call, Weight
from backends.cases.call import call
from backends.cases.values import normal
from backends.sweep.constants import (
    FILTER_PARAMETER,
    FILTER_TAPS,
    IMAGE_SIDES,
    INPUT_CHANNELS,
    LANES,
    PANEL,
    PORTABLE_TAPS,
    PRODUCTS,
    TILE_ROWS,
    VECTORS,
    around,
    grain_for,
)
from backends.sweep.declare import Case, Dynamic, sweep
from backends.sweep.shapes import last as to_last

CHANNELS = (1, *VECTORS)


def convolve(x: tuple[int, ...], w: tuple[int, ...], **options: Any) -> Call:
    """`options`: stride, padding, dilation, output_padding (a number, or one for each dimension), transposed, groups,
    last (channels last), and bias (False for none)."""
    rank = len(x) - 2

    def each(name: str, value: int) -> list[int]:
        given = options.get(name, value)
        return list(given) if isinstance(given, tuple) else [given] * rank

    groups, transposed = options.get("groups", 1), options.get("transposed", False)
    made = to_last(normal(*x)) if options.get("last") else normal(*x)
    bias = Weight(normal(w[1] * groups if transposed else w[0])) if options.get("bias", True) else None
    rest = (each("stride", 1), each("padding", 0), each("dilation", 1), transposed, each("output_padding", 0), groups)
    return call(made, Weight(normal(*w)), bias, *rest)


def pointwise() -> list[Call]:
    """Filters of one pixel, which are matrix multiplications."""
    channels = [(one, 17) for one in CHANNELS] + [(17, one) for one in CHANNELS]
    calls = [convolve((1, i, 5, 7), (o, i, 1, 1), last=last) for i, o in channels for last in (False, True)]
    pixels = [
        convolve((1, 9, 1, size), (10, 9, 1, 1), last=last)
        for size in (1, *around(*TILE_ROWS, PANEL))
        for last in (False, True)
    ]
    strided = [convolve((2, 9, 9, 10), (16, 9, 1, 1), stride=2, last=last) for last in (False, True)]
    return [*calls, *pixels, *strided, convolve((1, 40, 33, 35), (70, 40, 1, 1), bias=False)]


def depthwise() -> list[Call]:
    """Depthwise: numbers of channels around vector sizes; kernels, strides, paddings and dilations of models."""
    kernels = (
        (3, 1, 1, 1),
        (3, 2, 1, 1),
        (5, 1, 2, 1),
        (5, 2, 2, 1),
        (7, 1, 3, 1),
        (3, 1, 2, 2),
        (3, 1, 0, 1),
        (2, 2, 0, 1),
    )
    calls = [
        convolve((1, c, 11, 13), (c, 1, k, k), stride=s, padding=p, dilation=d, groups=c, last=last)
        for c in (1, *VECTORS[:12])
        for k, s, p, d in kernels
        for last in (False, True)
    ]
    widths = [
        convolve((1, 3, 4, width), (3, 1, 3, 3), stride=stride, padding=1, groups=3)
        for width in (1, 2, *VECTORS)
        for stride in (1, 2, 3)
    ]
    heights = [convolve((1, 3, height, 9), (3, 1, 3, 3), padding=1, groups=3) for height in range(1, 10)]
    multiplied = [
        convolve((1, 5, 9, 9), (5 * m, 1, 3, 3), padding=1, groups=5, last=last)
        for m in (2, 3, 4)
        for last in (False, True)
    ]
    sides = [(1, taps) for taps in around(PORTABLE_TAPS, FILTER_TAPS)] + [(8, 8), (5, 13), (9, 3)]
    taps = [convolve((1, 3, 12, 80), (3, 1, *side), groups=3, last=last) for side in sides for last in (False, True)]
    far = [convolve((1, 3, 3, 140), (3, 1, 1, 3), dilation=(1, d), groups=3) for d in around(FILTER_PARAMETER)]
    far += [convolve((1, 3, 3, 80), (3, 1, 1, 3), padding=(0, p), groups=3) for p in around(FILTER_PARAMETER)]
    far += [convolve((1, 3, 3, 200), (3, 1, 1, 3), stride=(1, s), groups=3) for s in around(FILTER_PARAMETER)]
    # Channels around the number from which threads share the work, and an image that is computed in several bands.
    shared = [
        convolve((1, planes, 33, 35), (planes, 1, 3, 3), padding=1, groups=planes)
        for planes in around(grain_for(PRODUCTS, 33 * 35 * 9), 160)
    ]
    bands = [convolve((1, 2, 67, 301), (2, 1, 3, 3), stride=s, padding=1, groups=2) for s in (1, 2)]
    return [*calls, *widths, *heights, *multiplied, *taps, *far, *shared, *bands]


def windows() -> list[Call]:
    """Convolutions without groups, with windows larger than a pixel."""
    kernels = (
        (3, 1, 1, 1),
        (3, 2, 1, 1),
        (5, 1, 2, 1),
        (7, 2, 3, 1),
        (3, 1, 2, 2),
        (4, 4, 0, 1),
        (2, 1, 0, 1),
        (3, 3, 1, 3),
    )
    calls = [
        convolve((1, i, 14, 15), (o, i, k, k), stride=s, padding=p, dilation=d, last=last)
        for i, o in ((3, 8), (4, 5), (8, 17), (17, 33), (32, 32))
        for k, s, p, d in kernels
        for last in (False, True)
    ]
    channels = [
        convolve((1, i, 8, 9), (o, i, 3, 3), padding=1, last=last)
        for i, o in product(CHANNELS[::3], CHANNELS[1::3])
        for last in (False, True)
    ]
    shallow = [
        convolve((1, i, side, side + 1), (16, i, 3, 3), stride=2, padding=1)
        for i in (1, 3, *around(*INPUT_CHANNELS))
        for side in around(*IMAGE_SIDES)[1:]
    ]
    uneven = [
        convolve((1, 5, 9, 20), (6, 5, 1, 7), padding=(0, 3)),
        convolve((1, 5, 20, 9), (6, 5, 7, 1), padding=(3, 0)),
        convolve((1, 5, 9, 10), (6, 5, 2, 3), stride=(1, 2), padding=(1, 0), dilation=(2, 1)),
        convolve((1, 5, 3, 3), (6, 5, 3, 3)),
        convolve((1, 5, 1, 1), (6, 5, 3, 3), padding=1),
        convolve((3, 5, 7, 9), (6, 5, 3, 3), padding=2, bias=False),
    ]
    grouped = [
        convolve((2, groups * i, 9, 10), (groups * o, i, 3, 3), padding=1, groups=groups, last=last)
        for groups in (2, 3, 8)
        for i, o in ((2, 3), (4, 4), (8, 5), (1, 4))
        for last in (False, True)
    ]
    large = [convolve((1, 64, 28, 28), (64, 64, 3, 3), padding=1, last=last) for last in (False, True)] + [
        convolve((2, 16, 33, 35), (40, 16, 3, 3), padding=1),
        convolve((1, 3, 64, 64), (16, 3, 7, 7), stride=2, padding=3),
    ]
    return [*calls, *channels, *shallow, *uneven, *grouped, *large]


def other_ranks() -> list[Call]:
    """Convolutions over one and three dimensions."""
    signals = [
        convolve((2, i, size), (o, i // groups, k), padding=k // 2, groups=groups)
        for i, o, groups in ((4, 8, 1), (8, 8, 8), (6, 9, 3))
        for size in (3, *VECTORS[3:10])
        for k in (1, 3, 5)
    ]
    signals += [convolve((1, 4, 40), (6, 4, 3), stride=2, dilation=3), convolve((1, 80, 50), (96, 80, 3), padding=1)]
    volumes = [
        convolve((1, i, 4, 5, size), (o, i, 3, 3, 3), stride=s, padding=1, last=last)
        for i, o in ((1, 3), (3, 8), (8, 5))
        for size in (4, 7, LANES[-1] + 1)
        for s in (1, 2)
        for last in (False, True)
    ]
    volumes += [
        convolve((1, 4, 4, 5, 6), (4, 1, 3, 3, 3), padding=1, groups=4),
        convolve((1, 4, 5, 6, 7), (6, 4, 1, 3, 2)),
    ]
    return [*signals, *volumes]


def transposed() -> list[Call]:
    kernels = ((2, 2, 0, 0), (3, 2, 1, 1), (4, 2, 1, 0), (3, 1, 1, 0), (5, 3, 2, 1), (1, 1, 0, 0))
    calls = [
        convolve((2, i, 5, size), (i, o, k, k), stride=s, padding=p, output_padding=q, transposed=True, last=last)
        for i, o in ((1, 3), (3, 4), (8, 5), (17, 16))
        for size in (1, 7, LANES[-1] + 1)
        for k, s, p, q in kernels
        for last in (False, True)
    ]
    grouped = [
        convolve(
            (1, 8, 5, 7), (8, o, 3, 3), stride=2, padding=1, output_padding=1, transposed=True, groups=g, last=last
        )
        for g, o in ((2, 3), (4, 5), (8, 1))
        for last in (False, True)
    ]
    others = [
        convolve((1, 8, 9), (8, 5, 4), stride=2, padding=1, transposed=True),
        convolve((1, 4, 3, 4, 5), (4, 6, 3, 3, 3), stride=2, padding=1, transposed=True),
        convolve((1, 6, 7, 8), (6, 5, 3, 3), dilation=2, transposed=True),
        convolve((1, 128, 5, 70), (128, 96, 2, 2), stride=2, transposed=True),
        convolve((2, 96, 3, 33), (96, 130, 3, 3), transposed=True),
    ]
    return [*calls, *grouped, *others]


@sweep("convolution.default")
def _() -> list[Case]:
    nothing = [convolve((0, 3, 8, 8), (4, 3, 3, 3)), convolve((0, 3, 8), (4, 3, 3))]
    return [
        *pointwise(),
        *depthwise(),
        *windows(),
        *other_ranks(),
        *transposed(),
        *nothing,
        Dynamic(lambda n: convolve((n, 3, 8, 9), (5, 3, 3, 3), padding=1), (1, 3, 9)),
        Dynamic(lambda n: convolve((1, 3, n, n), (5, 3, 3, 3), padding=1), (3, 8, 40)),
        Dynamic(lambda n: convolve((1, 3, n, n), (5, 3, 3, 3), stride=2, padding=1), (3, 8, 40)),
        Dynamic(lambda n: convolve((1, 8, n, 9), (8, 1, 3, 3), padding=1, groups=8, last=True), (2, 8, 40)),
        Dynamic(lambda n: convolve((1, 8, n), (9, 8, 3), padding=1), (3, 8, 300)),
        Dynamic(lambda n: convolve((1, 16, n, n), (32, 16, 1, 1)), (2, 8, 40)),
        Dynamic(lambda n: convolve((1, 8, n, 5), (8, 4, 2, 2), stride=2, transposed=True), (2, 8, 40)),
    ]


@sweep("convolution_backward.default")
def _() -> list[Case]:
    calls: list[Case] = []
    for channels, out, kernel, stride, groups in ((3, 8, 3, 1, 1), (8, 17, 1, 1, 1), (4, 4, 3, 2, 4), (6, 9, 2, 1, 3)):
        size = (9 + 2 - kernel) // stride + 1
        options = ([out], [stride] * 2, [1, 1], [1, 1], False, [0, 0], groups, [True, True, True])
        calls.append(
            call(
                normal(2, out, size, size),
                normal(2, channels, 9, 9),
                normal(out, channels // groups, kernel, kernel),
                *options,
            )
        )
    return calls
