# SPDX-License-Identifier: BSD-3-Clause
"""Partitioners that choose by operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain, chain

import sdk.exir.backend.test.backend_with_compiler_demo
import sdk.exir.backend.test.demos.rpc.executor_backend_preprocess  # noqa: F401  (both define backends by name)
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test._tagging import partition_by_support
from sdk.exir.backend.utils import tag_constant_data
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.graph_module import get_control_flow_submodules

_edge = exir_ops.edge.aten
_MAX_VALUE = CompileSpec("max_value", bytes([4]))


class AllOperatorSupport(OperatorSupportBase):
    """Every operator."""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function"


class AddOperatorSupport(OperatorSupportBase):
    """add"""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node.target is _edge.add.Tensor


class MulOperatorSupport(OperatorSupportBase):
    """mul"""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node.target is _edge.mul.Tensor


class MatmulOperatorSupport(OperatorSupportBase):
    """mm"""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node.target is _edge.mm.default


class OneDtypeSupport(OperatorSupportBase):
    """Supports operators whose tensors all have one dtype, in which BackendWithCompilerDemo computes."""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        values = [n.meta.get("val") for n in (node, *node.all_input_nodes)]
        dtypes = {v.dtype for v in values if isinstance(v, torch.Tensor)}
        return len(dtypes) == 1 and dtypes <= {torch.float32, torch.float64, torch.int32, torch.int64}


@final
class AddMulPartitionerDemo(Partitioner):
    """Gives add, mul and mm to BackendWithCompilerDemo, in branches of control flow too: in as few partitions as
    possible."""

    def __init__(self) -> None:
        super().__init__()
        takes = any_chain(AddOperatorSupport(), MulOperatorSupport(), MatmulOperatorSupport())
        self.op_support = chain(takes, OneDtypeSupport())
        self.delegation_spec = DelegationSpec("BackendWithCompilerDemo", [_MAX_VALUE])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        reason = "it takes add, mul and mm in one dtype: float32, float64, int32 or int64"
        return partition_by_support(exported_program, self.op_support, self.delegation_spec, reason=reason)


@final
class AddAttributePartitionerDemo(Partitioner):
    """Gives add to BackendWithCompilerDemo together with the weights that it reads. State stays outside, because this
    backend keeps none."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AddOperatorSupport()
        self.delegation_spec = DelegationSpec("BackendWithCompilerDemo", [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        return partition_by_support(exported_program, self.op_support, self.delegation_spec, own_constants=True)


@final
class AllNodesPartitionerDemo(Partitioner):
    """Gives everything to ExecutorBackend, together with weights and with the state that the program changes."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AllOperatorSupport()
        self.delegation_spec = DelegationSpec("ExecutorBackend", [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        return partition_by_support(
            exported_program, self.op_support, self.delegation_spec, own_constants=True, own_state=True
        )


class OpsToNotDecomposeOperatorSupport(OperatorSupportBase):
    """The operators that must not be decomposed for `NonDecompTestPartitioner`."""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node.target in _WHOLE_EDGE_OPS


_WHOLE_OPS = (
    torch.ops.aten.linear.default,
    torch.ops.aten.scaled_dot_product_attention.default,
    torch.ops.aten.upsample_nearest2d.vec,
)
_WHOLE_EDGE_OPS = (_edge.linear.default, _edge.scaled_dot_product_attention.default, _edge.upsample_nearest2d.vec)


@final
class NonDecompTestPartitioner(Partitioner):
    """Asks for operators that are otherwise decomposed, and for a linear only if it has a bias. Each becomes a
    separate partition, which owns the weights that nothing else reads."""

    def __init__(self) -> None:
        super().__init__()
        self.supported_non_decomposed_edge_ops = list(_WHOLE_EDGE_OPS)
        self.op_support = OpsToNotDecomposeOperatorSupport()
        self.delegation_spec = DelegationSpec("BackendWithCompilerDemo", [_MAX_VALUE])

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        def has_bias(node: Node) -> bool:
            return node.target is not torch.ops.aten.linear.default or len(node.args) > 2

        return list(_WHOLE_OPS), has_bias

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        self._tag(exported_program.graph_module, tags)
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _tag(self, module: torch.fx.GraphModule, tags: dict[str, DelegationSpec]) -> None:
        for node in module.graph.nodes:
            if self.op_support.is_node_supported({}, node):
                node.meta["delegation_tag"] = tag = f"tag{len(tags)}"
                tags[tag] = self.delegation_spec
        for _, submodule, _ in get_control_flow_submodules(module):
            self._tag(submodule, tags)
