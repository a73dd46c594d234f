# SPDX-License-Identifier: BSD-3-Clause
"""State that methods share, in the interpreter, which replaces the device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from sdk.backends.apple.mps.partition import MPSPartitioner
from sdk.backends.apple.mps.verify.program import ReferenceProgram
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from sdk.exir.passes import MemoryPlanningPass

OPERATIONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda state, x: state.add_(x).clone(),
    "mul": lambda state, x: state.mul_(x).clone(),
    "read": lambda state, x: (state + x).relu(),
}


class Method(torch.nn.Module):
    def __init__(self, operation: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(4))
        self.operation = operation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.operation(self.state, x)


def test_methods_share_their_state_and_read_what_others_wrote(tmp_path: Path) -> None:
    methods = {name: torch.export.export(Method(each), (torch.ones(4),)) for name, each in OPERATIONS.items()}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    lowered = to_edge_transform_and_lower(methods, partitioner=[MPSPartitioner([])])
    lowered.to_executorch(config).save(str(tmp_path / "shared.pte"))
    program, state = ReferenceProgram(tmp_path / "shared.pte"), torch.ones(4)
    for name, number in (("add", 2.0), ("mul", 5.0), ("read", 1.0), ("add", 1.0), ("read", 0.0)):
        x = torch.full((4,), number)
        torch.testing.assert_close(program.run_method(name, [x])[0], OPERATIONS[name](state, x), msg=name)
