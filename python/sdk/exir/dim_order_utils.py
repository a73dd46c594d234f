# SPDX-License-Identifier: BSD-3-Clause
"""Conversions between memory formats and dim orders.

A dim order lists the dimensions from the outermost to the innermost in memory: `[0, 1, 2, 3]` for a contiguous
NCHW tensor, `[0, 2, 3, 1]` for the same sizes in channels-last layout.
"""

from __future__ import annotations

import torch

_CHANNELS_LAST = {3: [0, 2, 1], 4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}


def _get_contiguous_dim_order(ndim: int) -> list[int]:
    if ndim < 0:
        raise AssertionError(f"the number of dimensions must not be negative, got {ndim}")
    return list(range(ndim))


def _get_channels_last_dim_order(ndim: int) -> list[int]:
    if ndim not in _CHANNELS_LAST:
        raise AssertionError(
            f"channels_last needs a tensor of 3, 4 or 5 dimensions, got {ndim}; use torch.contiguous_format"
        )
    return _CHANNELS_LAST[ndim]


def get_memory_format(dim_order: list[int] | None) -> torch.memory_format:
    """The memory format of a dim order; None is `torch.preserve_format`."""
    if dim_order is None:
        return torch.preserve_format
    dim_order = list(dim_order)
    if dim_order == list(range(len(dim_order))):
        return torch.contiguous_format
    if dim_order == _CHANNELS_LAST[4]:
        return torch.channels_last
    if dim_order == _CHANNELS_LAST[5]:
        return torch.channels_last_3d
    raise AssertionError(
        f"dim order {dim_order} is neither contiguous nor channels_last, the two layouts that are supported"
    )


def get_dim_order(memory_format: torch.memory_format | None, ndim: int) -> list[int] | None:
    """The dim order of a memory format for a tensor of `ndim` dimensions; None for None and `torch.preserve_format`."""
    if memory_format in (None, torch.preserve_format):
        return None
    if memory_format == torch.contiguous_format:
        return _get_contiguous_dim_order(ndim)
    if memory_format in (torch.channels_last, torch.channels_last_3d):
        return _get_channels_last_dim_order(ndim)
    raise AssertionError(
        f"{memory_format} has no dim order; expected contiguous_format, channels_last or preserve_format"
    )


def is_channel_last_dim_order(tensor: torch.Tensor) -> bool:
    """Whether the tensor is laid out channels-last. False for ranks that have no such layout."""
    return tensor.dim() in _CHANNELS_LAST and list(tensor.dim_order()) == _CHANNELS_LAST[tensor.dim()]


def is_contiguous_dim_order(tensor: torch.Tensor) -> bool:
    """Whether the tensor's dimensions are stored in their logical order."""
    return list(tensor.dim_order()) == list(range(tensor.dim()))
