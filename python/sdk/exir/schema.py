# SPDX-License-Identifier: BSD-3-Clause
"""The program schema as dataclasses: one class for each flatbuffer table of a `.pte` file, fields in schema order.

`_serialize/_flatbuffer_program.py` maps these classes to bytes. A class may only gain fields at its end: readers find
fields by position.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from sdk.exir.scalar_type import ScalarType

__all__ = [
    "AllocationDetails",
    "BackendDelegate",
    "BackendDelegateDataReference",
    "BackendDelegateInlineData",
    "Bool",
    "BoolList",
    "Buffer",
    "Chain",
    "CompileSpec",
    "ContainerMetadata",
    "DataLocation",
    "DataSegment",
    "DelegateCall",
    "DeviceType",
    "Double",
    "DoubleList",
    "EValue",
    "ExecutionPlan",
    "ExtraTensorInfo",
    "Frame",
    "FrameList",
    "FreeCall",
    "Instruction",
    "InstructionArguments",
    "Int",
    "IntList",
    "JumpFalseCall",
    "KernelCall",
    "KernelTypes",
    "MoveCall",
    "NamedData",
    "NonConstBufferDevice",
    "Null",
    "Operator",
    "OptionalTensorList",
    "Program",
    "ScalarType",
    "String",
    "SubsegmentOffsets",
    "Tensor",
    "TensorDataLocation",
    "TensorList",
    "TensorShapeDynamism",
]


@dataclass
class AllocationDetails:
    """Where a planned tensor is stored: a memory id (>= 1) and a 64-bit byte offset in two halves."""

    memory_id: int
    memory_offset_low: int
    memory_offset_high: int

    @property
    def memory_offset(self) -> int:
        return self.memory_offset_low | (self.memory_offset_high << 32)


class TensorShapeDynamism(IntEnum):
    """Whether a tensor's sizes are fixed, bounded, or unbounded."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    """Where the data of a constant is: in a segment of the program, or in another file (`.ptd`)."""

    SEGMENT = 0
    EXTERNAL = 1


class DeviceType(IntEnum):
    """The kind of device that a buffer or tensor is on."""

    CPU = 0
    CUDA = 1


@dataclass
class ExtraTensorInfo:
    """Fields that only few tensors need; absent for all others."""

    mutable_data_segments_idx: int = 0
    fully_qualified_name: str | None = None
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass
class Tensor:
    """Sizes, layout and storage of a tensor.

    `data_buffer_idx` and `allocation_info` together say where the data is: (0, None) supplied by the caller, (>0, None)
    a constant, (0, set) planned, (>0, set) planned and initialised from the mutable data segment.
    """

    scalar_type: ScalarType
    storage_offset: int
    sizes: list[int]
    dim_order: list[int]
    requires_grad: bool
    layout: int
    data_buffer_idx: int
    allocation_info: AllocationDetails | None
    shape_dynamism: TensorShapeDynamism
    extra_tensor_info: ExtraTensorInfo | None = None


@dataclass
class Null:
    """The value None."""


@dataclass
class Int:
    """An integer of 64 bits; also dtypes, memory formats and devices as numbers."""

    int_val: int


@dataclass
class Bool:
    """A truth value."""

    bool_val: bool


@dataclass
class Double:
    """A double. Infinities are kept as the strings "inf" and "-inf", as ExecuTorch's JSON spells them."""

    double_val: float | str

    def __init__(self, double_val: float | str) -> None:
        if double_val == float("inf"):
            double_val = "inf"
        elif double_val == float("-inf"):
            double_val = "-inf"
        self.double_val = double_val


@dataclass
class String:
    """A text, in UTF-8."""

    string_val: str


@dataclass
class ContainerMetadata:
    """JSON text of the pytree specs of a method's inputs and outputs."""

    encoded_inp_str: str
    encoded_out_str: str


@dataclass
class IntList:
    """Integers by reference: each item is an index into `ExecutionPlan.values`."""

    items: list[int]


@dataclass
class DoubleList:
    """Floating-point numbers of 64 bits."""

    items: list[float]


@dataclass
class BoolList:
    """Truth values."""

    items: list[bool]


@dataclass
class TensorList:
    """Each item is an index into `ExecutionPlan.values`."""

    items: list[int]


@dataclass
class OptionalTensorList:
    """Each item is an index into `ExecutionPlan.values`, or -1 for None."""

    items: list[int]


KernelTypes = (
    Int | Double | Bool | String | Tensor | IntList | BoolList | DoubleList | TensorList | Null | OptionalTensorList
)


@dataclass
class EValue:
    """A value of a method: an entry of `ExecutionPlan.values`, to which instructions refer by its index."""

    val: KernelTypes


