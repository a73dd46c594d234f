# SPDX-License-Identifier: BSD-3-Clause
"""Emission: turns planned graphs with out variants into a `Program` of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from sdk.exir._serialize._tensor_data import Data
from sdk.exir.emit._method_emitter import MethodEmitter
from sdk.exir.emit._program_data import ProgramData
from sdk.exir.emit._values import Values
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.schema import Buffer, Chain, ContainerMetadata, ExecutionPlan, Program, SubsegmentOffsets
from sdk.exir.tensor import TensorSpec, make_tensor_value
from sdk.exir.version import EXECUTORCH_SCHEMA_VERSION


@dataclass
class EmitterOutput:
    """A program with its data inline, and the maps by which tools find the graphs that it was made from."""

    program: Program

    # Method name -> instruction index -> debug handle of the node (a list of them for a delegate).
    debug_handle_map: dict[str, dict[int, int | list[int]]]

    # Method name -> instruction index of a delegate call -> the backend's own map of debug ids.
    method_to_delegate_debug_id_map: dict[str, dict[int, dict[str, Any]]]

    # Method name -> instruction index of a delegate call, or a kernel without a debug handle -> number of its outputs.
    instruction_id_to_num_outs_map: dict[str, dict[int, int]]

    # Initial values of mutable buffers; entry 0 is a placeholder. None if all of them start as zeros.
    mutable_data: list[Buffer] | None

    # Data of constants that are stored outside of the program: the data, and file name -> tensor name -> index.
    external_constant_buffer: list[Data] = field(default_factory=list)
    external_constant_map: dict[str, dict[str, int]] | None = None


def _emit_getter(name: str, value: Any, data: ProgramData) -> ExecutionPlan:
    """A method without instructions that returns constants."""
    leaves, tree = pytree.tree_flatten(value)
    values = Values()
    outputs = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            spec = TensorSpec.from_tensor(leaf, const=True)
            outputs.append(values.add(make_tensor_value(data.add_constant(leaf, spec.dim_order, name), None, spec)))
        elif leaf is None or isinstance(leaf, (bool, int, float, str)):
            outputs.append(values.literal(leaf))
        else:
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"constant method {name!r} returns a {type(leaf).__name__}; expected tensors, numbers, strings, or "
                "lists, tuples and dicts of these",
            )
    return ExecutionPlan(
        name=name,
        container_meta_type=ContainerMetadata("", pytree.treespec_dumps(tree)),
        values=values.items,
        inputs=[],
        outputs=[int(index) for index in outputs],
        chains=[Chain(inputs=[], outputs=[], instructions=[], stacktrace=None)],
        operators=[],
        delegates=[],
        non_const_buffer_sizes=[0],
    )


def emit_program(
    methods: ExportedProgram | Mapping[str, ExportedProgram],
    emit_stacktrace: bool = False,
    prim_getters: dict[str, Any] | None = None,
    emit_mutable_buffer_names: bool = False,
) -> EmitterOutput:
    """Turns methods, after memory planning, into one program.

    Arguments:
        methods: exported programs by method name; a single one becomes `forward`.
        emit_stacktrace: store with each instruction where in the model's source it comes from.
        prim_getters: constant methods: name -> value (tensors, numbers, strings, or containers of these).
        emit_mutable_buffer_names: store the fully qualified names of mutable buffers.
    """
    if isinstance(methods, ExportedProgram):
        methods = {"forward": methods}
    getters = prim_getters or {}
    if clash := sorted(set(methods) & set(getters)):
        raise ExportError(
            ExportErrorType.VIOLATION_OF_SPEC,
            f"{clash} are names of both methods and constant methods; rename one of each",
        )

    data = ProgramData()
    plans: list[ExecutionPlan] = []
    emitters: dict[str, MethodEmitter] = {}
    for name, program in sorted(methods.items()):
        emitter = emitters[name] = MethodEmitter(name, program, data, emit_stacktrace, emit_mutable_buffer_names)
        plans.append(emitter.emit())
    plans += [_emit_getter(name, value, data) for name, value in getters.items()]

    return EmitterOutput(
        program=Program(
            version=EXECUTORCH_SCHEMA_VERSION,
            execution_plan=plans,
            constant_buffer=data.constant_buffer,
            backend_delegate_data=data.delegate_data,
            # Serialisation moves constants and delegate data to segments.
            segments=[],
            constant_segment=SubsegmentOffsets(segment_index=0, offsets=[]),
            mutable_data_segments=None,
        ),
        debug_handle_map={name: emitter.debug_handles for name, emitter in emitters.items()},
        method_to_delegate_debug_id_map={name: emitter.delegate_debug_ids for name, emitter in emitters.items()},
        instruction_id_to_num_outs_map={name: emitter.num_outs for name, emitter in emitters.items()},
        mutable_data=data.mutable_data,
        external_constant_buffer=data.external_buffers,
        external_constant_map=data.external_map,
    )
