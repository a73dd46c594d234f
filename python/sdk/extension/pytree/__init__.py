# SPDX-License-Identifier: BSD-3-Clause
"""Nested containers of tensors as flat lists and back: PyTorch's own pytree functions under the names used here."""

from __future__ import annotations

from torch.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from torch.utils._pytree import _broadcast_to_and_flatten as broadcast_to_and_flatten
from torch.utils._pytree import register_pytree_node as register_custom

__all__ = ["TreeSpec", "broadcast_to_and_flatten", "register_custom", "tree_flatten", "tree_map", "tree_unflatten"]
