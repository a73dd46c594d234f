# SPDX-License-Identifier: BSD-3-Clause
"""Mutable buffers of programs that we export: initial values, zeros, and values that are kept between calls."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from data.make_programs import shared_counters  # noqa: E402
from sdk.exir import ExecutorchBackendConfig, to_edge  # noqa: E402
from sdk.exir.passes import MemoryPlanningPass  # noqa: E402
from sdk.extension.pybindings import portable_lib  # noqa: E402
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
        # The arena of the previous round has been freed.
        method = Runtime.get().load_program(manager.buffer).load_method("forward")
        eager = copy.deepcopy(model)
        for position in (5, 0, 63, 5):
            inputs = example(position)
            (found,) = method.execute(inputs)
            np.testing.assert_allclose(found, eager(*inputs), rtol=1e-6)


def test_shared_state_is_not_reset_by_the_second_method() -> None:
    """Zeroing the state whenever a method is loaded would erase the values that another method has written."""
    methods = {name: torch.export.export(Cache(), example(0)) for name in ("prefill", "decode")}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    assert names(to_edge(methods).to_executorch(config)) == [set(), set()]


def doors(data: bytes) -> dict[str, Any]:
    """`call(method, x)` of each way to run a program from Python; each has loaded it anew."""
    program, legacy = Runtime.get().load_program(data), portable_lib._load_program_from_buffer(data)
    module = portable_lib._load_for_executorch_from_buffer(data)
    return {
        "sdk.runtime": lambda name, x: program.load_method(name).execute([x])[0],
        # Each call loads the method, and drops it.
        "_load_program": lambda name, x: legacy.load_method(name)([x])[0],
        "_load_for_executorch": lambda name, x: module.run_method(name, [x])[0],
    }


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_methods_share_state_at_every_door(start: float) -> None:
    data = shared_counters(start)
    for door, call in doors(data).items():
        count = torch.full((1,), start)
        for name, x in (("add", 2.0), ("mul", 5.0), ("add", 1.0), ("mul", 3.0)):
            getattr(count, f"{name}_")(x)
            found = call(name, torch.tensor([x]))
            np.testing.assert_array_equal(found, count, err_msg=f"{door}: {name}")


def test_methods_have_state_of_their_own_unless_it_was_shared() -> None:
    for call in doors(shared_counters(1.0, share=False)).values():
        assert call("add", torch.tensor([2.0])) == 3
        assert call("mul", torch.tensor([5.0])) == 5


def test_programs_share_no_state_with_each_other() -> None:
    data = shared_counters(1.0)
    first, second = (Runtime.get().load_program(data) for _ in range(2))
    assert first.load_method("add").execute([torch.tensor([2.0])])[0] == 3
    assert second.load_method("mul").execute([torch.tensor([5.0])])[0] == 5


def test_threads_take_turns_with_shared_state() -> None:
    program = Runtime.get().load_program(shared_counters(0.0))
    add, mul = program.load_method("add"), program.load_method("mul")

    def work(method: Any, x: float) -> None:
        for _ in range(200):
            method.execute([torch.tensor([x])])

    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(work, add, 1.0), pool.submit(work, add, 1.0), pool.submit(work, mul, 1.0)]:
            done.result()
    assert add.execute([torch.tensor([0.0])])[0] == 400
