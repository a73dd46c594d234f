# SPDX-License-Identifier: BSD-3-Clause
"""A program as it is stored in a file: its sizes, and the calls of delegates. Weights and payloads of a `.pte` are
not read."""

from __future__ import annotations

import mmap
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdk.command import CommandError
from sdk.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from sdk.devtools.report.facts import MethodFacts, ProgramFacts, program_facts
from sdk.exir import schema
from sdk.exir._serialize._flatbuffer_program import _flatbuffer_to_program
from sdk.inspect import facts

_MOST_PARTS = 40


@dataclass(frozen=True)
class DelegateCall:
    """An instruction that calls a delegate. `nbytes` is the size of its payload."""

    backend: str
    instruction: int
    nbytes: int


@dataclass
class MethodFile:
    """A method of a program, as it was emitted."""

    plan: schema.ExecutionPlan
    facts: MethodFacts
    delegate_calls: list[DelegateCall]

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def instructions(self) -> int:
        return self.facts.instructions


@dataclass
class ProgramFile:
    """A program that was read from a file of `nbytes` bytes. `sizes` are its parts, the largest first."""

    path: Path
    nbytes: int
    facts: ProgramFacts
    methods: dict[str, MethodFile]
    sizes: dict[str, int] = field(default_factory=dict)


def read_program(path: Path) -> ProgramFile:
    """Reads a `.pte`, or the program of a `.bpte`. Nothing in the file is executed.

    Raises ValueError if it is neither, or is damaged.
    """
    try:
        found = facts(path)
    except CommandError as error:
        raise ValueError(str(error)) from error
    inside = found if found["kind"] == "pte" else found.get("program")
    if inside is None:
        raise ValueError(f"`{path}`: expected a program (.pte or .bpte), found {found['kind']}: pass the program")
    program = _flatbuffer_to_program(_content(path, found["kind"]))
    known = program_facts(program)
    methods = {
        plan.name: MethodFile(plan, method, _delegate_calls(plan, said["delegates"]))
        for plan, method, said in zip(program.execution_plan, known.methods, inside["methods"], strict=True)
    }
    if not methods:
        raise ValueError(f"`{path}`: expected a program with a method, found none: export the model again")
    parts = [*inside["sections"], *(section for section in found["sections"] if section["name"] == "test cases")]
    return ProgramFile(path, found["bytes"], known, methods, _sizes(parts))


def _content(path: Path, kind: str) -> bytes | memoryview:
    with path.open("rb") as file:
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return content if kind == "pte" else deserialize_from_flatbuffer_to_bundled_program(bytes(content)).program


def instructions_of(plan: schema.ExecutionPlan) -> list[object]:
    """The instructions of all chains, in order."""
    return [instruction.instr_args for chain in plan.chains for instruction in chain.instructions]


def _delegate_calls(plan: schema.ExecutionPlan, delegates: list[dict[str, Any]]) -> list[DelegateCall]:
    return [
        DelegateCall(delegates[call.delegate_index]["id"], number, delegates[call.delegate_index]["bytes"])
        for number, call in enumerate(instructions_of(plan))
        if isinstance(call, schema.DelegateCall)
    ]


def _sizes(sections: list[dict[str, Any]]) -> dict[str, int]:
    """Bytes by name. If there are many names, the smallest are combined."""
    sizes: Counter[str] = Counter()
    for section in sections:
        sizes[section["name"]] += section["bytes"]
    largest = dict(sizes.most_common(_MOST_PARTS))
    rest = sum(sizes.values()) - sum(largest.values())
    return {**largest, **({f"{len(sizes) - len(largest)} smaller parts": rest} if rest else {})}
