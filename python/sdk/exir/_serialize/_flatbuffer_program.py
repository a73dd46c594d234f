# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the program schema (identifier ET12): field names and types in the order of their ids."""

from __future__ import annotations

from functools import lru_cache

from sdk.exir import schema
from sdk.exir._serialize._flatbuffer import (
    BOOL,
    BYTE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    UBYTE,
    UINT,
    ULONG,
    Bytes,
    Enum,
    FlatbufferResult,
    Reserved,
    Table,
    Union,
    Vector,
    read_root,
    write_root,
)
from sdk.exir._serialize.padding import check_power_of_two
from sdk.exir.schema import CompileSpec
from sdk.exir.version import EXECUTORCH_SCHEMA_VERSION

PROGRAM_IDENTIFIER = b"ET12"

DATA_ALIGNMENT = 16
"""Alignment in bytes of inline constants and delegate data unless the caller asks for more."""

ALLOCATION_DETAILS = Table(schema.AllocationDetails, memory_id=UINT, memory_offset_low=UINT, memory_offset_high=UINT)
EXTRA_TENSOR_INFO = Table(
    schema.ExtraTensorInfo,
    mutable_data_segments_idx=ULONG,
    fully_qualified_name=STRING,
    location=Enum(schema.TensorDataLocation),
    device_type=Enum(schema.DeviceType),
    device_index=BYTE,
)
TENSOR = Table(
    schema.Tensor,
    scalar_type=Enum(schema.ScalarType),
    storage_offset=INT,
    sizes=Vector(INT),
    dim_order=Vector(UBYTE),
    requires_grad=BOOL,
    data_buffer_idx=UINT,
    allocation_info=ALLOCATION_DETAILS,
    layout=BYTE,
    shape_dynamism=Enum(schema.TensorShapeDynamism),
    extra_tensor_info=EXTRA_TENSOR_INFO,
)
KERNEL_TYPES = Union(
    {
        1: Table(schema.Null),
        2: Table(schema.Int, int_val=LONG),
        3: Table(schema.Bool, bool_val=BOOL),
        4: Table(schema.Double, double_val=DOUBLE),
        5: TENSOR,
        6: Table(schema.String, string_val=STRING),
        7: Table(schema.IntList, items=Vector(LONG)),
        8: Table(schema.DoubleList, items=Vector(DOUBLE)),
        9: Table(schema.BoolList, items=Vector(BOOL)),
        10: Table(schema.TensorList, items=Vector(INT)),
        11: Table(schema.OptionalTensorList, items=Vector(INT)),
    }
)
INSTRUCTION_ARGUMENTS = Union(
    {
        1: Table(schema.KernelCall, op_index=INT, args=Vector(INT)),
        2: Table(schema.DelegateCall, delegate_index=INT, args=Vector(INT)),
        3: Table(schema.MoveCall, move_from=INT, move_to=INT),
        4: Table(schema.JumpFalseCall, cond_value_index=INT, destination_instruction=INT),
        5: Table(schema.FreeCall, value_index=INT),
    }
)
FRAME = Table(schema.Frame, filename=STRING, lineno=INT, name=STRING, context=STRING)
CHAIN = Table(
    schema.Chain,
    inputs=Vector(INT),
    outputs=Vector(INT),
    instructions=Vector(Table(schema.Instruction, instr_args=INSTRUCTION_ARGUMENTS)),
    stacktrace=Vector(Table(schema.FrameList, items=Vector(FRAME))),
)
BACKEND_DELEGATE = Table(
    schema.BackendDelegate,
    id=STRING,
    processed=Table(schema.BackendDelegateDataReference, location=Enum(schema.DataLocation), index=UINT),
    compile_specs=Vector(Table(CompileSpec, key=STRING, value=Bytes())),
)
EXECUTION_PLAN = Table(
    schema.ExecutionPlan,
    name=STRING,
    container_meta_type=Table(schema.ContainerMetadata, encoded_inp_str=STRING, encoded_out_str=STRING),
    values=Vector(Table(schema.EValue, val=KERNEL_TYPES)),
    inputs=Vector(INT),
    outputs=Vector(INT),
    chains=Vector(CHAIN),
    operators=Vector(Table(schema.Operator, name=STRING, overload=STRING)),
    delegates=Vector(BACKEND_DELEGATE),
    non_const_buffer_sizes=Vector(LONG),
    non_const_buffer_device=Vector(
        Table(schema.NonConstBufferDevice, buffer_idx=INT, device_type=Enum(schema.DeviceType), device_index=BYTE)
    ),
    for_executorch=Reserved(6),
    dynamic_sizes=Vector(INT),
    shared_buffer=UINT,
)
SUBSEGMENT_OFFSETS = Table(schema.SubsegmentOffsets, segment_index=UINT, offsets=Vector(ULONG))


@lru_cache(maxsize=8)
def program_table(constant_alignment: int = DATA_ALIGNMENT, delegate_alignment: int = DATA_ALIGNMENT) -> Table:
    """The root table, with the given alignments in bytes of inline constants and inline delegate data."""
    return Table(
        schema.Program,
        version=UINT,
        execution_plan=Vector(EXECUTION_PLAN),
        constant_buffer=Vector(Table(schema.Buffer, storage=Bytes(constant_alignment))),
        backend_delegate_data=Vector(Table(schema.BackendDelegateInlineData, data=Bytes(delegate_alignment))),
        segments=Vector(Table(schema.DataSegment, offset=ULONG, size=ULONG)),
        constant_segment=SUBSEGMENT_OFFSETS,
        mutable_data_segments=Vector(SUBSEGMENT_OFFSETS),
        named_data=Vector(Table(schema.NamedData, key=STRING, segment_index=UINT)),
    )


def _program_to_flatbuffer(
    program: schema.Program,
    *,
    constant_tensor_alignment: int | None = None,
    delegate_alignment: int | None = None,
) -> FlatbufferResult:
    """Serialises a program including its inline data. Alignments are powers of two, in bytes."""
    alignments = []
    for name, alignment in (
        ("constant_tensor_alignment", constant_tensor_alignment),
        ("delegate_alignment", delegate_alignment),
    ):
        alignments.append(DATA_ALIGNMENT if alignment is None else check_power_of_two(name, alignment))
    return write_root(program_table(*alignments), program, PROGRAM_IDENTIFIER, max(DATA_ALIGNMENT, *alignments))


def _flatbuffer_to_program(program_data: bytes | memoryview) -> schema.Program:
    """The program in `program_data`, without its segments. Raises `FlatbufferError` for anything that is not valid."""
    return read_root(program_table(), program_data, PROGRAM_IDENTIFIER, newest=EXECUTORCH_SCHEMA_VERSION)
