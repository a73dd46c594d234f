# SPDX-License-Identifier: BSD-3-Clause
"""State that one method changes and another method, which is delegated, only reads."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: E402
from sdk.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower  # noqa: E402
from sdk.exir.passes import MemoryPlanningPass  # noqa: E402
from sdk.runtime import Runtime  # noqa: E402

X = torch.linspace(-1, 1, 16).reshape(4, 4)

READS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "operand": lambda state, x: x + state,
    "weight": torch.nn.functional.linear,
    "weight_of_linear": lambda state, x: torch.nn.functional.linear(x, state),
    "transposed": lambda state, x: x @ state.t(),
    "computed": lambda state, x: x * (state.exp() + 1),
    "kernel": lambda state, x: torch.nn.functional.conv1d(x[None], state[..., None]),
    "branch": lambda state, x: torch.cond(x.sum() > 9, lambda a, s: a - s, lambda a, s: a @ s, (x, state)),
}


class Method(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.register_buffer("state", X.clone())
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self.state, x)


def change(state: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return state.add_(x).clone()


def test_a_delegated_method_reads_what_another_method_wrote() -> None:
    models = {"change": Method(change), **{name: Method(read) for name, read in READS.items()}}
    methods = {name: torch.export.export(copy.deepcopy(model), (X,)) for name, model in models.items()}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    lowered = to_edge_transform_and_lower(methods, partitioner=[XnnpackPartitioner()])
    both_steps = to_edge(methods).to_backend(XnnpackPartitioner())
    for manager in (lowered, both_steps):
        program = Runtime.get().load_program(manager.to_executorch(config).buffer)
        state = X.clone()
        for _ in range(2):
            torch.testing.assert_close(program.load_method("change").execute([X])[0], change(state, X))
            for name, read in READS.items():
                torch.testing.assert_close(program.load_method(name).execute([X])[0], read(state, X), msg=name)


def test_what_no_other_method_changes_stays_a_constant() -> None:
    """Buffers with the same name in methods of different modules are not shared."""
    other = Method(lambda state, x: state.mul_(x).clone())
    other.state = torch.ones(2)
    models = {"read": Method(READS["weight_of_linear"]), "change": other}
    methods = {"read": (X,), "change": (torch.ones(2),)}
    exported = {name: torch.export.export(models[name], inputs) for name, inputs in methods.items()}
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert not lowered.exported_program("read").graph_signature.buffers_to_mutate
    calls = [node for node in lowered.exported_program("read").graph.nodes if node.op == "call_function"]
    assert [node.name for node in calls if "executorch_call_delegate" in node.name], "the weight is in the delegate"
