# SPDX-License-Identifier: BSD-3-Clause
"""The contents of an emitted program: operators, delegates, weights and the memory plan.

They are read from the emitted `sdk.exir.schema.Program` instead of the graphs, so that the summary describes what the
runtime loads.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sdk.devtools.element_types import BYTES, type_name
from sdk.exir import schema
from sdk.exir.scalar_type import ScalarType


@dataclass
class PlannedTensor:
    """A tensor in an arena. Its lifetime is from instruction `first` to instruction `last`, both included."""

    value: int
    type: str  # for example float32[1, 32, 112, 112]; if it is dynamic, at its largest sizes
    nbytes: int
    memory_id: int
    offset: int
    first: int
    last: int
    made_by: str  # the operator that writes it, or "input", "initial value", "a view of another tensor" or "nothing"


@dataclass
class MethodFacts:
    """One method of the program."""

    name: str
    inputs: list[str]
    outputs: list[str]
    arenas: dict[int, int]  # memory id -> bytes
    operators: Counter[str]  # `aten::add.out` -> calls
    delegates: Counter[str]  # backend -> calls
    instructions: int
    tensors: list[PlannedTensor] = field(default_factory=list)

    @property
    def arena_bytes(self) -> int:
        return sum(self.arenas.values())


@dataclass
class ProgramFacts:
    """The whole program."""

    methods: list[MethodFacts]
    weight_bytes: int  # constants, each counted once even if several methods use it


def program_facts(program: schema.Program) -> ProgramFacts:
    """Reads everything in a program that the summary and the report show."""
    weights: dict[Any, int] = {}
    for plan in program.execution_plan:
        for value in plan.values:
            tensor = value.val
            if isinstance(tensor, schema.Tensor) and tensor.allocation_info is None:
                extra = tensor.extra_tensor_info
                external = extra is not None and extra.location == schema.TensorDataLocation.EXTERNAL
                if external and extra is not None:
                    weights[extra.fully_qualified_name] = nbytes_of(tensor)
                elif tensor.data_buffer_idx > 0:
                    weights[tensor.data_buffer_idx] = nbytes_of(tensor)
    return ProgramFacts([_method(plan) for plan in program.execution_plan], sum(weights.values()))


def _method(plan: schema.ExecutionPlan) -> MethodFacts:
    operators: Counter[str] = Counter()
    delegates: Counter[str] = Counter()
    instructions = [instruction.instr_args for chain in plan.chains for instruction in chain.instructions]
    for call in instructions:
        if isinstance(call, schema.KernelCall):
            operators[_operator(plan, call)] += 1
        elif isinstance(call, schema.DelegateCall):
            delegates[plan.delegates[call.delegate_index].id] += 1
    return MethodFacts(
        name=plan.name,
        inputs=[type_of(plan.values[index].val) for index in plan.inputs],
        outputs=[type_of(plan.values[index].val) for index in plan.outputs],
        # Entry 0 of the sizes is reserved; memory ids start at 1.
        arenas={memory_id: size for memory_id, size in enumerate(plan.non_const_buffer_sizes) if memory_id > 0},
        operators=operators,
        delegates=delegates,
        instructions=len(instructions),
        tensors=_planned(plan, instructions),
    )


def _planned(plan: schema.ExecutionPlan, instructions: list[Any]) -> list[PlannedTensor]:
    uses: dict[int, list[int]] = {}
    writer: dict[int, str] = {}
    for position, call in enumerate(instructions):
        results = values_written(plan, call)
        for value in values_touched(plan, call):
            uses.setdefault(value, []).append(position)
            # Inputs and initial values are set below. Other tensors are written before they are read, or are views.
            writer.setdefault(value, call_name(plan, call) if value in results else "a view of another tensor")
    last = max(len(instructions) - 1, 0)
    for value in plan.inputs:
        uses.setdefault(value, []).insert(0, 0)
        writer[value] = "input"
    for value in plan.outputs:
        uses.setdefault(value, []).append(last)
    planned = []
    for index, evalue in enumerate(plan.values):
        tensor = evalue.val
        if not isinstance(tensor, schema.Tensor) or tensor.allocation_info is None:
            continue
        where = tensor.allocation_info
        # A tensor with an initial value keeps its value between calls, so its lifetime is the whole method.
        initial = tensor.data_buffer_idx > 0
        at = [0, last] if initial else uses.get(index, [0])
        planned.append(
            PlannedTensor(
                value=index,
                type=type_of(tensor),
                nbytes=nbytes_of(tensor),
                memory_id=where.memory_id,
                offset=where.memory_offset,
                first=min(at),
                last=max(at),
                made_by="initial value" if initial else writer.get(index, "nothing"),
            )
        )
    return planned


def values_touched(plan: schema.ExecutionPlan, call: Any) -> list[int]:
    """The values of an instruction, with lists expanded."""
    if isinstance(call, (schema.KernelCall, schema.DelegateCall)):
        return list(_expanded(plan, call.args))
    if isinstance(call, schema.MoveCall):
        return [call.move_from, call.move_to]
    if isinstance(call, schema.JumpFalseCall):
        return [call.cond_value_index]
    if isinstance(call, schema.FreeCall):
        return [call.value_index]
    return []


def values_read(plan: schema.ExecutionPlan, call: Any) -> list[int]:
    """Returns the values that an instruction may read. For a kernel these are all arguments except the last, which is
    its result."""
    if isinstance(call, schema.KernelCall):
        return list(_expanded(plan, call.args[:-1]))
    return values_touched(plan, call)


def values_written(plan: schema.ExecutionPlan, call: Any) -> set[int]:
    """The values that an instruction may write: the last argument of a kernel, and any argument of a delegate."""
    if isinstance(call, schema.KernelCall):
        return set(_expanded(plan, call.args[-1:]))
    if isinstance(call, schema.MoveCall):
        return {call.move_to}
    return set(values_touched(plan, call))


def _expanded(plan: schema.ExecutionPlan, values: Iterable[int]) -> Iterable[int]:
    for value in values:
        held = plan.values[value].val if value >= 0 else None
        if isinstance(held, (schema.TensorList, schema.OptionalTensorList)):
            yield from (item for item in held.items if item >= 0)
        elif held is not None:
            yield value


def call_name(plan: schema.ExecutionPlan, call: Any) -> str:
    """The callee of an instruction: `aten::add.out`, a backend, or the kind of the instruction."""
    if isinstance(call, schema.KernelCall):
        return _operator(plan, call)
    if isinstance(call, schema.DelegateCall):
        return plan.delegates[call.delegate_index].id
    return type(call).__name__


def _operator(plan: schema.ExecutionPlan, call: schema.KernelCall) -> str:
    operator = plan.operators[call.op_index]
    return f"{operator.name}.{operator.overload}" if operator.overload else operator.name


def nbytes_of(tensor: schema.Tensor) -> int:
    """The size in bytes; for a dynamic tensor, the largest."""
    return math.prod(tensor.sizes) * BYTES.get(ScalarType(tensor.scalar_type), 1)


def type_of(value: Any) -> str:
    """`float32[1, 8]` for a tensor, the name of the type for any other value."""
    if isinstance(value, schema.Tensor):
        scalar = ScalarType(value.scalar_type)
        dynamic = "up to " if value.shape_dynamism != schema.TensorShapeDynamism.STATIC else ""
        return f"{dynamic}{type_name(scalar)}[{', '.join(map(str, value.sizes))}]"
    return {"Int": "int", "Double": "float", "Bool": "bool", "String": "str", "Null": "None"}.get(
        type(value).__name__, type(value).__name__
    )
