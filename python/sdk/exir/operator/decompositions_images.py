# SPDX-License-Identifier: BSD-3-Clause
"""Decompositions of operators on images and volumes: padding, windows and positions in a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _replication_pad1d(x: Tensor, padding: Any) -> Tensor:
    # Core ATen has only two and three dimensions.
    return aten.replication_pad2d(x.unsqueeze(-2), [*padding, 0, 0]).squeeze(-2)


def _fractional_starts(sample: Tensor, size: int, out: int, window: int) -> Tensor:
    """The starts of the windows along a dimension, [..., out], from one random number for each batch and channel."""
    last = size - window
    if out == 1:
        return torch.full([*sample.shape, 1], last, dtype=torch.int64)
    alpha = last / (out - 1)
    steps = ((sample.unsqueeze(-1) + torch.arange(out - 1)) * alpha).to(torch.int64)
    steps = steps - (sample.unsqueeze(-1) * alpha).to(torch.int64)
    return torch.cat([steps, torch.full([*sample.shape, 1], last, dtype=torch.int64)], -1)


def _fractional_max_pool(
    x: Tensor, window: Sequence[int], output: Sequence[int], samples: Tensor
) -> tuple[Tensor, Tensor]:
    """Gathers each window and takes its largest element."""
    dims = len(window)
    sizes = x.shape[-dims:]
    batch = x.shape[:-dims]
    samples = samples.reshape([*batch, dims])
    linear: Any = 0
    for d in range(dims):
        # The numbers are in the order width, height, depth.
        starts = _fractional_starts(samples[..., dims - 1 - d], sizes[d], output[d], window[d])
        places = starts.unsqueeze(-1) + torch.arange(window[d])
        shape = [1] * (2 * dims)
        shape[d], shape[dims + d] = output[d], window[d]
        linear = linear * sizes[d] + places.reshape([*batch, *shape])
    # Avoids -1 as a size, which cannot be inferred for an empty batch.
    shape = [*batch, *output, math.prod(window)]
    linear = linear.reshape([*batch, math.prod(output) * math.prod(window)])
    values = torch.gather(x.reshape([*batch, math.prod(sizes)]), -1, linear).reshape(shape)
    best, chosen = torch.max(values, -1, True)
    return best.squeeze(-1), torch.gather(linear.reshape(shape), -1, chosen).squeeze(-1)


def _mirrored(x: Tensor, low: float, high: float) -> Tensor:
    """Reflects x at both ends until it is between them."""
    if low == high:
        return torch.zeros_like(x)
    distance = torch.abs(x - low)
    extra = torch.fmod(distance, high - low)
    even = torch.fmod(torch.floor(distance / (high - low)), 2) == 0
    return torch.where(even, low + extra, high - extra)


def _grid_sampler_3d(
    x: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """x: [N, C, D, H, W], grid: [N, ..., 3] with positions along W, H and D. Each result is a weighted sum of eight
    neighbours.
    """
    if x.dtype in (torch.float16, torch.bfloat16):
        wide = _grid_sampler_3d(x.float(), grid.float(), interpolation_mode, padding_mode, align_corners)
        return wide.to(x.dtype)
    sizes = x.shape[-3:]
    places = []
    for d, size in enumerate(sizes):
        place = grid[..., 2 - d]
        place = (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2
        if padding_mode == 2:
            place = _mirrored(place, *((0, size - 1) if align_corners else (-0.5, size - 0.5)))
        places.append(torch.clamp(place, 0, size - 1) if padding_mode else place)
    flat = x.reshape([*x.shape[:2], math.prod(sizes)])

    def neighbour(corner: list[Tensor]) -> Tensor:
        linear: Any = 0
        inside: Any = None
        for size, index in zip(sizes, corner, strict=True):
            valid = torch.logical_and(index >= 0, index <= size - 1)
            inside = valid if inside is None else torch.logical_and(inside, valid)
            linear = linear * size + torch.clamp(index, 0, size - 1).to(torch.int64)
        linear = linear.reshape(linear.shape[0], 1, math.prod(grid.shape[1:-1])).expand(-1, x.shape[1], -1)
        values = torch.gather(flat, 2, linear).reshape([*x.shape[:2], *grid.shape[1:-1]])
        return torch.where(inside.unsqueeze(1), values, torch.zeros([], dtype=x.dtype))

    if interpolation_mode == 1:
        return neighbour([torch.round(place) for place in places])
    floors = [torch.floor(place) for place in places]
    result: Any = None
    for number in range(8):
        ups = [number >> 2 & 1, number >> 1 & 1, number & 1]
        weight: Any = None
        for place, floor, up in zip(places, floors, ups, strict=True):
            factor = place - floor if up else floor + 1 - place
            weight = factor if weight is None else weight * factor
        term = neighbour([floor + up for floor, up in zip(floors, ups, strict=True)]) * weight.unsqueeze(1)
        result = term if result is None else result + term
    return result


IMAGES: dict[torch._ops.OperatorBase, Callable] = {
    aten.fractional_max_pool2d.default: _fractional_max_pool,
    aten.fractional_max_pool3d.default: _fractional_max_pool,
    aten.grid_sampler_3d.default: _grid_sampler_3d,
    aten.replication_pad1d.default: _replication_pad1d,
}
