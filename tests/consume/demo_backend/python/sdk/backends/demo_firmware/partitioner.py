# SPDX-License-Identifier: BSD-3-Clause
"""Makes each multiplication of two float32 tensors of the same shape a delegate, whose payload is the text `mul`."""

from __future__ import annotations

from typing import final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import refuse
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.dialects._ops import ops as exir_ops


@final
class DemoFirmwareBackend(BackendDetails):
    """Compiles one multiplication."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(b"mul")


class DemoFirmwarePartitioner(Partitioner):
    """Takes each multiplication of two float32 tensors of one shape."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        spec = DelegationSpec(DemoFirmwareBackend.__name__, [])
        tags: dict[str, DelegationSpec] = {}
        for node in exported_program.graph.nodes:
            if node.target is exir_ops.edge.aten.mul.Tensor:
                reason = refusal(node)
                if reason is not None:
                    refuse(node, spec.backend_id, reason)
                    continue
                tag = f"demo_firmware_{len(tags)}"
                node.meta["delegation_tag"] = tag
                tags[tag] = spec
        return PartitionResult(exported_program, tags)


def refusal(node: Node) -> str | None:
    """Returns why the backend does not get a multiplication, or None if it does."""
    first, second = (argument.meta["val"] for argument in node.args if isinstance(argument, Node))
    if (first.dtype, second.dtype) != (torch.float32, torch.float32):
        return f"its factors are {first.dtype} and {second.dtype}, expected float32"
    if first.shape != second.shape:
        return f"its factors have the shapes {tuple(first.shape)} and {tuple(second.shape)}, expected one shape"
    if node.args[0] is node.args[1]:
        return "it squares a tensor, which a delegate would get as one input"
    return None
