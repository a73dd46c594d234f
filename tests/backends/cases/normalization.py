# SPDX-License-Identifier: BSD-3-Clause
"""Normalizations and attention."""

from __future__ import annotations

import torch

from backends.cases.call import Call, Weight, call, operator
from backends.cases.values import AROUND_VECTORS, image, normal, uniform


@operator("native_layer_norm.default")
def _() -> list[Call]:
    rows = [call(normal(3, size), [size], Weight(normal(size)), Weight(normal(size)), 1e-5) for size in AROUND_VECTORS]
    return [
        *rows,
        call(normal(1, 197, 192), [192], Weight(normal(192)), Weight(normal(192)), 1e-6),
        call(normal(2, 3, 5, 7), [5, 7], Weight(normal(5, 7)), Weight(normal(5, 7)), 1e-5),
        call(normal(3, 33), [33], None, None, 1e-5),
        call(image(2, 3, 5, 7), [7], Weight(normal(7)), None, 1e-5),
        call(image(2, 3, 5, 7), [3, 5, 7], Weight(normal(3, 5, 7)), Weight(normal(3, 5, 7)), 1e-5),
    ]


@operator("native_group_norm.default")
def _() -> list[Call]:
    return [
        call(make(2, 8, 5, 7), Weight(normal(8)), Weight(normal(8)), 2, 8, 35, groups, 1e-5)
        for make in (normal, image)
        for groups in (1, 2, 8)
    ] + [call(image(2, 1, 5, 7), Weight(normal(1)), None, 2, 1, 35, 1, 1e-5)]


@operator("_native_batch_norm_legit_no_training.default")
def _() -> list[Call]:
    def norm(make: object, channels: int, *size: int) -> Call:
        weight, bias, mean = (Weight(normal(channels)) for _ in range(3))
        return call(make(2, channels, *size), weight, bias, mean, Weight(uniform(0.5, 2, channels)), 0.1, 1e-5)  # type: ignore[operator]

    calls = [norm(make, channels, 5, 7) for make in (normal, image) for channels in (1, 8, 15, 16, 17)]
    return [*calls, norm(normal, 4, 9), norm(normal, 4), norm(image, 8, 1, 1)]


@operator("_native_batch_norm_legit.no_stats")
def _() -> list[Call]:
    return [call(normal(2, 8, 5, 7), Weight(normal(8)), Weight(normal(8)), True, 0.1, 1e-5)]


@operator("scaled_dot_product_attention.default")
def _() -> list[Call]:
    def heads(count: int, queries: int, keys: int, width: int) -> list[torch.Tensor]:
        return [normal(1, count, queries, width), normal(1, count, keys, width), normal(1, count, keys, width)]

    calls = [call(*heads(2, 5, keys, 16)) for keys in (1, 7, 8, 9, 15, 16, 17, 33)]
    calls += [call(*heads(2, queries, 17, 16)) for queries in (1, 15, 16, 17)]
    calls += [call(*heads(2, 5, 7, width)) for width in (8, 17, 64)]
    mask = torch.zeros(5, 7)
    mask[:, 3:], mask[1] = float("-inf"), 0.25
    return [
        *calls,
        call(*heads(12, 70, 70, 64)),
        call(*heads(2, 7, 7, 16), is_causal=True),
        call(*heads(2, 5, 7, 16), mask),
    ]
