# SPDX-License-Identifier: BSD-3-Clause
"""A partitioner that gives the whole program to one backend."""

from __future__ import annotations

from torch.export import ExportedProgram

from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import tag_constant_data, tag_mutated_buffer


class AllNodePartitioner(Partitioner):
    """Tags every operator, constant and buffer: the program becomes a single delegate call."""

    def __init__(self, backend_id: str, compile_specs: list[CompileSpec]) -> None:
        super().__init__()
        self.delegation_spec = DelegationSpec(backend_id, compile_specs)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        for node in exported_program.graph.nodes:
            if node.op == "call_function":
                node.meta["delegation_tag"] = "tag0"
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, {"tag0": self.delegation_spec})
