# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a payload, its values and nodes, by ExecuTorch's names."""

from __future__ import annotations

from sdk.backends.apple.mps.serialization.graph import (
    Buffer,
    DataSegment,
    MPSGraph,
    MPSNode,
    MPSTensor,
    OpType,
)
from sdk.backends.apple.mps.serialization.mps_data_type import MPSDataType
from sdk.backends.apple.mps.serialization.nodes import *  # noqa: F403
from sdk.backends.apple.mps.serialization.shape_nodes import *  # noqa: F403
from sdk.backends.apple.mps.serialization.tables import NODE_TYPES

__all__ = ["Buffer", "DataSegment", "MPSDataType", "MPSGraph", "MPSNode", "MPSTensor", "OpType"]
__all__ += [cls.__name__ for cls in NODE_TYPES]
