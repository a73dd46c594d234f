# SPDX-License-Identifier: BSD-3-Clause
"""Normalizations, and their gradients."""

from __future__ import annotations

import torch

from backends.cases import Call, Size, Weight
from backends.cases.call import call
from backends.cases.values import normal, uniform
from backends.sweep.constants import BLOCK, GRAIN, LANES, NORM_BLOCK, VECTORS, around, grain_for
from backends.sweep.declare import Case, Dynamic, offset, sweep
from backends.sweep.shapes import last

WIDTHS = (1, 2, *VECTORS, *around(BLOCK), 1003)
IMAGE = (5, 7)


def rows_of_threads(width: int) -> tuple[int, ...]:
    """Numbers of rows around those from which two and eight threads share the work."""
    grain = grain_for(GRAIN, width)
    return around(grain, 2 * grain, 8 * grain)


@sweep("native_layer_norm.default")
def _() -> list[Case]:
    def norm(shape: tuple[int, ...], dims: int, weight: bool = True, bias: bool = True) -> Call:
        sizes = list(shape[len(shape) - dims :])
        factors = [Weight(normal(*sizes)) if has else None for has in (weight, bias)]
        return call(normal(*shape), sizes, *factors, 1e-5)

    calls = [norm((3, width), 1, weight, bias) for width in WIDTHS for weight, bias in ((True, True), (False, False))]
    calls += [
        norm(shape, dims) for shape in ((2, 3, 5), (2, 3, 5, 7), (2, 1, 3, 5, 9)) for dims in range(1, len(shape) + 1)
    ]
    calls += [norm((rows, 1003), 1) for rows in rows_of_threads(1003)] + [
        norm((rows, 64), 1, bias=False) for rows in rows_of_threads(64)[:3]
    ]
    calls += [norm((0, 5), 1), norm((17,), 1), norm((1, 1, 1), 1)]
    calls += [call(last(normal(2, 3, *IMAGE)), list(size), None, None, 1e-5) for size in ((7,), IMAGE, (3, *IMAGE))]
    calls.append(call(offset(normal(3, 33)), [33], Weight(normal(33)), Weight(normal(33)), 1e-6))
    return [
        *calls,
        Dynamic(lambda n: norm((n, 33), 1)),
        Dynamic(lambda n: norm((2, n, 192), 1), (1, 7, 300)),
    ]


@sweep("native_group_norm.default")
def _() -> list[Case]:
    def norm(
        shape: tuple[int, ...], groups: int, is_last: bool = False, weight: bool = True, bias: bool = True
    ) -> Call:
        made = last(normal(*shape)) if is_last else normal(*shape)
        pixels = torch.Size(shape[2:]).numel()
        factors = [Weight(normal(shape[1])) if has else None for has in (weight, bias)]
        return call(made, *factors, shape[0], shape[1], pixels, groups, 1e-5)

    calls = [
        norm((2, channels, 3, 5), groups)
        for channels in (1, 2, 8, 16, 32)
        for groups in (1, 2, 8)
        if channels % groups == 0
    ]
    calls += [norm((2, channels, 3, 5), channels, is_last=True) for channels in (1, *VECTORS[:9])]
    calls += [norm((2, 8, 1, pixels), 2) for pixels in WIDTHS]
    calls += [
        norm((2, 6, 9), 3),
        norm((2, 6), 3),
        norm((2, 6, 2, 3, 4), 2),
        norm((1, 6, 1, 1), 6, weight=False, bias=False),
    ]
    calls += [norm((batch, 64, 4, 8), 32, bias=False) for batch in around(grain_for(GRAIN, 32 * 32 * 2))]
    calls += [norm((0, 6, 3, 5), 2)]
    return [
        *calls,
        Dynamic(lambda n: _batch_of_groups(n, 6, 15, 3), (1, 3, 17)),
    ]


def _batch_of_groups(batch: int, channels: int, pixels: int, groups: int) -> Call:
    weight, bias = Weight(normal(channels)), Weight(normal(channels))
    return call(normal(batch, channels, pixels), weight, bias, Size(0, 0), channels, pixels, groups, 1e-5)


@sweep("_native_batch_norm_legit_no_training.default")
def _() -> list[Case]:
    def norm(x: torch.Tensor, has_factors: bool = True) -> Call:
        channels = x.shape[1]
        factors = [Weight(normal(channels)) if has_factors else None for _ in range(2)]
        return call(x, *factors, Weight(normal(channels)), Weight(uniform(0.5, 2, channels)), 0.1, 1e-5)

    channels = (1, 2, *VECTORS, *around(NORM_BLOCK))
    calls = [norm(make(2, c, 3, 5)) for c in channels for make in (normal, lambda *s: last(normal(*s)))]
    calls += [norm(normal(2, 3, 1, pixels)) for pixels in WIDTHS]
    calls += [norm(normal(*shape)) for shape in ((2, 3), (2, 3, 9), (2, 3, 2, 3, 4), (0, 3, 5), (1, 1, 1, 1))]
    calls += [norm(last(normal(2, 5, 2, 3, 4))), norm(normal(2, 3, 5, 7), False)]
    calls += [
        norm(normal(1, planes, 16, 64)) for planes in around(grain_for(GRAIN, 16 * 64), 8 * grain_for(GRAIN, 16 * 64))
    ]
    calls += [norm(last(normal(1, 64, 1, pixels))) for pixels in rows_of_threads(64)]
    return [
        *calls,
        Dynamic(lambda n: norm(normal(n, 5, 3, 7)), (1, 3, 17)),
        Dynamic(lambda n: norm(last(normal(2, 8, n, 7))), (2, 3, 17)),
    ]


@sweep("_native_batch_norm_legit.no_stats")
def _() -> list[Case]:
    shapes = ((2, 8, 5, 7), (3, 1, 4), (5, 17), (2, 3, 2, 3, 4), *((2, c, 3, 5) for c in VECTORS[:9]))
    calls = [
        call(normal(*shape), Weight(normal(shape[1])), Weight(normal(shape[1])), True, 0.1, 1e-5) for shape in shapes
    ]
    images = [call(last(normal(2, c, 3, 5)), Weight(normal(c)), None, True, 0.1, 1e-5) for c in (1, 8, LANES[-1] + 1)]
    factors = [Weight(normal(8)), Weight(normal(8))]
    varying = Dynamic(lambda n: call(normal(n, 8, 5, 7), *factors, True, 0.1, 1e-5), (2, 3, 9))
    return [*calls, *images, varying]


@sweep("native_layer_norm_backward.default")
def _() -> list[Case]:
    calls: list[Case] = []
    for rows, width in ((3, size) for size in WIDTHS if size > 1):
        x = normal(rows, width)
        _, mean, rstd = torch.ops.aten.native_layer_norm.default(x, [width], None, None, 1e-5)
        calls.append(
            call(normal(rows, width), x, [width], mean, rstd, normal(width), normal(width), [True, True, True])
        )
    return calls


@sweep("native_group_norm_backward.default")
def _() -> list[Case]:
    calls: list[Case] = []
    for channels, groups, pixels in ((8, 2, 35), (6, 3, 1), (17, 1, 9), (16, 16, 33)):
        x = normal(2, channels, pixels)
        _, mean, rstd = torch.ops.aten.native_group_norm.default(x, None, None, 2, channels, pixels, groups, 1e-5)
        sizes = (2, channels, pixels, groups, [True, True, True])
        calls.append(call(normal(2, channels, pixels), x, mean, rstd, normal(channels), *sizes))
    return calls
