# SPDX-License-Identifier: BSD-3-Clause
"""Dtypes of tensors in edge dialect, with the names used for them."""

from __future__ import annotations

import torch

regular_tensor_dtypes_to_str: dict[torch.dtype, str] = {
    torch.bool: "Bool",
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int16: "Short",
    torch.uint16: "UInt16",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.float32: "Float",
    torch.float64: "Double",
}

regular_tensor_str_to_dtypes: dict[str, torch.dtype] = {
    name: dtype for dtype, name in regular_tensor_dtypes_to_str.items()
}
