# SPDX-License-Identifier: BSD-3-Clause
"""Matrix multiplications and convolutions.

The tiles of kernels/optimized, and of backends on the processors on which the suite was run, have up to 14 rows and 64
columns. Rows and columns here are all sizes up to two tiles if that is cheap, and otherwise those around a tile.
"""

from __future__ import annotations

from backends.cases.call import Call, Weight, call, operator
from backends.cases.values import image, normal

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 16, 17, 29)
COLUMNS = (1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65)
DEPTHS = (1, 3, 16, 17, 64, 70, 256)


def _sizes() -> list[tuple[int, int, int]]:
    rows = [(row, 70, 33) for row in ROWS]
    columns = [(5, 64, column) for column in COLUMNS]
    depths = [(7, depth, 17) for depth in DEPTHS]
    return [*rows, *columns, *depths, (128, 384, 384), (197, 192, 65), (0, 4, 3)]


@operator("mm.default")
def _() -> list[Call]:
    return [
        one
        for m, k, n in _sizes()
        for one in (call(normal(m, k), normal(k, n)), call(normal(m, k), Weight(normal(k, n))))
    ]


@operator("addmm.default")
def _() -> list[Call]:
    calls = [call(Weight(normal(n)), normal(m, k), Weight(normal(k, n))) for m, k, n in _sizes()]
    return [
        *calls,
        call(normal(5, 17), normal(5, 64), normal(64, 17), beta=0.5, alpha=2),
        call(normal(17), normal(5, 64), normal(64, 17)),
    ]


@operator("bmm.default")
def _() -> list[Call]:
    calls = [call(normal(2, m, k), normal(2, k, n)) for m, k, n in _sizes()]
    # Heads of a BERT on 70 tokens: threads may divide the batch, or the rows of each matrix multiplication.
    return [*calls, call(normal(12, 70, 64), normal(12, 64, 70)), call(normal(12, 70, 70), normal(12, 70, 64))]


@operator("linear.default")
def _() -> list[Call]:
    calls = [call(normal(m, k), Weight(normal(n, k)), Weight(normal(n))) for m, k, n in _sizes()]
    return [
        *calls,
        call(normal(2, 5, 64), Weight(normal(17, 64))),
        call(normal(64), Weight(normal(17, 64)), Weight(normal(17))),
    ]


def _convolve(
    x: tuple[int, ...],
    w: tuple[int, ...],
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    transposed: bool = False,
    output_padding: int = 0,
    groups: int = 1,
    last: bool = False,
) -> Call:
    rank = len(x) - 2
    make = image if last else normal
    bias = w[1] * groups if transposed else w[0]
    options = ([stride] * rank, [padding] * rank, [dilation] * rank, transposed, [output_padding] * rank, groups)
    return call(make(*x), Weight(normal(*w)), Weight(normal(bias)), *options)


@operator("convolution.default")
def _() -> list[Call]:
    calls = [_convolve((1, 3, size, size + 1), (8, 3, 3, 3), padding=1) for size in (3, 4, 7, 8, 9, 15, 17)]
    calls += [_convolve((1, channels, 7, 7), (17, channels, 1, 1)) for channels in (1, 7, 8, 16, 17, 33, 65)]
    calls += [
        _convolve((1, 16, 9, 9), (channels, 16, 3, 3), stride=2, padding=1) for channels in (1, 7, 8, 9, 16, 17, 33)
    ]
    # Depthwise, at channels around the vectors, kernels 3 and 5, strides 1 and 2.
    calls += [
        _convolve((1, channels, 14, 14), (channels, 1, kernel, kernel), stride, kernel // 2, groups=channels, last=last)
        for channels in (1, 3, 8, 15, 16, 17, 33)
        for kernel, stride in ((3, 1), (3, 2), (5, 1))
        for last in (False, True)
    ]
    calls += [
        _convolve((2, 3, 32, 32), (16, 3, 7, 7), stride=2, padding=3),
        _convolve((1, 16, 17, 19), (16, 16, 3, 3), padding=2, dilation=2),
        _convolve((1, 16, 9, 9), (32, 4, 3, 3), padding=1, groups=4),
        _convolve((1, 64, 28, 28), (64, 64, 3, 3), padding=1),
        _convolve((1, 64, 28, 28), (64, 64, 3, 3), padding=1, last=True),
        _convolve((2, 4, 17), (8, 4, 3), padding=1),
        _convolve((2, 4, 5, 6, 7), (8, 4, 3, 3, 3), padding=1),
        _convolve((1, 8, 7, 7), (8, 5, 2, 2), stride=2, transposed=True),
        _convolve((1, 8, 7, 9), (8, 4, 3, 3), stride=2, padding=1, transposed=True, output_padding=1, groups=2),
        _convolve((1, 8, 9), (8, 5, 4), stride=2, padding=1, transposed=True),
    ]
    return calls
