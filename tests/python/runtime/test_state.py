# SPDX-License-Identifier: BSD-3-Clause
"""Mutable buffers of programs that we export: initial values, zeros, and values that are kept between calls."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sdk.exir import ExecutorchBackendConfig, to_edge  # noqa: E402
from sdk.exir.passes import MemoryPlanningPass  # noqa: E402
from sdk.runtime import Runtime  # noqa: E402


class Cache(torch.nn.Module):
    """A key cache of zeros and a counter that starts at one."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 64, 32))
        self.register_buffer("calls", torch.ones(1))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(1, position, x)
        self.calls.add_(1.0)
        return self.keys.sum(1) * self.calls


def example(position: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.full((1, 1, 32), position + 1.0), torch.tensor([position])


def names(manager: Any) -> list[set[str]]:
    """The named tensors of each method."""
    return [
        {
            value.val.extra_tensor_info.fully_qualified_name
            for value in plan.values
            if getattr(value.val, "extra_tensor_info", None)
        }
        for plan in manager.executorch_program.execution_plan
    ]


@pytest.mark.parametrize("emit_names", [False, True])
def test_state_starts_with_its_values_in_every_method_object(emit_names: bool) -> None:
    model = Cache()
    config = ExecutorchBackendConfig(emit_mutable_buffer_names=emit_names)
    manager = to_edge(torch.export.export(copy.deepcopy(model), example(0))).to_executorch(config)
    assert len(manager.buffer) < 64 * 32 * 4, "zeros take no room"
    assert names(manager) == [{"keys", "calls"} if emit_names else {"keys"}]
    for _ in range(3):
        # The arena of the last round is freed memory by now.
        method = Runtime.get().load_program(manager.buffer).load_method("forward")
        eager = copy.deepcopy(model)
        for position in (5, 0, 63, 5):
            inputs = example(position)
            (found,) = method.execute(inputs)
            np.testing.assert_allclose(found, eager(*inputs), rtol=1e-6)


def test_shared_state_is_not_reset_by_the_second_method() -> None:
    """Zeroing it whenever a method is loaded would wipe what another method has written."""
    methods = {name: torch.export.export(Cache(), example(0)) for name in ("prefill", "decode")}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    assert names(to_edge(methods).to_executorch(config)) == [set(), set()]
