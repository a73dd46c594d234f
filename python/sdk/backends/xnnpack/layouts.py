# SPDX-License-Identifier: BSD-3-Clause
"""The order of the elements of images and volumes in a payload."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.exir.tensor import TensorSpec

TO_NHWC = (0, 2, 3, 1)
TO_NCHW = (0, 3, 1, 2)
SLICES_LAST = (0, 2, 3, 4, 1)
SLICES_FIRST = (0, 4, 1, 2, 3)
"""Permutations of volumes that move the channels after the sizes, and back."""


def is_channels_last(node: Node) -> bool | None:
    """Whether the program stores a tensor of rank 4 in the order NHWC. None if the order is neither NHWC nor the
    default."""
    order = tuple(int(dim) for dim in TensorSpec.from_tensor(node.meta["val"]).dim_order)
    if order == tuple(range(len(order))):
        return False
    return True if order == TO_NHWC else None


def as_images(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of rank 4 in NHWC, or a tensor of rank 5 as a batch of its slices along the depth."""
    return tensor.permute(TO_NHWC) if tensor.dim() == 4 else tensor.permute(SLICES_LAST).flatten(0, 1)


def shape_of_images(shape: list[int]) -> list[int]:
    """The shape of the result of `as_images` for a tensor of this shape."""
    if len(shape) == 5:
        return [shape[0] * shape[2], *shape[3:], shape[1]]
    return [shape[dim] for dim in TO_NHWC]
