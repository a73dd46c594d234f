# SPDX-License-Identifier: BSD-3-Clause
"""Results that are parts of an operand's memory: which copies a program avoids, and which it needs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from sdk.exir.passes import MemoryPlanningPass
from sdk.exir.schema import KernelCall
from sdk.runtime import Runtime
from zoo.function import Function


def lower(model: nn.Module, *inputs: Tensor, **config: object) -> ExecutorchProgramManager:
    return to_edge(torch.export.export(model.eval(), inputs)).to_executorch(ExecutorchBackendConfig(**config))


def operators(manager: ExecutorchProgramManager) -> list[str]:
    (plan,) = manager.executorch_program.execution_plan
    calls = [i.instr_args for i in plan.chains[0].instructions if isinstance(i.instr_args, KernelCall)]
    return [plan.operators[call.op_index].name for call in calls]


def run(manager: ExecutorchProgramManager, *inputs: Tensor) -> list[Tensor]:
    return list(Runtime.get().load_program(manager.buffer).load_method("forward").execute(list(inputs)))


X = torch.arange(24.0).reshape(1, 4, 6) - 11.5

WITHOUT_COPIES = {
    "slice": lambda x: x.sin()[:, 1:3].exp(),
    "select": lambda x: x.sin()[:, 2].exp(),
    "split": lambda x: [part.exp() for part in x.sin().split(2, 1)],
    "uneven split": lambda x: [part.exp() for part in x.sin().split([1, 3], 1)],
    "unbind": lambda x: [part.exp() for part in x.sin().unbind(1)],
    "unsqueeze": lambda x: x.sin().unsqueeze(2).exp(),
    "squeeze": lambda x: x.sin().squeeze(0).exp(),
    "a permutation of dimensions of size one": lambda x: x.sin().permute(1, 0, 2).exp(),
    "a part of a part": lambda x: x.sin()[:, 1:][:, 1].exp(),
    "a part of an input": lambda x: x[:, 1:3].exp(),
    "parts that are changed in place": lambda x: [part.exp().neg() + 1.0 for part in x.sin().split(2, 1)],
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", WITHOUT_COPIES)
def test_no_instruction_and_the_right_result(name: str) -> None:
    model = Function(WITHOUT_COPIES[name])
    manager = lower(model, X)
    assert not [op for op in operators(manager) if "copy" in op]
    expected = model(X)
    for got, want in zip(run(manager, X), expected if isinstance(expected, list) else [expected], strict=True):
        torch.testing.assert_close(got, want)


WITH_COPIES = {
    "elements apart": lambda x: x.sin()[:, :, 1:3].exp(),
    "a step": lambda x: x.sin()[:, ::2].exp(),
    "a permutation": lambda x: x.sin().permute(0, 2, 1).exp(),
    "a part that is returned": lambda x: x.sin()[:, 1:3],
}


@pytest.mark.parametrize("name", WITH_COPIES)
def test_what_lies_elsewhere_is_copied(name: str) -> None:
    model = Function(WITH_COPIES[name])
    manager = lower(model, X)
    assert [op for op in operators(manager) if "copy" in op]
    torch.testing.assert_close(run(manager, X)[0], model(X))


def test_copies_stay_on_request() -> None:
    manager = lower(Function(WITHOUT_COPIES["slice"]), X, remove_view_copy=False)
    assert "aten::slice_copy" in operators(manager)


def test_a_user_supplied_input_has_no_known_place() -> None:
    model = Function(lambda x: x[:, 1:3].exp())
    manager = lower(model, X, memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
    assert [op for op in operators(manager) if "copy" in op] == ["aten::slice_copy"]
    torch.testing.assert_close(run(manager, X)[0], model(X))


@pytest.mark.parametrize("returns_input", [False, True])
def test_a_write_to_a_user_supplied_input_reaches_the_caller(returns_input: bool) -> None:
    def write(x: Tensor) -> Tensor:
        x.add_(1)
        return x if returns_input else x * 2

    manager = lower(Function(write), X.clone(), memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
    given, expected = X.clone(), X.clone()
    result = write(expected)
    torch.testing.assert_close(run(manager, given)[0], result)
    torch.testing.assert_close(given, expected)


def test_a_small_part_does_not_keep_a_large_tensor() -> None:
    """Copying 6 numbers is cheaper than keeping 600 numbers alive together with 600 others."""
    model = Function(lambda x: x.sin()[3:4].expand(2, 6).contiguous() + (x.cos() @ x.cos().T).sum())
    x = torch.randn(100, 6)
    manager = lower(model, x)
    torch.testing.assert_close(run(manager, x)[0], model(x), rtol=1e-4, atol=1e-4)
    (plan,) = manager.executorch_program.execution_plan
    row, table, product = 4 * 6, 4 * 600, 4 * 100 * 100
    # At most the input, its cosine, the transposed cosine, the product and the row are needed at once.
    assert sum(plan.non_const_buffer_sizes) <= 3 * table + product + row + 16 * 6


class State(nn.Module):
    """Parts of a buffer, read before or after the buffer is written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).reshape(3, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        old = self.table[1]
        self.table[1] = x
        new = self.table[1]
        return old * 2.0, new * 3.0


def test_parts_of_state_see_the_values_of_their_time() -> None:
    model = State()
    manager = lower(model, torch.ones(4))
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    for call in range(3):
        x = torch.full((4,), float(call))
        for got, want in zip(method.execute([x]), model(x), strict=True):
            torch.testing.assert_close(got, want)


def test_two_parts_of_which_one_is_overwritten() -> None:
    """An operator writes in place to its part; the overlapping part is needed later."""

    def function(x: Tensor) -> Tensor:
        y = x.sin()
        first, second = y[:, 0:3], y[:, 2:4]
        return first.exp().sum(1) + second.exp().sum(1)

    manager = lower(Function(function), X)
    torch.testing.assert_close(run(manager, X)[0], function(X))
