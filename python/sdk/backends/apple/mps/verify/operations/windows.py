# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions and poolings."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from sdk.backends.apple.mps.serialization import shape_nodes as s
from sdk.backends.apple.mps.verify.operations.registry import operation

_MOST_PADDING = 1 << 15


@operation(s.MPSConv2D, s.MPSDepthwiseConv2D)
def _conv(node: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    if weight.dim() not in (3, 4):
        raise ValueError(f"the weights have rank {weight.dim()}; expected 3 or 4")
    spatial = weight.dim() - 2
    stride, dilation = (node.stride_y, node.stride_x)[-spatial:], (node.dilation_y, node.dilation_x)[-spatial:]
    padded = _padded(x, node, 0.0, spatial)
    convolve = F.conv1d if spatial == 1 else F.conv2d
    return convolve(padded, weight, bias, stride, 0, dilation, node.groups)


@operation(s.MPSMaxPool2DWithIndices)
def _max_pool(node: s.MPSMaxPool2DWithIndices, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if node.ceil_mode:  # PyTorch's ceil_mode adds the padding at the end
        pad, ceil, source = (node.padding_top, node.padding_left), True, x
    else:
        pad, ceil, source = (0, 0), False, _padded(x, node, float("-inf"), 2)
    kernel, stride = (node.kernel_height, node.kernel_width), (node.stride_height, node.stride_width)
    dilation = (node.dilation_height, node.dilation_width)
    values, places = F.max_pool2d_with_indices(source, kernel, stride, pad, dilation, ceil)
    if source.shape[-1] != x.shape[-1] or source.shape[-2] != x.shape[-2]:
        row = torch.div(places, source.shape[-1], rounding_mode="floor") - node.padding_top
        column = places % source.shape[-1] - node.padding_left
        places = row * x.shape[-1] + column
    return values, places


@operation(s.MPSAvgPool2D)
def _avg_pool(node: s.MPSAvgPool2D, x: torch.Tensor) -> torch.Tensor:
    kernel, stride = (node.kernel_height, node.kernel_width), (node.stride_height, node.stride_width)
    divisor = node.divisor_override or None
    if node.ceil_mode:
        pad = (node.padding_top, node.padding_left)
        return F.avg_pool2d(x, kernel, stride, pad, True, node.count_include_pad, divisor)
    padded = _padded(x, node, 0.0, 2)
    if node.count_include_pad or divisor is not None or padded is x:
        return F.avg_pool2d(padded, kernel, stride, 0, False, True, divisor)
    counted = _padded(torch.ones_like(x), node, 0.0, 2)
    return F.avg_pool2d(padded, kernel, stride) / F.avg_pool2d(counted, kernel, stride)


def _padded(x: torch.Tensor, node: Any, value: float, spatial: int) -> torch.Tensor:
    sides = [node.padding_left, node.padding_right, node.padding_top, node.padding_bottom][: 2 * spatial]
    if any(not 0 <= side < _MOST_PADDING for side in sides):
        raise ValueError(f"padding of {sides} is not possible")
    return F.pad(x, sides, value=value) if any(sides) else x
