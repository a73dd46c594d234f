# SPDX-License-Identifier: BSD-3-Clause
"""Weights are stored in the order of their reader, and never twice."""

from __future__ import annotations

import torch
from torch import nn

from sdk.exir import ExecutorchBackendConfig, to_edge


class Tied(nn.Module):
    """The embedding reads a weight as rows, and the projection reads it transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.project = nn.Linear(4, 10, bias=False)
        self.project.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.project(self.embed(ids))


class Twice(nn.Module):
    """Two layers that share a weight, both transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


def lower(model: nn.Module, *inputs: torch.Tensor, config: ExecutorchBackendConfig | None = None):
    return to_edge(torch.export.export(model.eval(), inputs)).to_executorch(config)


def operators(manager) -> list[str]:
    plan = manager.executorch_program.execution_plan[0]
    return [plan.operators[i.instr_args.op_index].name for i in plan.chains[0].instructions]


def test_a_linear_layer_is_one_call_and_plans_no_memory_for_its_weight() -> None:
    model = nn.Linear(3, 2)
    manager = lower(model, torch.randn(1, 3))
    assert operators(manager) == ["aten::addmm"]
    # 16-byte slots for the input (12 bytes) and the output (8 bytes).
    assert sum(manager.executorch_program.execution_plan[0].non_const_buffer_sizes) == 32
    weight = model.weight.detach().t().contiguous().numpy().tobytes()
    assert weight in manager.buffer
    assert model.weight.shape == (2, 3), "the model's own weight stays as it was"


def test_a_weight_with_readers_of_both_orders_is_stored_once_and_permuted_at_run_time() -> None:
    manager = lower(Tied(), torch.tensor([[1, 2]]))
    assert "aten::permute_copy" in operators(manager)
    stored = manager.executorch_program.constant_buffer
    assert sum(len(b.storage) == 160 for b in stored) == 1


def test_a_weight_that_two_layers_transpose_is_stored_once() -> None:
    manager = lower(Twice(), torch.randn(1, 4))
    assert operators(manager) == ["aten::addmm", "aten::addmm"]
    stored = manager.executorch_program.constant_buffer
    assert sum(len(b.storage) == 64 for b in stored) == 1


def test_a_weight_that_methods_read_in_different_orders_is_stored_once() -> None:
    """One method embeds with the weight, and another method projects with it."""
    tied = Tied().eval()
    ids, x = torch.tensor([[1, 2]]), torch.randn(1, 4)
    programs = {"embed": torch.export.export(tied.embed, (ids,)), "project": torch.export.export(tied.project, (x,))}
    manager = to_edge(programs).to_executorch()
    stored = manager.executorch_program.constant_buffer
    assert sum(len(b.storage) == 160 for b in stored) == 1
    weight = tied.embed.weight.detach()
    assert (
        weight.numpy().tobytes() in manager.buffer and weight.t().contiguous().numpy().tobytes() not in manager.buffer
    )


def test_a_weight_that_methods_transpose_alike_is_stored_transposed() -> None:
    linear, x = nn.Linear(3, 2).eval(), torch.randn(1, 3)
    programs = {name: torch.export.export(linear, (x,)) for name in ("a", "b")}
    manager = to_edge(programs).to_executorch()
    assert operators(manager) == ["aten::addmm"]
    assert sum(len(b.storage) == 24 for b in manager.executorch_program.constant_buffer) == 1


def test_external_weights_keep_their_order() -> None:
    manager = lower(nn.Linear(3, 2), torch.randn(1, 3), config=ExecutorchBackendConfig(external_constants=True))
    assert operators(manager) == ["aten::permute_copy", "aten::addmm"]
