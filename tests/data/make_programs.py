#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes programs that the format allows and no exporter makes.

list_outputs.pte: corpus/tensor_list_input, whose outputs become lists of each kind; an exporter takes lists apart.
endless.pte: corpus/counter, with a last instruction that jumps to the first one, so that it never ends.
in_place.pte: corpus/no_planned_io, which uses its input in place, and also returns it as its first output.
dynamic_sizes/model.pte: x + y of the sizes (n, 3), n from 3 to 8. Programs of the corpus do not have such bounds.
two_outputs.pte: x + 1 and 2 x of the sizes (2, 3), both without planned memory.
shared_state.pte: the methods `add` and `mul` of one count, which starts at 1; each returns the new count.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from sdk.exir import ExecutorchBackendConfig, schema, to_edge
from sdk.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
from sdk.exir.passes import MemoryPlanningPass

FOLDER = Path(__file__).parent


def list_outputs() -> None:
    file = deserialize_pte_binary((FOLDER / "corpus/tensor_list_input/model.pte").read_bytes())
    plan = file.program.execution_plan[0]
    first, second = plan.outputs
    ints = [len(plan.values), len(plan.values) + 1]
    plan.values += [schema.EValue(schema.Int(int_val=number)) for number in (7, -9)]
    lists = [
        schema.TensorList(items=[first, second]),
        schema.OptionalTensorList(items=[second, -1]),
        schema.IntList(items=ints),
        schema.DoubleList(items=[0.5, -2.0, 4.0]),
        schema.BoolList(items=[True, False]),
    ]
    plan.outputs = list(range(len(plan.values), len(plan.values) + len(lists)))
    plan.values += [schema.EValue(value) for value in lists]
    (FOLDER / "list_outputs.pte").write_bytes(bytes(serialize_pte_binary(file)))


def endless() -> None:
    file = deserialize_pte_binary((FOLDER / "corpus/counter/model.pte").read_bytes())
    plan = file.program.execution_plan[0]
    condition = len(plan.values)
    plan.values.append(schema.EValue(schema.Bool(bool_val=False)))
    jump = schema.JumpFalseCall(cond_value_index=condition, destination_instruction=0)
    plan.chains[0].instructions.append(schema.Instruction(jump))
    (FOLDER / "endless.pte").write_bytes(bytes(serialize_pte_binary(file)))


def in_place() -> None:
    file = deserialize_pte_binary((FOLDER / "corpus/no_planned_io/model.pte").read_bytes())
    plan = file.program.execution_plan[0]
    plan.outputs = [*plan.inputs, *plan.outputs]
    (FOLDER / "in_place.pte").write_bytes(bytes(serialize_pte_binary(file)))


def dynamic_sizes() -> None:
    class Add(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y

    n = torch.export.Dim("n", min=3, max=8)
    inputs = (torch.ones(4, 3), torch.ones(4, 3))
    exported = torch.export.export(Add(), inputs, dynamic_shapes=({0: n}, {0: n}))
    (FOLDER / "dynamic_sizes").mkdir(exist_ok=True)
    (FOLDER / "dynamic_sizes/model.pte").write_bytes(to_edge(exported).to_executorch().buffer)


def two_outputs() -> None:
    class Two(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x + 1, x * 2

    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_output=False))
    exported = torch.export.export(Two(), (torch.ones(2, 3),))
    (FOLDER / "two_outputs.pte").write_bytes(to_edge(exported).to_executorch(config).buffer)


class Counter(torch.nn.Module):
    def __init__(self, operation: Any, start: float) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((1,), start))
        self.operation = operation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.operation(self.count, x)
        return self.count.clone()


def shared_counters(start: float, share: bool = True) -> bytes:
    """Methods `add` and `mul` of one count."""
    one = (torch.ones(1),)
    methods = {
        "add": torch.export.export(Counter(torch.Tensor.add_, start), one),
        "mul": torch.export.export(Counter(torch.Tensor.mul_, start), one),
    }
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=share))
    return to_edge(methods).to_executorch(config).buffer


if __name__ == "__main__":
    (FOLDER / "shared_state.pte").write_bytes(shared_counters(1.0))
    dynamic_sizes()
    list_outputs()
    endless()
    in_place()
    two_outputs()
