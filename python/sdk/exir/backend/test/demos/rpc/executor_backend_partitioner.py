# SPDX-License-Identifier: BSD-3-Clause
"""Gives a program, delegate calls included, to the backend that is this SDK's runtime."""

from __future__ import annotations

import operator
from typing import Any, final

from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain

import sdk.exir.backend.test.demos.rpc.executor_backend_preprocess  # noqa: F401  (defines the backend)
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test._tagging import partition_by_support
from sdk.exir.delegate import executorch_call_delegate, is_lowered_module


class AnyOperatorSupport(OperatorSupportBase):
    """Every operator."""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function"


class AnyDelegateSupport(OperatorSupportBase):
    """Delegate calls, the modules they call and the reads of their results."""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        if node.op == "get_attr":
            return is_lowered_module(getattr(node.graph.owning_module, str(node.target), None))
        if node.target is operator.getitem:
            source = node.args[0]
            return isinstance(source, Node) and source.target is executorch_call_delegate
        return node.target is executorch_call_delegate


@final
class ExecutorBackendPartitioner(Partitioner):
    """Gives every operator and delegate call to ExecutorBackend. Weights stay in the program and are inputs of the
    delegate."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = any_chain(AnyOperatorSupport(), AnyDelegateSupport())
        self.delegation_spec = DelegationSpec("ExecutorBackend", [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        return partition_by_support(exported_program, self.op_support, self.delegation_spec)
