# SPDX-License-Identifier: BSD-3-Clause
"""Partitioners whose delegates name a device, or none."""

from __future__ import annotations

from typing import Any, final

from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

import sdk.exir.backend.test.backend_with_compiler_demo  # noqa: F401  (defines the backend)
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test._tagging import partition_by_support
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.passes.propagate_device_pass import TARGET_DEVICE_COMPILE_SPEC_KEY

_MAX_VALUE = CompileSpec("max_value", bytes([4]))


class AddOperatorSupport(OperatorSupportBase):
    """add"""

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node.target is exir_ops.edge.aten.add.Tensor


@final
class DeviceAwarePartitioner(Partitioner):
    """Gives add to a backend that works on `target_device`, for example "cuda:0"."""

    def __init__(self, target_device: str = "cuda:0") -> None:
        super().__init__()
        self.op_support = AddOperatorSupport()
        device = CompileSpec(TARGET_DEVICE_COMPILE_SPEC_KEY, target_device.encode())
        self.delegation_spec = DelegationSpec("BackendWithCompilerDemo", [_MAX_VALUE, device])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        return partition_by_support(exported_program, self.op_support, self.delegation_spec)


@final
class CpuOnlyPartitioner(Partitioner):
    """Gives add to a backend that names no device."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AddOperatorSupport()
        self.delegation_spec = DelegationSpec("BackendWithCompilerDemo", [_MAX_VALUE])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        return partition_by_support(exported_program, self.op_support, self.delegation_spec)
