# SPDX-License-Identifier: BSD-3-Clause
"""A backend that stores its data beside the program, by key, instead of in its payload."""

from __future__ import annotations

from typing import Any, final

from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test._tagging import partition_by_support
from sdk.exir.dialects._ops import ops as exir_ops

_DATA = {
    exir_ops.edge.aten.add.Tensor: bytes(1),
    exir_ops.edge.aten.sub.Tensor: bytes(2),
    exir_ops.edge.aten.mul.Tensor: bytes(3),
    exir_ops.edge.aten.div.Tensor: bytes(4),
}
"""The data that is stored for each operator, under the operator's name."""


@final
class BackendWithNamedDataMap(BackendDetails):
    """A backend whose payload is empty and whose data is in the named data map."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        store = NamedDataStore()
        for node in edge_program.graph.nodes:
            if node.op == "call_function":
                store.add_named_data(node.target.__name__, _DATA[node.target])
        return PreprocessResult(b"", {}, store.get_named_data_store_output())


class SimpleOperatorSupport(OperatorSupportBase):
    """add, sub, mul and div."""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node.target in _DATA


@final
class BackendWithNDMPartitioner(Partitioner):
    """Gives arithmetic to BackendWithNamedDataMap."""

    def __init__(self) -> None:
        super().__init__()
        self._op_support = SimpleOperatorSupport()
        self.backend_id = BackendWithNamedDataMap.__name__

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        return partition_by_support(exported_program, self._op_support, DelegationSpec(self.backend_id, []))
