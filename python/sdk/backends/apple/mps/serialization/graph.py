# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a payload."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from sdk.backends.apple.mps.serialization.mps_data_type import MPSDataType
from sdk.backends.apple.mps.serialization.nodes import MPSMinMax


class OpType(IntEnum):
    """The engine that runs a graph: MPSGraph, or a single kernel of the runtime."""

    mps_graph = 0
    metal_kernel = 1


@dataclass
class Buffer:
    """Bytes of a constant inside of the flatbuffer, which older payloads have."""

    storage: bytes = b""


@dataclass
class MPSTensor:
    """A value. `dims` are its sizes; `datatype` is the type of the value in the model and of its bytes, if it is a
    constant. Constants have `constant_buffer_size` bytes at `segment_offset` of the payload's constants."""

    datatype: MPSDataType
    num_dims: int
    dims: list[int]
    constant_buffer_size: int = 0
    constant_buffer: Buffer | None = None
    segment_offset: int = 0


@dataclass
class MPSNode:
    """An operation, one of `tables.NODE_TYPES`. `min_max` are the bounds of a clamp."""

    mpsnode_union: Any
    min_max: MPSMinMax | None = None


@dataclass
class DataSegment:
    """The offset and size of the constants. Unused: the header of a payload has them instead."""

    offset: int = 0
    size: int = 0


@dataclass
class MPSGraph:
    """Nodes in the order of execution. Their ids are positions in `mps_values`."""

    version: str = "0"
    mps_nodes: list[MPSNode] = field(default_factory=list)
    mps_values: list[MPSTensor] = field(default_factory=list)
    input_ids: list[int] = field(default_factory=list)
    output_ids: list[int] = field(default_factory=list)
    constant_ids: list[int] = field(default_factory=list)
    graph_type: OpType = OpType.mps_graph
    constant_segment: DataSegment | None = field(default_factory=DataSegment)
