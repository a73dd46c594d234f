# SPDX-License-Identifier: BSD-3-Clause
"""The FlatTensor schema (identifier FT01) as dataclasses."""

from __future__ import annotations

from sdk.exir._serialize._flat_tensor_schema import DataSegment, FlatTensor, NamedData, TensorLayout

__all__ = ["DataSegment", "FlatTensor", "NamedData", "TensorLayout"]
