# SPDX-License-Identifier: BSD-3-Clause
"""Converts nested containers of tensors to flat lists and back: PyTorch's own pytree functions under the names used
here.

Importing this package adds the functions `to_str` and `from_str` to PyTorch's `TreeSpec`. Their text stores the
structure of a program's inputs and outputs (`encoded_inp_str` and `encoded_out_str` of its `container_meta_type`).
"""

from __future__ import annotations

from typing import Any

from torch.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from torch.utils._pytree import _broadcast_to_and_flatten as broadcast_to_and_flatten
from torch.utils._pytree import register_pytree_node as register_custom

from sdk.exir.graph.trees import decode_tree as from_str
from sdk.exir.graph.trees import encode_tree

__all__ = [
    "TreeSpec",
    "broadcast_to_and_flatten",
    "from_str",
    "register_custom",
    "tree_flatten",
    "tree_map",
    "tree_unflatten",
]


def _to_str(self: TreeSpec) -> str:
    return encode_tree(self)


_named: Any = TreeSpec
_named.to_str = _to_str
_named.from_str = staticmethod(from_str)
