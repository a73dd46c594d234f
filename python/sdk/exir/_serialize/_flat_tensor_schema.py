# SPDX-License-Identifier: BSD-3-Clause
"""The FlatTensor schema (identifier FT01) as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass

from sdk.exir.schema import DataSegment
from sdk.exir.tensor_layout import TensorLayout

__all__ = ["DataSegment", "FlatTensor", "NamedData", "TensorLayout"]


@dataclass
class NamedData:
    """A key, the segment with its bytes and, if they are a tensor, its layout."""

    key: str
    segment_index: int
    tensor_layout: TensorLayout | None = None


@dataclass
class FlatTensor:
    """`DataSegment.offset` is relative to the header's segment base offset. Keys are unique."""

    version: int
    segments: list[DataSegment]
    named_data: list[NamedData]
