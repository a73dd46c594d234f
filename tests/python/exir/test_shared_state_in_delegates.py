# SPDX-License-Identifier: BSD-3-Clause
"""State that methods would share (`share_mutable_buffers`), of which a delegate keeps a private copy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import ExportedProgram

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import Partitioner
from sdk.exir.error import ExportError
from sdk.exir.passes import MemoryPlanningPass

OPERATIONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda state, x: state.add_(x).clone(),
    "mul": lambda state, x: state.mul_(x).clone(),
    "read": lambda state, x: state * x,
    "other": lambda state, x: x + 1,
}


class BackendWithState(BackendDetails):
    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(processed_bytes=b"state")


class Method(torch.nn.Module):
    def __init__(self, operation: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], size: int = 4) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(size))
        self.operation = operation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.operation(self.state, x)


PARTITIONERS: dict[str, Callable[[], Partitioner]] = {
    BackendWithState.__name__: lambda: AllNodePartitioner(BackendWithState.__name__, []),
    "VulkanBackend": VulkanPartitioner,
}


def lower(methods: dict[str, Method], partitioners: dict[str, Partitioner], share: bool = True) -> bytes:
    exported = {name: torch.export.export(method, (method.state.clone(),)) for name, method in methods.items()}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=share))
    edge = to_edge_transform_and_lower(exported, partitioner={name: [each] for name, each in partitioners.items()})
    return edge.to_executorch(config).buffer


@pytest.mark.parametrize("backend", PARTITIONERS)
@pytest.mark.parametrize("second", ["mul", "read"])
def test_state_of_a_delegate_is_not_shared(backend: str, second: str) -> None:
    """With `share_mutable_buffers`, lowering is refused, whether the other method is delegated or not. Without it, each
    method has its own state."""
    methods = {name: Method(OPERATIONS[name]) for name in ("add", second)}
    for delegated in (["add"], ["add", second]):
        partitioners = {name: PARTITIONERS[backend]() for name in delegated}
        with pytest.raises(ExportError, match=f"'add' and '{second}' cannot share the buffer 'state'.*{backend}"):
            lower(methods, partitioners)
        assert lower(methods, partitioners, share=False)


@pytest.mark.parametrize("backend", PARTITIONERS)
def test_state_that_one_method_uses_stays_in_its_delegate(backend: str) -> None:
    """Lowering succeeds if the other method does not use the buffer, or has a different buffer of the same name."""
    for other in (Method(OPERATIONS["other"]), Method(OPERATIONS["mul"], size=2)):
        methods = {"add": Method(OPERATIONS["add"]), "other": other}
        assert lower(methods, {name: PARTITIONERS[backend]() for name in methods})
