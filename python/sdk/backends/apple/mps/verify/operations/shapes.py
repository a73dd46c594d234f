# SPDX-License-Identifier: BSD-3-Clause
"""Operations that move elements, and constants."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from sdk.backends.apple.mps.serialization import shape_nodes as s
from sdk.backends.apple.mps.serialization.check import MOST_ELEMENTS
from sdk.backends.apple.mps.verify.operations.registry import known_dtype, operation


@operation(s.MPSPermute)
def _permute(node: s.MPSPermute, x: torch.Tensor) -> torch.Tensor:
    return x.permute(node.perm)


@operation(s.MPSView)
def _view(node: s.MPSView, x: torch.Tensor) -> torch.Tensor:
    return x.reshape(node.shape)


@operation(s.MPSExpand)
def _expand(node: s.MPSExpand, x: torch.Tensor) -> torch.Tensor:
    return x.expand(node.shape)


@operation(s.MPSCat)
def _cat(node: s.MPSCat, values: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat(values, node.dim)


@operation(s.MPSSqueeze)
def _squeeze(node: s.MPSSqueeze, x: torch.Tensor) -> torch.Tensor:
    return torch.squeeze(x, tuple(node.dims))


@operation(s.MPSUnsqueeze)
def _unsqueeze(node: s.MPSUnsqueeze, x: torch.Tensor) -> torch.Tensor:
    return torch.unsqueeze(x, node.dim)


@operation(s.MPSSelect)
def _select(node: s.MPSSelect, x: torch.Tensor) -> torch.Tensor:
    return torch.select(x, node.dim, node.index)


@operation(s.MPSSlice)
def _slice(node: s.MPSSlice, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = torch.ops.aten.slice.Tensor(x, node.dim, node.start, node.end, node.step)
    return result


@operation(s.MPSPixelShuffle)
def _pixel_shuffle(node: s.MPSPixelShuffle, x: torch.Tensor) -> torch.Tensor:
    return F.pixel_shuffle(x, node.upscale_factor)


@operation(s.MPSSplitWithSizes)
def _split(node: s.MPSSplitWithSizes, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.split(x, node.split_sizes, node.dim)


@operation(s.MPSConstantPadND)
def _pad(node: s.MPSConstantPadND, x: torch.Tensor) -> torch.Tensor:
    if any(size < 0 or size >= MOST_ELEMENTS for size in node.pad):
        raise ValueError(f"padding of {node.pad} is not possible")
    value = node.value if x.is_floating_point() else int(node.value)
    return F.pad(x, node.pad, value=value)


@operation(s.MPSFull, own_dtype=True)
def _full(node: s.MPSFull, device: Any = None) -> torch.Tensor:
    return _filled(node.shape, node.fill_value, known_dtype(node.dtype), device)


@operation(s.MPSFullLike, own_dtype=True)
def _full_like(node: s.MPSFullLike, x: torch.Tensor) -> torch.Tensor:
    return _filled(list(x.shape), node.fill_value, known_dtype(node.dtype), x.device)


@operation(s.MPSArange, own_dtype=True)
def _arange(node: s.MPSArange, device: Any = None) -> torch.Tensor:
    if node.step == 0 or not all(map(math.isfinite, (node.start, node.end, node.step))):
        raise ValueError(f"there is no range from {node.start} to {node.end} in steps of {node.step}")
    count = math.ceil((node.end - node.start) / node.step)
    if not 0 <= count < MOST_ELEMENTS:
        raise ValueError(f"a range cannot have {count} elements")
    dtype = known_dtype(node.dtype)
    wide = dtype if dtype.is_floating_point else torch.int64
    steps = torch.arange(count, dtype=torch.float64, device=device) * node.step + node.start
    return steps.to(wide).to(dtype)


def _filled(shape: list[int], value: float, dtype: torch.dtype, device: Any) -> torch.Tensor:
    number = value if dtype.is_floating_point else bool(value) if dtype == torch.bool else int(value)
    return torch.full(shape, number, dtype=dtype, device=device)
