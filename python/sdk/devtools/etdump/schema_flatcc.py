# SPDX-License-Identifier: BSD-3-Clause
"""The schema of ETDumps as dataclasses, one for each flatbuffer table of a `.etdp`.

Times are ticks of the device's clock. -1 and None mean that an event lacks a field. An event inside a delegate is
identified by an integer or by a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sdk.exir.scalar_type import ScalarType

__all__ = [
    "AllocationEvent",
    "Allocator",
    "Bool",
    "DebugEvent",
    "Double",
    "ETDumpFlatCC",
    "Event",
    "Float",
    "Int",
    "Null",
    "ProfileEvent",
    "RunData",
    "ScalarType",
    "String",
    "Tensor",
    "TensorList",
    "Value",
    "ValueType",
]


@dataclass
class Null:
    """The value None."""


@dataclass
class Tensor:
    """A recorded tensor: strides in elements, and the offset of its first element in the debug buffer in bytes."""

    scalar_type: ScalarType
    sizes: list[int]
    strides: list[int]
    offset: int | None


@dataclass
class Int:
    """An integer of 64 bits."""

    int_val: int


@dataclass
class Bool:
    """A truth value."""

    bool_val: bool


@dataclass
class Float:
    """A floating-point number of 32 bits."""

    float_val: float


@dataclass
class Double:
    """A floating-point number of 64 bits."""

    double_val: float


@dataclass
class String:
    """A text, in UTF-8."""

    string_val: str


@dataclass
class TensorList:
    """Recorded tensors."""

    tensors: list[Tensor]


class ValueType(Enum):
    """Says which field of a `Value` is set."""

    NULL = "Null"
    INT = "Int"
    BOOL = "Bool"
    FLOAT = "Float"
    DOUBLE = "Double"
    TENSOR = "Tensor"
    TENSOR_LIST = "TensorList"
    STRING = "String"


@dataclass
class Value:
    """A recorded value. `output` says whether it is an output of the method."""

    val: str  # the text of a ValueType
    tensor: Tensor | None = None
    tensor_list: TensorList | None = None
    int_value: Int | None = None
    float_value: Float | None = None
    double_value: Double | None = None
    bool_value: Bool | None = None
    output: Bool | None = None


@dataclass
class DebugEvent:
    """A value that an instruction, or a delegate in an instruction, has computed."""

    name: str | None
    chain_index: int
    instruction_id: int
    delegate_debug_id_int: int
    delegate_debug_id_str: str | None
    debug_entry: Value


@dataclass
class AllocationEvent:
    """An allocation of `allocation_size` bytes by allocator `allocator_id` of the run."""

    allocator_id: int
    allocation_size: int


@dataclass
class ProfileEvent:
    """An interval of time: an instruction, a method, or an operator inside a delegate."""

    name: str | None
    chain_index: int
    instruction_id: int
    delegate_debug_id_int: int
    delegate_debug_id_str: str | None
    delegate_debug_metadata: bytes | None
    start_time: int
    end_time: int


@dataclass
class Event:
    """Exactly one field is set."""

    profile_event: ProfileEvent | None = None
    allocation_event: AllocationEvent | None = None
    debug_event: DebugEvent | None = None


@dataclass
class Allocator:
    """The name of an allocator, to which events refer by its index."""

    name: str


@dataclass
class RunData:
    """The events of a run of a method (`Execute`), or of the time before it (`Default`).

    `inputs_digest` identifies the inputs of a run that records values; 0 if they are not known.
    """

    name: str
    bundled_input_index: int
    allocators: list[Allocator] | None
    events: list[Event] | None
    inputs_digest: int = 0


@dataclass
class ETDumpFlatCC:
    """The root table of an ETDump: its runs in order."""

    version: int
    run_data: list[RunData]