@dataclass
class Buffer:
    """The bytes of a constant inside the flatbuffer; entry 0 of `Program.constant_buffer` is empty."""

    storage: bytes


@dataclass
class BackendDelegateInlineData:
    """The payload of a delegate inside the flatbuffer."""

    data: bytes


class DataLocation(IntEnum):
    """Where the payload of a delegate is: in the flatbuffer, or in a segment."""

    INLINE = 0
    SEGMENT = 1


@dataclass
class BackendDelegateDataReference:
    """INLINE: `index` into `Program.backend_delegate_data`; SEGMENT: into `Program.segments`."""

    location: DataLocation
    index: int


@dataclass
class CompileSpec:
    """An option for a backend: a key with an opaque value. Backends define their own keys."""

    key: str
    value: bytes


@dataclass
class BackendDelegate:
    """A part of a method that the backend `id` runs: its payload, and the options it was compiled with."""

    id: str
    processed: BackendDelegateDataReference
    compile_specs: list[CompileSpec]


@dataclass
class Operator:
    """`name` is `namespace::operator`; `overload` may be empty."""

    name: str
    overload: str


@dataclass
class KernelCall:
    """Calls operator `op_index` of the method. `args` are indices of values; the last ones are the outputs."""

    op_index: int
    args: list[int]


@dataclass
class DelegateCall:
    """Runs delegate `delegate_index` of the method. `args` are indices of values: the inputs, then the outputs."""

    delegate_index: int
    args: list[int]


@dataclass
class MoveCall:
    """Assigns the value at index `move_from` to the value at index `move_to`."""

    move_from: int
    move_to: int


@dataclass
class JumpFalseCall:
    """Jumps to instruction `destination_instruction` of the chain if the value at `cond_value_index` is false."""

    cond_value_index: int
    destination_instruction: int


@dataclass
class FreeCall:
    """Releases the memory of the tensor at index `value_index`, which the memory plan does not contain."""

    value_index: int


InstructionArguments = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@dataclass
class Instruction:
    """One step of a chain."""

    instr_args: InstructionArguments


@dataclass
class Frame:
    """One call of a stack trace of the Python code that an instruction comes from; `lineno` counts from 1."""

    filename: str
    lineno: int
    name: str
    context: str


@dataclass
class FrameList:
    """A stack trace, outermost call first."""

    items: list[Frame]


@dataclass
class Chain:
    """Instructions in order; `stacktrace`, if present, has one entry for each instruction."""

    inputs: list[int]
    outputs: list[int]
    instructions: list[Instruction]
    stacktrace: list[FrameList] | None


@dataclass
class NonConstBufferDevice:
    """The device of planned buffer `buffer_idx`; a buffer that is not listed is on the CPU."""

    buffer_idx: int = 0
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass
class ExecutionPlan:
    """One method. `non_const_buffer_sizes[i]`: bytes of the arena with memory id i; entry 0 is a reserved 0.

    The last two fields are this SDK's; ExecuTorch skips them. `dynamic_sizes` describes the dynamic dimensions of the
    inputs in six numbers each: input, dimension, least size, factor, offset, first. The size is factor * n + offset;
    dimensions with the same n have the same `first`, the index of the first of them. None: the sizes are not known.
    `shared_buffer` is the memory id of the state that methods share; 0 without such state.
    """

    name: str
    container_meta_type: ContainerMetadata
    values: list[EValue]
    inputs: list[int]
    outputs: list[int]
    chains: list[Chain]
    operators: list[Operator]
    delegates: list[BackendDelegate]
    non_const_buffer_sizes: list[int]
    non_const_buffer_device: list[NonConstBufferDevice] | None = None
    dynamic_sizes: list[int] | None = None
    shared_buffer: int = 0


@dataclass
class DataSegment:
    """`offset` is relative to the segment base offset of the file's extended header."""

    offset: int
    size: int


@dataclass
class SubsegmentOffsets:
    """Starts of the pieces inside segment `segment_index`; entry 0 is a placeholder."""

    segment_index: int
    offsets: list[int]


@dataclass
class NamedData:
    """Data of segment `segment_index` that backends and kernels look up by its key."""

    key: str
    segment_index: int


@dataclass
class Program:
    """The root table of a `.pte`: its methods (`execution_plan`) and where constants and payloads are."""

    version: int
    execution_plan: list[ExecutionPlan]
    constant_buffer: list[Buffer]
    backend_delegate_data: list[BackendDelegateInlineData]
    segments: list[DataSegment]
    constant_segment: SubsegmentOffsets
    mutable_data_segments: list[SubsegmentOffsets] | None = None
    named_data: list[NamedData] | None = None
