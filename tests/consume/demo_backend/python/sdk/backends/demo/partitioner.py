# SPDX-License-Identifier: BSD-3-Clause
"""Makes each addition of two float32 tensors of the same shape a delegate, whose payload is the text `add`."""

from __future__ import annotations

from typing import final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.dialects._ops import ops as exir_ops


@final
class DemoBackend(BackendDetails):
    """Compiles one addition."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(b"add")


class DemoPartitioner(Partitioner):
    """Takes each addition of two float32 tensors of one shape."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        specs: dict[str, DelegationSpec] = {}
        for node in exported_program.graph.nodes:
            if node.target is exir_ops.edge.aten.add.Tensor and not node.kwargs and _adds_like(node):
                tag = f"demo_{len(specs)}"
                node.meta["delegation_tag"] = tag
                specs[tag] = DelegationSpec(DemoBackend.__name__, [])
        return PartitionResult(exported_program, specs)


def _adds_like(node: Node) -> bool:
    values = [argument.meta["val"] for argument in node.args if isinstance(argument, Node)]
    return (
        len(values) == 2
        and values[0].dtype == values[1].dtype == torch.float32
        and values[0].shape == values[1].shape
        and node.args[0] is not node.args[1]
    )
