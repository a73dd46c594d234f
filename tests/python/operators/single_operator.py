# SPDX-License-Identifier: BSD-3-Clause
"""Programs of one operator, built without an export: the call of an out variant becomes one instruction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sdk.exir._serialize import _PTEFile, _serialize_pte_binary
from sdk.exir.emit._values import Ref, Values
from sdk.exir.schema import (
    AllocationDetails,
    Buffer,
    Chain,
    ContainerMetadata,
    ExecutionPlan,
    Instruction,
    KernelCall,
    Operator,
    Program,
    SubsegmentOffsets,
    Tensor,
    TensorList,
    TensorShapeDynamism,
)
from sdk.exir.tensor import scalar_type_enum
from sdk.exir.version import EXECUTORCH_SCHEMA_VERSION
from sdk.runtime import Runtime

_ALIGNMENT = 16


@dataclass(frozen=True)
class OutputSpec:
    """A result of the operator. The program reserves one element more in each dimension, so that the test fails if a
    kernel does not resize its output."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]

    @staticmethod
    def like(tensor: torch.Tensor) -> OutputSpec:
        return OutputSpec(tensor.dtype, tuple(tensor.shape), dim_order_of(tensor))


def dim_order_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Returns channels last for a tensor that is contiguous only in that format, else row-major."""
    if tensor.is_contiguous():
        return tuple(range(tensor.dim()))
    for rank, memory_format in ((4, torch.channels_last), (5, torch.channels_last_3d)):
        if tensor.dim() == rank and tensor.is_contiguous(memory_format=memory_format):
            return (0, *range(2, rank), 1)
    return tuple(range(tensor.dim()))


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Copies a tensor to a layout that a program's input can have: row-major, or channels last if it has that
    layout."""
    tensor = tensor.resolve_conj().resolve_neg()
    if dim_order_of(tensor) != tuple(range(tensor.dim())):
        return tensor.detach().clone(memory_format=torch.preserve_format)
    return tensor.detach().clone(memory_format=torch.contiguous_format)


class _Builder:
    def __init__(self) -> None:
        self.values = Values()
        self.inputs: list[torch.Tensor] = []
        self.input_refs: list[Ref] = []
        self.arena = 0

    def input(self, tensor: torch.Tensor) -> Ref:
        value = _tensor_value(tensor.dtype, tuple(tensor.shape), dim_order_of(tensor), None)
        self.inputs.append(dense(tensor))
        self.input_refs.append(self.values.add(value))
        return self.input_refs[-1]

    def output(self, spec: OutputSpec) -> Ref:
        shape = tuple(size + 1 for size in spec.shape)
        place = AllocationDetails(1, self.arena, 0)
        value = _tensor_value(spec.dtype, shape, spec.dim_order, place)
        value.shape_dynamism = TensorShapeDynamism.DYNAMIC_BOUND
        self.arena += -(-math.prod(shape) * spec.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        return self.values.add(value)

    def argument(self, value: Any, kind: torch._C.JitType) -> Ref:
        if isinstance(value, torch.Tensor):
            return self.input(value)
        if isinstance(value, (list, tuple)):
            value = [self.input(item) if isinstance(item, torch.Tensor) else item for item in value]
        elif isinstance(kind, torch._C.ListType) and value is not None:
            value = [value]  # `int[2]` takes one number for all
        return self.values.literal(value, kind)


def _tensor_value(
    dtype: torch.dtype, shape: tuple[int, ...], dim_order: tuple[int, ...], place: AllocationDetails | None
) -> Tensor:
    return Tensor(
        scalar_type=scalar_type_enum(dtype),
        storage_offset=0,
        sizes=list(shape),
        dim_order=list(dim_order),
        requires_grad=False,
        layout=0,
        data_buffer_idx=0,
        allocation_info=place,
        shape_dynamism=TensorShapeDynamism.STATIC,
    )


def written_in_place(operator: torch._ops.OpOverload) -> list[str]:
    """The arguments that an operator writes to although they are inputs."""
    return [
        argument.name
        for argument in operator._schema.arguments
        if not argument.is_out and argument.alias_info is not None and argument.alias_info.is_write
    ]


@dataclass(frozen=True)
class SingleOperator:
    """A program of one call: its bytes, its inputs, and the places of arguments among the inputs."""

    data: bytes
    inputs: list[torch.Tensor]
    places: Mapping[str, int]


def build(
    operator: torch._ops.OpOverload, arguments: Mapping[str, Any], outputs: Sequence[OutputSpec]
) -> SingleOperator:
    """Builds the program of an out variant, or of an operator that works in place. An out argument that is a list takes
    all `outputs`, others one each."""
    builder = _Builder()
    schema = operator._schema
    remaining = [builder.output(spec) for spec in outputs]
    output_refs = list(remaining)
    args: list[Ref] = []
    outs: list[Ref] = []
    places: dict[str, int] = {}
    for argument in schema.arguments:
        if not argument.is_out:
            places[argument.name] = len(builder.inputs)
            value = arguments.get(argument.name, argument.default_value if argument.has_default_value() else None)
            args.append(builder.argument(value, argument.type))
        elif isinstance(argument.type, torch._C.ListType):
            outs.append(builder.values.share(TensorList([int(ref) for ref in remaining])))
            args.append(outs[-1])
        else:
            outs.append(remaining.pop(0))
            args.append(outs[-1])
    if not outs:
        args.append(args[0])  # an in-place operator returns its first argument
    else:
        args.append(outs[0] if len(outs) == 1 else builder.values.share(TensorList([int(ref) for ref in outs])))
    return SingleOperator(_serialized(operator, builder, args, output_refs), builder.inputs, places)


def _serialized(
    operator: torch._ops.OpOverload, builder: _Builder, args: Sequence[Ref], outputs: Sequence[Ref]
) -> bytes:
    plan = ExecutionPlan(
        name="forward",
        container_meta_type=ContainerMetadata("", ""),
        values=builder.values.items,
        inputs=[int(ref) for ref in builder.input_refs],
        outputs=[int(ref) for ref in outputs],
        chains=[Chain([], [], [Instruction(KernelCall(0, [int(arg) for arg in args]))], None)],
        operators=[Operator(operator._schema.name, operator._schema.overload_name)],
        delegates=[],
        non_const_buffer_sizes=[0, max(builder.arena, _ALIGNMENT)],
    )
    program = Program(
        version=EXECUTORCH_SCHEMA_VERSION,
        execution_plan=[plan],
        constant_buffer=[Buffer(b"")],
        backend_delegate_data=[],
        segments=[],
        constant_segment=SubsegmentOffsets(segment_index=0, offsets=[]),
    )
    return bytes(_serialize_pte_binary(_PTEFile(program)))


def run(
    operator: torch._ops.OpOverload, arguments: Mapping[str, Any], outputs: Sequence[OutputSpec]
) -> list[torch.Tensor]:
    """Calls an operator in the runtime (see `build`) and returns what it wrote: its outputs, and then the arguments
    that it writes in place. Raises ExecuTorchError if the runtime or the kernel refuses."""
    call = build(operator, arguments, outputs)
    results = list(Runtime.get().load_program(call.data).load_method("forward").execute(call.inputs))
    return results + [call.inputs[call.places[name]] for name in written_in_place(operator)]
