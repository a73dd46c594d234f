# SPDX-License-Identifier: BSD-3-Clause
"""Pooling, resampling and padding."""

from __future__ import annotations

import torch
from torch import Tensor

from backends.cases import Call
from backends.cases.call import call
from backends.cases.values import normal, uniform
from backends.sweep.constants import GRAIN, LANES, POOL_RUN, VECTORS, around, grain_for
from backends.sweep.declare import Case, Dynamic, offset, sweep
from backends.sweep.shapes import last

BOTH = (False, True)


def image(*shape: int, is_last: bool = False) -> Tensor:
    return last(normal(*shape)) if is_last else normal(*shape)


def images() -> list[Tensor]:
    """Images in both memory formats, with numbers of channels and widths around the sizes of vectors; also one channel,
    one pixel, and images without a batch."""
    shapes = [(1, c, 6, 7) for c in (1, *VECTORS[:12], *around(POOL_RUN))]
    shapes += [(1, 2, 4, width) for width in (2, *VECTORS, *around(2 * POOL_RUN))]
    shapes += [(2, 3, 14, 15), (3, 1, 8, 8), (1, 5, 2, 2)]
    parts = grain_for(GRAIN, 16 * 4)
    shapes += [(1, planes, 8, 32) for planes in around(parts // 4, 2 * parts)]
    return [image(*shape, is_last=is_last) for shape in shapes for is_last in BOTH]


WINDOWS: tuple[tuple[list[int], list[int], list[int], bool], ...] = (
    ([2, 2], [2, 2], [0, 0], False),
    ([3, 3], [2, 2], [1, 1], False),
    ([3, 3], [1, 1], [1, 1], False),
    ([2, 3], [1, 2], [1, 0], True),
    ([5, 5], [3, 3], [2, 2], True),
)
"""Kernel, stride, padding and ceil_mode."""


def windows_of(x: Tensor) -> list[tuple[list[int], list[int], list[int], bool]]:
    """The windows that fit into the padded image."""
    return [one for one in WINDOWS if all(x.shape[d - 2] + 2 * one[2][d] >= one[0][d] for d in range(2))]


@sweep("avg_pool2d.default")
def _() -> list[Case]:
    calls: list[Case] = []
    for number, x in enumerate(images()):
        choices = windows_of(x)
        kernel, stride, padding, ceil = choices[number % len(choices)]
        calls.append(call(x, kernel, stride, padding, ceil, number % 3 == 0))
    calls += [
        call(normal(2, 3, 9, 10), *window, inside, divisor)
        for window in WINDOWS
        for inside in BOTH
        for divisor in (None, 3)
    ]
    return [
        *calls,
        call(normal(3, 9, 10), [2, 2]),
        call(normal(0, 3, 9, 10), [2, 2]),
        call(offset(normal(1, 3, 9, 10)), [3, 3], [1, 1], [1, 1]),
        call(normal(1, 3, 9, 10), [9, 10]),
        Dynamic(lambda n: call(normal(1, 3, n, n), [2, 2]), (4, 8, 40)),
        Dynamic(lambda n: call(normal(n, 3, 9, 9), [3, 3], [2, 2], [1, 1]), (1, 3, 9)),
        Dynamic(lambda n: call(image(1, 8, n, 9, is_last=True), [3, 3], [2, 2], [1, 1]), (3, 8, 40)),
    ]


@sweep("max_pool2d_with_indices.default")
def _() -> list[Case]:
    calls: list[Case] = []
    for number, x in enumerate(images()):
        choices = windows_of(x)
        kernel, stride, padding, ceil = choices[number % len(choices)]
        calls.append(call(x, kernel, stride, padding, [1, 1], ceil))
    calls += [
        call(image(2, 5, 9, 10, is_last=is_last), [3, 2], [2, 1], [1, 1], [d, 1], ceil)
        for d in (1, 2)
        for ceil in BOTH
        for is_last in BOTH
    ]
    return [
        *calls,
        call(normal(3, 9, 10), [2, 2]),
        call(normal(0, 3, 9, 10), [2, 2]),
        call(offset(normal(1, 3, 9, 10)), [3, 3], [1, 1], [1, 1]),
        Dynamic(lambda n: call(normal(1, 3, n, n), [2, 2]), (4, 8, 40)),
        Dynamic(lambda n: call(image(1, 8, n, 9, is_last=True), [3, 3], [2, 2], [1, 1]), (3, 8, 40)),
    ]


@sweep("avg_pool1d.default")
def _() -> list[Case]:
    calls = [call(normal(2, 3, size), [k], [s], [k // 2]) for size in VECTORS for k, s in ((2, 2), (3, 1), (3, 2))]
    return [*calls, call(normal(3, 9), [2]), Dynamic(lambda n: call(normal(2, 3, n), [2]), (4, 8, 300))]


@sweep("adaptive_avg_pool1d.default")
def _() -> list[Case]:
    calls = [call(normal(2, 3, size), [out]) for size in (1, *VECTORS) for out in {1, 5, size}]
    return [*calls, Dynamic(lambda n: call(normal(n, 3, 10), [5]))]


@sweep("_adaptive_avg_pool2d.default")
def _() -> list[Case]:
    calls = [call(x, out) for x in images()[::2] for out in ([1, 1], [3, 2])]
    calls += [call(image(1, c, 7, 7, is_last=True), [1, 1]) for c in VECTORS]
    return [
        *calls,
        call(normal(3, 9, 10), [4, 5]),
        call(normal(0, 3, 9, 10), [2, 2]),
        call(normal(1, 2, 3, 4), [7, 9]),
        Dynamic(lambda n: call(normal(n, 3, 9, 9), [1, 1]), (1, 3, 9)),
        Dynamic(lambda n: call(image(1, 8, n, 9, is_last=True), [1, 1]), (2, 8, 40)),
    ]


VOLUMES = ((1, 3, 4, 6, 5), (2, 1, 3, 4, 9), (1, LANES[1] + 1, 2, 3, LANES[-1] + 1), (1, 1, 2, 2, 2))


@sweep("max_pool3d_with_indices.default", "avg_pool3d.default")
def _() -> list[Case]:
    plain = [call(image(*shape, is_last=is_last), [2, 2, 2]) for shape in VOLUMES for is_last in BOTH]
    # PyTorch's meta kernel ignores the padding.
    padded = [
        call(image(*shape, is_last=is_last), [3, 3, 3], [2, 1, 2], [1, 1, 1])
        for shape in VOLUMES
        if min(shape[2:]) >= 3
        for is_last in BOTH
    ]
    varying = Dynamic(lambda n: call(normal(n, 3, 4, 6, 5), [2, 2, 2]), (1, 3, 9))
    return [*plain, *padded, call(normal(3, 4, 5, 6), [2, 2, 2]), varying]


@sweep("_adaptive_avg_pool3d.default")
def _() -> list[Case]:
    sizes = ([1, 1, 1], [2, 2, 2])
    calls = [call(image(*shape, is_last=is_last), size) for shape in VOLUMES for size in sizes for is_last in BOTH]
    return [*calls, Dynamic(lambda n: call(normal(n, 3, 4, 5, 6), [1, 1, 1]), (1, 3, 9))]


RESIZED = (
    ([16, 17], None),
    ([4, 5], None),
    ([1, 1], None),
    ([9, 7], None),
    (None, [2.0, 2.0]),
    (None, [0.5, 1.5]),
    (None, [3.0, 1.0]),
)


def resampled(*rest: object) -> list[Call]:
    shapes = [(1, c, 9, 7) for c in (1, *VECTORS[:9])] + [
        (2, 3, 1, 1),
        (1, 2, 1, 9),
        (1, 2, 3, LANES[-1] + 1),
        (0, 3, 4, 5),
    ]
    return [
        call(image(*shape, is_last=is_last), size, *rest, scales)
        for number, shape in enumerate(shapes)
        for size, scales in (RESIZED if number % 4 == 0 else RESIZED[::3])
        for is_last in BOTH
    ]


@sweep("upsample_bilinear2d.vec")
def _() -> list[Case]:
    return [
        *resampled(True),
        *resampled(False),
        Dynamic(lambda n: call(normal(n, 3, 5, 7), [10, 14], False, None), (1, 3, 9)),
        Dynamic(lambda n: call(normal(1, 3, n, 7), None, False, [2.0, 2.0]), (2, 5, 33)),
    ]


@sweep("upsample_nearest2d.vec")
def _() -> list[Case]:
    return [
        *resampled(),
        Dynamic(lambda n: call(normal(n, 3, 5, 7), [10, 14], None), (1, 3, 9)),
        Dynamic(lambda n: call(normal(1, 3, n, 7), None, [2.0, 2.0]), (2, 5, 33)),
    ]


@sweep("grid_sampler_2d.default")
def _() -> list[Case]:
    def sampled(
        shape: tuple[int, ...], height: int, width: int, mode: int, padding: int, align: bool, is_last: bool
    ) -> Call:
        return call(
            image(*shape, is_last=is_last), uniform(-1.3, 1.3, shape[0], height, width, 2), mode, padding, align
        )

    kinds = [(mode, padding, align) for mode in (0, 1, 2) for padding in (0, 1, 2) for align in BOTH]
    shapes = [(2, 3, 7, 9), (1, 1, 1, 1), (1, LANES[-1] + 1, 4, 5), (1, 2, 1, 8)]
    calls = [sampled(shape, 3, 5, *kind, is_last) for shape in shapes for kind in kinds for is_last in BOTH]
    return [*calls, Dynamic(lambda n: sampled((n, 3, 5, 7), 3, 5, 0, 0, False, False), (1, 3, 9))]


PADS = ([1, 2], [0, 3], [-1, 2], [1, 1, 1, 1], [0, 1, 2, 0], [3, 0, -1, 2], [1, 0, 0, 2, 1, 1])


@sweep("constant_pad_nd.default")
def _() -> list[Case]:
    shapes = [(size,) for size in (1, *VECTORS[::3])] + [
        (3, 5),
        (2, 3, LANES[1] + 1),
        (2, 3, 5, 7),
        (2, 1, 3, 4, 5),
        (0, 3),
        (2, 0),
    ]
    calls = [
        call(normal(*shape), pad, 1.5)
        for shape in shapes
        for pad in PADS
        if len(pad) <= 2 * len(shape)
        and all(
            shape[-1 - d] + pad[2 * d] + pad[2 * d + 1] >= 0 and shape[-1 - d] >= -min(pad[2 * d], 0)
            for d in range(len(pad) // 2)
        )
    ]
    calls += [call(image(2, c, 5, 7, is_last=True), pad, 0.0) for c in (1, 3, LANES[-1]) for pad in PADS]
    return [
        *calls,
        call(normal(2 * GRAIN), [1, 1], 0.0),
        Dynamic(lambda n: call(normal(n, 5), [1, 2], 0.0)),
        Dynamic(lambda n: call(normal(2, n), [1, 2], 0.0)),
    ]


@sweep("reflection_pad1d.default")
def _() -> list[Case]:
    calls = [call(normal(2, 3, size), pad) for size in VECTORS for pad in ([1, 2], [0, size - 1], [size - 1, 0])]
    return [*calls, call(normal(3, 9), [2, 2]), Dynamic(lambda n: call(normal(2, n), [1, 2]), (3, 9, 70))]


@sweep("reflection_pad2d.default", "replication_pad2d.default")
def _() -> list[Case]:
    shapes = [(1, c, 4, 5) for c in (1, *VECTORS[:6])] + [(2, 3, 4, width) for width in VECTORS[2:]] + [(3, 4, 5)]
    pads = ([1, 1, 1, 1], [0, 3, 2, 0], [4, 0, 0, 3])
    calls = [call(normal(*shape), pad) for shape in shapes for pad in pads]
    calls += [call(image(*shape, is_last=True), pads[1]) for shape in shapes[:-1]]
    return [*calls, Dynamic(lambda n: call(normal(1, 3, n, 5), [1, 1, 1, 1]), (2, 9, 70))]


@sweep("reflection_pad3d.default", "replication_pad3d.default")
def _() -> list[Case]:
    pads = ([1, 1, 1, 1, 1, 1], [0, 2, 1, 0, 3, 1])
    shapes = ((1, 3, 4, 5, 6), (2, 1, 4, 3, LANES[-1] + 1), (3, 4, 5, 6))
    calls = [call(normal(*shape), pad) for shape in shapes for pad in pads]
    return [*calls, Dynamic(lambda n: call(normal(1, 3, n, 5, 6), [1, 1, 1, 1, 1, 1]), (2, 5, 17))]


@sweep("col2im.default")
def _() -> list[Case]:
    def folded(channels: int, size: list[int], k: list[int], d: list[int], p: list[int], s: list[int]) -> Call:
        blocks = [(size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
        return call(normal(2, channels * k[0] * k[1], blocks[0] * blocks[1]), size, k, d, p, s)

    calls = [
        folded(channels, size, *window)
        for channels in (1, 3, LANES[-1] + 1)
        for size in ([4, 5], [9, 7])
        for window in (
            ([2, 2], [1, 1], [0, 0], [1, 1]),
            ([2, 2], [1, 1], [0, 0], [2, 2]),
            ([3, 3], [1, 1], [1, 1], [2, 2]),
            ([2, 3], [2, 1], [1, 1], [1, 2]),
        )
    ]
    window = ([4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
    return [*calls, Dynamic(lambda n: call(normal(n, 12, 12), *window), (1, 3, 9))]


# Operators of training.


@sweep("avg_pool2d_backward.default")
def _() -> list[Case]:
    calls: list[Case] = []
    for x in images()[::3]:
        kernel, stride, padding, ceil = windows_of(x)[0]
        out = torch.ops.aten.avg_pool2d.default(x, kernel, stride, padding, ceil)
        calls.append(call(torch.randn_like(out), x, kernel, stride, padding, ceil, True, None))
    return calls


@sweep("max_pool2d_with_indices_backward.default")
def _() -> list[Case]:
    calls: list[Case] = []
    for x in images()[::3]:
        kernel, stride, padding, ceil = windows_of(x)[0]
        out, indices = torch.ops.aten.max_pool2d_with_indices.default(x, kernel, stride, padding, [1, 1], ceil)
        calls.append(call(torch.randn_like(out), x, kernel, stride, padding, [1, 1], ceil, indices))
    return calls


@sweep("_adaptive_avg_pool2d_backward.default")
def _() -> list[Case]:
    return [
        call(normal(2, 3, *out), normal(2, 3, *size)) for out in ((1, 1), (2, 3), (7, 8)) for size in ((7, 8), (3, 5))
    ]
