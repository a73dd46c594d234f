# SPDX-License-Identifier: BSD-3-Clause
"""The dtypes that OpenVINO has, and calls of the edge dialect as its frontend for PyTorch reads them."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

TYPES = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "boolean",
}
"""OpenVINO's names of the dtypes that a partition may have."""

_PLAIN = {
    "alias_copy": "alias",
    "expand_copy": "expand",
    "permute_copy": "permute",
    "select_copy": "select",
    "slice_copy": "slice",
    "split_copy": "split",
    "split_with_sizes_copy": "split_with_sizes",
    "squeeze_copy": "squeeze",
    "t_copy": "t",
    "transpose_copy": "transpose",
    "unbind_copy": "unbind",
    "unsqueeze_copy": "unsqueeze",
    "view_copy": "view",
}
"""Maps operators of the edge dialect to those of ATen, which the frontend supports best."""


def is_dtype_known(dtype: torch.dtype) -> bool:
    """Whether tensors of this dtype can be inputs and outputs of a partition."""
    return dtype in TYPES


def in_aten(node: Node, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """Returns the call in ATen. Memory layouts are dropped, because OpenVINO's models do not have them."""
    target = getattr(node.target, "_op", node.target)
    if not isinstance(target, torch._ops.OpOverload):
        return target, args, kwargs
    namespace, name = target.namespace, target._schema.name.partition("::")[2]
    if namespace == "dim_order_ops":
        kwargs = {key: value for key, value in kwargs.items() if key == "dtype" and value is not None}
        if name == "_to_dim_order_copy" and kwargs:
            return torch.ops.aten._to_copy.default, args, kwargs
        if name in ("_to_dim_order_copy", "_clone_dim_order"):
            return torch.ops.aten.clone.default, args, {}
    if namespace == "aten" and name in _PLAIN:
        return getattr(getattr(torch.ops.aten, _PLAIN[name]), target._overloadname), args, kwargs
    return target, args, kwargs
