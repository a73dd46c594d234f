# SPDX-License-Identifier: BSD-3-Clause
"""The limit on the number of instructions of a call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._higher_order_ops.map import map as map_rows

from sdk.exir import schema, to_edge
from sdk.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
from sdk.runtime import Runtime

ENDLESS = Path(__file__).parents[2] / "data/endless.pte"
X = torch.arange(12.0).reshape(4, 3)


class Rows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = map_rows(lambda row: row + 1.0, x)
        return found


def mapped() -> bytes:
    """A map over 4 rows."""
    return to_edge(torch.export.export(Rows(), (X,))).to_executorch().buffer


def without_end(program: bytes) -> bytes:
    """The program with its jumps changed so that each loop starts again, whatever its count is."""
    file = deserialize_pte_binary(program)
    plan = file.program.execution_plan[0]
    plan.values.append(schema.EValue(schema.Bool(bool_val=False)))
    jumps = [i.instr_args for i in plan.chains[0].instructions if isinstance(i.instr_args, schema.JumpFalseCall)]
    assert jumps
    for jump in jumps:
        jump.cond_value_index, jump.destination_instruction = len(plan.values) - 1, 0
    return bytes(serialize_pte_binary(file))


def test_a_map_without_an_end_ends() -> None:
    """The default limit: the message says what it is and how to raise it."""
    program = mapped()
    torch.testing.assert_close(Runtime.get().load_program(program).load_method("forward").execute([X])[0], X + 1)
    method = Runtime.get().load_program(without_end(program)).load_method("forward")
    with pytest.raises(RuntimeError, match=r"(?s)has run 67108864 instructions.*instruction_limit"):
        method.execute([X])


def test_limit_of_the_caller() -> None:
    program = mapped()
    with pytest.raises(RuntimeError, match="has run 5 instructions"):
        Runtime.get().load_program(program, instruction_limit=5).load_method("forward").execute([X])
    method = Runtime.get().load_program(program, instruction_limit=1 << 40).load_method("forward")
    torch.testing.assert_close(method.execute([X])[0], X + 1)
    for source in (ENDLESS, ENDLESS.read_bytes()):
        method = Runtime.get().load_program(source, instruction_limit=1000).load_method("forward")
        with pytest.raises(RuntimeError, match=re.escape("has run 1000 instructions")):
            method.execute([torch.ones(3)])
