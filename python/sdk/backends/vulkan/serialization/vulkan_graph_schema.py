# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a payload, as backends/vulkan/serialization/vulkan_graph.fbs declares it. Ids are positions in
`VkGraph.values`. The order of the fields and the numbers of the enumerations are ExecuTorch's."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from sdk.exir._serialize._flatbuffer import (
    BOOL,
    DOUBLE,
    INT,
    LONG,
    STRING,
    UINT,
    ULONG,
    Enum,
    Table,
    Union,
    Vector,
)

NO_CONSTANT = -1
"""`VkTensor.constant_id` of a tensor that is computed or passed in."""

OWN_MEMORY = -1
"""`VkTensor.mem_obj_id` of a tensor that shares its memory with no other."""

NAMED = 2**64 - 1
"""`VkBytes.offset` of bytes that are named data of the program."""


class VkDataType(IntEnum):
    """Types of elements."""

    BOOL = 0
    UINT8 = 1
    INT8 = 2
    INT32 = 3
    FLOAT16 = 4
    FLOAT32 = 5
    FLOAT64 = 6
    INT64 = 7
    UNSET = 127


class VkStorageType(IntEnum):
    """The storage of a tensor on the GPU."""

    BUFFER = 0
    TEXTURE_3D = 1
    TEXTURE_2D = 2
    DEFAULT_STORAGE = 255


class VkMemoryLayout(IntEnum):
    """The dimension along which four elements are packed, and the blocks of int8 tensors."""

    TENSOR_WIDTH_PACKED = 0
    TENSOR_HEIGHT_PACKED = 1
    TENSOR_CHANNELS_PACKED = 2
    PACKED_INT8_4W4C = 3
    PACKED_INT8_4H4W = 4
    PACKED_INT8_4W = 5
    PACKED_INT8_4C = 6
    PACKED_INT8_4C1W = 8
    PACKED_INT8_CONV2D = 9
    DEFAULT_LAYOUT = 255


@dataclass
class OperatorCall:
    """`args` are the ids of the arguments, in the order of the operator's schema, followed by the id of the result;
    several results form one ValueList. `node_id` is the identifier in the debug handle map."""

    node_id: int
    name: str
    args: list[int]


@dataclass
class VkTensor:
    """`dims` are the largest sizes. A constant's bytes have the type `datatype`; inputs and outputs are copied to and
    from tensors of the program through a buffer of `staging_datatype`. Tensors with the same `mem_obj_id` share
    memory."""

    datatype: VkDataType
    dims: list[int]
    constant_id: int = NO_CONSTANT
    mem_obj_id: int = OWN_MEMORY
    storage_type: VkStorageType = VkStorageType.DEFAULT_STORAGE
    memory_layout: VkMemoryLayout = VkMemoryLayout.DEFAULT_LAYOUT
    staging_datatype: VkDataType = VkDataType.UNSET


@dataclass
class Null:
    """None."""


@dataclass
class Int:
    int_val: int


@dataclass
class Bool:
    bool_val: bool


@dataclass
class Double:
    double_val: float


@dataclass
class String:
    string_val: str


@dataclass
class IntList:
    items: list[int]


@dataclass
class DoubleList:
    items: list[float]


@dataclass
class BoolList:
    items: list[bool]


@dataclass
class ValueList:
    """A list of values, by id: tensors, or integers of which some are symbolic."""

    items: list[int]


@dataclass
class SymInt:
    """An integer that is known when the program runs."""

    value: int = 0


@dataclass
class VkValue:
    value: Any


@dataclass
class VkBytes:
    """Bytes after the graph, or named data of the program if `named_key` is set and `offset` is `NAMED`."""

    offset: int
    length: int
    named_key: str | None = None


@dataclass
class VkGraph:
    """`VkTensor.constant_id` is an index into `constants`. The overrides apply to tensors without a storage type or
    memory layout."""

    version: str
    chain: list[OperatorCall] = field(default_factory=list)
    values: list[VkValue] = field(default_factory=list)
    input_ids: list[int] = field(default_factory=list)
    output_ids: list[int] = field(default_factory=list)
    constants: list[VkBytes] = field(default_factory=list)
    shaders: list[VkBytes] = field(default_factory=list)
    storage_type_override: VkStorageType = VkStorageType.DEFAULT_STORAGE
    memory_layout_override: VkMemoryLayout = VkMemoryLayout.DEFAULT_LAYOUT


_STORAGE = Enum(VkStorageType, "B", VkStorageType.DEFAULT_STORAGE)
_LAYOUT = Enum(VkMemoryLayout, "B", VkMemoryLayout.DEFAULT_LAYOUT)
_BYTES = Table(VkBytes, offset=ULONG, length=ULONG, named_key=STRING)
_TENSOR = Table(
    VkTensor,
    datatype=Enum(VkDataType),
    dims=Vector(UINT),
    constant_id=INT,
    mem_obj_id=INT,
    storage_type=_STORAGE,
    memory_layout=_LAYOUT,
    staging_datatype=Enum(VkDataType, default=VkDataType.UNSET),
)
_VALUE = Table(
    VkValue,
    value=Union(
        {
            1: Table(Null),
            2: Table(Int, int_val=LONG),
            3: Table(Double, double_val=DOUBLE),
            4: Table(Bool, bool_val=BOOL),
            5: _TENSOR,
            6: Table(IntList, items=Vector(LONG)),
            7: Table(DoubleList, items=Vector(DOUBLE)),
            8: Table(BoolList, items=Vector(BOOL)),
            9: Table(ValueList, items=Vector(INT)),
            10: Table(String, string_val=STRING),
            11: Table(SymInt, value=INT),
        }
    ),
)
GRAPH = Table(
    VkGraph,
    version=STRING,
    chain=Vector(Table(OperatorCall, node_id=UINT, name=STRING, args=Vector(INT))),
    values=Vector(_VALUE),
    input_ids=Vector(UINT),
    output_ids=Vector(UINT),
    constants=Vector(_BYTES),
    shaders=Vector(_BYTES),
    storage_type_override=_STORAGE,
    memory_layout_override=_LAYOUT,
)
