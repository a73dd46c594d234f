# SPDX-License-Identifier: BSD-3-Clause
"""Resizing and sampling of images."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from sdk.backends.apple.coreml.verify.operations.registry import flag, integer, ints, number, operation


def _grid(size: int, count: int, mode: str) -> torch.Tensor:
    """Returns the positions in the input that the elements of a resized dimension read (formulas of the reference of
    resize_bilinear)."""
    i = torch.arange(count, dtype=torch.float64)
    if mode == "ALIGN_CORNERS" and count == 1:
        points = torch.full((1,), (size - 1) / 2, dtype=torch.float64)
    elif mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        points = i * ((size - 1) / max(count - 1, 1))
    elif mode == "DEFAULT":
        points = i * ((size - size / count) / max(count - 1, 1))
    elif mode == "OFFSET_CORNERS":
        delta = max(1.0, size - 1) / count
        points = 0.5 * delta + i * delta
    else:
        points = (i + 0.5) * (size / count) - 0.5
    return points.clamp(0, size - 1)


def _linear(x: torch.Tensor, axis: int, points: torch.Tensor) -> torch.Tensor:
    low = points.floor().to(torch.int64)
    high = (low + 1).clamp(max=x.shape[axis] - 1)
    shape = [1] * x.dim()
    shape[axis] = -1
    part = (points - low).to(x.dtype).reshape(shape)
    return x.index_select(axis, low) * (1 - part) + x.index_select(axis, high) * part


@operation("resize_bilinear")
def resize_bilinear(
    x: torch.Tensor, target_size_height: Any = None, target_size_width: Any = None, sampling_mode: str = "DEFAULT"
) -> torch.Tensor:
    """Resizes images to a height and width, with linear interpolation."""
    height, width = integer(target_size_height, 1), integer(target_size_width, 1)
    x = _linear(x, x.dim() - 2, _grid(x.shape[-2], height, sampling_mode))
    return _linear(x, x.dim() - 1, _grid(x.shape[-1], width, sampling_mode))


@operation("upsample_bilinear")
def upsample_bilinear(
    x: torch.Tensor,
    scale_factor_height: Any = None,
    scale_factor_width: Any = None,
    align_corners: Any = None,
    half_pixel_centers: Any = None,
) -> torch.Tensor:
    """Scales the height and width of images, with linear interpolation."""
    aligned = flag(align_corners, True)
    centred = flag(half_pixel_centers, not aligned)
    for axis, factor in ((x.dim() - 2, scale_factor_height), (x.dim() - 1, scale_factor_width)):
        size = x.shape[axis]
        scale = number(factor, 1.0)
        count = int(size * scale + 1e-4)
        if aligned:
            points = _grid(size, count, "STRICT_ALIGN_CORNERS")
        else:
            shift = 0.5 if centred else 0.0
            points = ((torch.arange(count, dtype=torch.float64) + shift) / scale - shift).clamp(0, size - 1)
        x = _linear(x, axis, points)
    return x


@operation("upsample_nearest_neighbor")
def upsample_nearest_neighbor(
    x: torch.Tensor, scale_factor_height: Any = None, scale_factor_width: Any = None
) -> torch.Tensor:
    """Scales the height and width of images, without interpolation."""
    for axis, factor in ((x.dim() - 2, scale_factor_height), (x.dim() - 1, scale_factor_width)):
        scale = number(factor, 1.0)
        x = _nearest(x, axis, int(x.shape[axis] * scale + 1e-4), scale)
    return x


def _nearest(x: torch.Tensor, axis: int, count: int, scale: float) -> torch.Tensor:
    places = (torch.arange(count, dtype=torch.float64) / scale + 1e-6).floor().to(torch.int64)
    return x.index_select(axis, places.clamp(max=x.shape[axis] - 1))


@operation("resize_nearest_neighbor")
def resize_nearest_neighbor(x: torch.Tensor, target_size_height: Any, target_size_width: Any) -> torch.Tensor:
    """Resizes images to a height and width, without interpolation."""
    for axis, target in ((x.dim() - 2, target_size_height), (x.dim() - 1, target_size_width)):
        x = _nearest(x, axis, integer(target), integer(target) / x.shape[axis])
    return x


@operation("resize")
def resize(
    x: torch.Tensor,
    shape: Any,
    resized_dims: Any,
    interpolation_mode: str = "LINEAR",
    sampling_mode: str = "DEFAULT",
) -> torch.Tensor:
    """Resizes the last dimensions."""
    sizes = ints(shape)[-integer(resized_dims) :]
    for i, size in enumerate(sizes):
        axis = x.dim() - len(sizes) + i
        count = size or x.shape[axis]
        if interpolation_mode == "LINEAR":
            x = _linear(x, axis, _grid(x.shape[axis], count, sampling_mode))
        else:
            x = _nearest(x, axis, count, count / x.shape[axis])
    return x


@operation("resample")
def resample(
    x: torch.Tensor,
    coordinates: torch.Tensor,
    sampling_mode: str,
    padding_mode: str,
    padding_value: Any,
    coordinates_mode: str,
    align_corners: Any,
) -> torch.Tensor:
    """Samples images at coordinates."""
    modes = {"constant": "zeros", "border": "border", "reflection": "reflection"}
    if padding_mode not in modes or (padding_mode == "constant" and number(padding_value) != 0):
        raise NotImplementedError(f"resample with the padding {padding_mode} {number(padding_value)}")
    if coordinates_mode != "normalized_minus_one_to_one":
        raise NotImplementedError(f"resample with the coordinates {coordinates_mode}")
    kind = {"bilinear": "bilinear", "nearest": "nearest"}[sampling_mode]
    return functional.grid_sample(x, coordinates.to(x.dtype), kind, modes[padding_mode], flag(align_corners))
