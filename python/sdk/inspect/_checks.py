# SPDX-License-Identifier: BSD-3-Clause
"""Checks the indices of a program that was read from a file, so that no access is out of bounds."""

from __future__ import annotations

from collections.abc import Iterable

from sdk.exir import schema
from sdk.exir._serialize._flatbuffer import FlatbufferError


def check_indices(program: schema.Program) -> None:
    """Raises FlatbufferError if an index is out of range, or a size is negative."""
    for plan in program.execution_plan:
        where = f"method {plan.name!r}"
        count = len(plan.values)
        _check([*plan.inputs, *plan.outputs], count, f"the inputs and outputs of {where}")
        for index, evalue in enumerate(plan.values):
            _check_value(evalue.val, count, f"value {index} of {where}")
        for chain in plan.chains:
            for number, instruction in enumerate(chain.instructions):
                _check_instruction(plan, instruction.instr_args, f"instruction {number} of {where}")
        for delegate in plan.delegates:
            if delegate.processed is None:
                raise FlatbufferError(f"a delegate of {where} does not say where its data is; the file is damaged")
            inline = delegate.processed.location == schema.DataLocation.INLINE
            known = program.backend_delegate_data if inline else program.segments
            _check([delegate.processed.index], len(known), f"the data of a delegate of {where}")
    segments = [entry.segment_index for entry in program.named_data or ()]
    segments += [entry.segment_index for entry in program.mutable_data_segments or ()]
    if program.constant_segment is not None and program.constant_segment.offsets:
        segments.append(program.constant_segment.segment_index)
    _check(segments, len(program.segments), "the segments of the program")


def _check_value(value: object, count: int, what: str) -> None:
    if isinstance(value, schema.Tensor):
        if any(size < 0 for size in value.sizes):
            raise FlatbufferError(f"{what} has a negative size: {value.sizes}; the file is damaged")
    elif isinstance(value, (schema.TensorList, schema.IntList)):
        _check(value.items, count, what)
    elif isinstance(value, schema.OptionalTensorList):
        _check((item for item in value.items if item != -1), count, what)


def _check_instruction(plan: schema.ExecutionPlan, call: object, what: str) -> None:
    values = len(plan.values)
    if isinstance(call, schema.KernelCall):
        _check([call.op_index], len(plan.operators), f"the operator of {what}")
        _check(call.args, values, f"the arguments of {what}")
    elif isinstance(call, schema.DelegateCall):
        _check([call.delegate_index], len(plan.delegates), f"the delegate of {what}")
        _check(call.args, values, f"the arguments of {what}")
    elif isinstance(call, schema.MoveCall):
        _check([call.move_from, call.move_to], values, f"the values of {what}")
    elif isinstance(call, schema.JumpFalseCall):
        _check([call.cond_value_index], values, f"the condition of {what}")
    elif isinstance(call, schema.FreeCall):
        _check([call.value_index], values, f"the value of {what}")


def _check(indices: Iterable[int], count: int, what: str) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise FlatbufferError(f"{what}: expected indices below {count}, found {index}; the file is damaged")
