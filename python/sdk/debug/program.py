# SPDX-License-Identifier: BSD-3-Clause
"""The program to debug: the calls of its methods, and the inputs of its bundled cases."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch

from sdk.devtools.bundled_program.schema import bundled_program_schema as bundle
from sdk.devtools.bundled_program.serialize import (
    BUNDLED_PROGRAM_IDENTIFIER,
    deserialize_from_flatbuffer_to_bundled_program,
)
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir._serialize._regular_file import read_file
from sdk.exir.schema import DelegateCall, ExecutionPlan, KernelCall
from sdk.exir.tensor import get_scalar_type


@dataclass(frozen=True)
class DebuggedProgram:
    """A program: its file, its bytes and its methods."""

    path: Path
    data: bytes
    plans: dict[str, ExecutionPlan]

    def calls(self, method: str) -> list[str]:
        """The operators and delegates that a method calls, in order: `aten::add.out`, `delegate SomeBackend`."""
        return calls_of(self.plans[method])

    def delegates(self) -> list[str]:
        """The ids of the backends that the program needs, each once."""
        return list(dict.fromkeys(delegate.id for plan in self.plans.values() for delegate in plan.delegates))


def read_program(path: Path) -> tuple[DebuggedProgram, dict[str, list[list[Any]]]]:
    """Reads a `.pte`, or a `.bpte` with the inputs of its cases for each method.

    Raises ValueError, which names the file, for any other file, and OSError if it cannot be read.
    """
    data = read_file(path)
    cases: dict[str, list[list[Any]]] = {}
    try:
        if data[4:8] == BUNDLED_PROGRAM_IDENTIFIER:
            content = deserialize_from_flatbuffer_to_bundled_program(data)
            data = bytes(content.program)
            cases = {
                suite.method_name: [[_value(value) for value in case.inputs] for case in suite.test_cases]
                for suite in content.method_test_suites
            }
        plans = {plan.name: plan for plan in deserialize_pte_binary(data).program.execution_plan}
    except ValueError as error:
        raise ValueError(
            f"'{path}' cannot be read as a program: {error}. Pass the .pte, or the .bpte, that the export wrote"
        ) from error
    return DebuggedProgram(path, data, plans), cases


def calls_of(plan: ExecutionPlan) -> list[str]:
    """The calls of a plan's instructions, in order."""
    found = []
    for chain in plan.chains:
        for instruction in chain.instructions:
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                op = plan.operators[call.op_index]
                found.append(f"{op.name}.{op.overload}" if op.overload else op.name)
            elif isinstance(call, DelegateCall):
                found.append(f"delegate {plan.delegates[call.delegate_index].id}")
            else:
                found.append(type(call).__name__)
    return found


def difference(found: list[str], expected: list[str]) -> str | None:
    """The first difference between the calls of two methods: "instruction 3 calls X, expected Y"; None if they are
    equal."""
    for index, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one != other:
            return f"instruction {index} calls {one}, expected {other}"
    if len(found) != len(expected):
        return f"it has {len(found)} instructions, expected {len(expected)}"
    return None


def _value(value: bundle.Value) -> Any:
    content = value.val
    if not isinstance(content, bundle.Tensor):
        return next(iter(vars(content).values()))
    dtype = get_scalar_type(content.scalar_type)
    sizes = [content.sizes[dim] for dim in content.dim_order]
    if len(content.data) != prod(sizes) * dtype.itemsize:
        raise ValueError(
            f"a tensor of {prod(sizes)} elements has {len(content.data)} bytes, expected {prod(sizes) * dtype.itemsize}"
        )
    if not content.data:
        return torch.zeros(content.sizes, dtype=dtype)
    flat = torch.frombuffer(bytearray(content.data), dtype=dtype).reshape(sizes)
    return flat.permute([content.dim_order.index(dim) for dim in range(len(sizes))])
