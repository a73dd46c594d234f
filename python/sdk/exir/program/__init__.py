# SPDX-License-Identifier: BSD-3-Clause
"""The lowering API: managers of programs between the stages."""

from __future__ import annotations

from sdk.exir._to_executorch import edge_to_executorch_passes
from sdk.exir.graph.fake import get_fake_program
from sdk.exir.program._captured import ExecutorchProgram, ExirExportedProgram
from sdk.exir.program._program import (
    EdgeProgramManager,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)

__all__ = [
    "EdgeProgramManager",
    "ExecutorchProgram",
    "ExecutorchProgramManager",
    "ExirExportedProgram",
    "edge_to_executorch_passes",
    "get_fake_program",
    "to_edge",
    "to_edge_transform_and_lower",
]
