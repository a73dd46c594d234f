# SPDX-License-Identifier: BSD-3-Clause
"""The tensors that nodes compute, as fake tensors: their shapes and dtypes."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node


def is_tensor(node: Any) -> bool:
    """Whether this is a node that computes one tensor."""
    return isinstance(node, Node) and isinstance(node.meta.get("val"), torch.Tensor)


def tensor_of(node: Any) -> torch.Tensor:
    """The fake tensor of a node that computes one tensor."""
    value = node.meta["val"]
    assert isinstance(value, torch.Tensor)
    return value


def shape_of(node: Any) -> tuple[Any, ...]:
    """The sizes of a node's tensor; some may be symbols."""
    return tuple(tensor_of(node).shape)


def dtype_of(node: Any) -> torch.dtype:
    """The dtype of a node's tensor."""
    return tensor_of(node).dtype
