# SPDX-License-Identifier: BSD-3-Clause
"""The TOSA file, as the schema of TOSA 1.0 (tosa.fbs, which is part of tosa-tools) declares it."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from enum import IntEnum
from typing import Any

from sdk.exir._serialize._flatbuffer import BOOL, INT, STRING, UINT, Bytes, Scalar, Table, Union, Vector

IDENTIFIER = b"TOSA"
_ALIGNMENT = 8


class DType(IntEnum):
    """Types of elements."""

    BOOL = 1
    INT4 = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT48 = 6
    FP32 = 7
    FP16 = 8
    BF16 = 9
    SHAPE = 10


class ResizeMode(IntEnum):
    """How RESIZE interpolates."""

    NEAREST = 1
    BILINEAR = 2


class NanMode(IntEnum):
    """How an operator treats NaN."""

    PROPAGATE = 1
    IGNORE = 2


class RoundingMode(IntEnum):
    """How RESCALE rounds."""

    SINGLE_ROUND = 1
    INEXACT_ROUND = 2
    DOUBLE_ROUND = 3


_INTS = Vector(INT)
_BYTES = Bytes(_ALIGNMENT)
_CONVOLUTION = {"pad": _INTS, "stride": _INTS, "dilation": _INTS, "local_bound": BOOL, "acc_type": UINT}
_AXIS = {"axis": INT}
_AXIS_NAN = {"axis": INT, "nan_mode": UINT}

# In the order of the schema's enumeration `Op`, which starts at 1, and of its union of attributes.
_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "ARGMAX": _AXIS_NAN,
    "AVG_POOL2D": {"kernel": _INTS, "stride": _INTS, "pad": _INTS, "acc_type": UINT},
    "CONV2D": _CONVOLUTION,
    "CONV3D": _CONVOLUTION,
    "DEPTHWISE_CONV2D": _CONVOLUTION,
    "FFT2D": {"inverse": BOOL, "local_bound": BOOL},
    "MATMUL": {},
    "MAX_POOL2D": {"kernel": _INTS, "stride": _INTS, "pad": _INTS, "nan_mode": UINT},
    "RFFT2D": {"local_bound": BOOL},
    "TRANSPOSE_CONV2D": {"out_pad": _INTS, "stride": _INTS, "local_bound": BOOL, "acc_type": UINT},
    "CLAMP": {"min_val": _BYTES, "max_val": _BYTES, "nan_mode": UINT},
    "ERF": {},
    "SIGMOID": {},
    "TANH": {},
    "ADD": {},
    "ARITHMETIC_RIGHT_SHIFT": {"round": BOOL},
    "BITWISE_AND": {},
    "BITWISE_OR": {},
    "BITWISE_XOR": {},
    "INTDIV": {},
    "LOGICAL_AND": {},
    "LOGICAL_LEFT_SHIFT": {},
    "LOGICAL_RIGHT_SHIFT": {},
    "LOGICAL_OR": {},
    "LOGICAL_XOR": {},
    "MAXIMUM": {"nan_mode": UINT},
    "MINIMUM": {"nan_mode": UINT},
    "MUL": {},
    "POW": {},
    "SUB": {},
    "TABLE": {},
    "ABS": {},
    "BITWISE_NOT": {},
    "CEIL": {},
    "CLZ": {},
    "COS": {},
    "EXP": {},
    "FLOOR": {},
    "LOG": {},
    "LOGICAL_NOT": {},
    "NEGATE": {},
    "RECIPROCAL": {},
    "RSQRT": {},
    "SIN": {},
    "SELECT": {},
    "EQUAL": {},
    "GREATER": {},
    "GREATER_EQUAL": {},
    "REDUCE_ALL": _AXIS,
    "REDUCE_ANY": _AXIS,
    "REDUCE_MAX": _AXIS_NAN,
    "REDUCE_MIN": _AXIS_NAN,
    "REDUCE_PRODUCT": _AXIS,
    "REDUCE_SUM": _AXIS,
    "CONCAT": _AXIS,
    "PAD": {},
    "RESHAPE": {},
    "REVERSE": _AXIS,
    "SLICE": {},
    "TILE": {},
    "TRANSPOSE": {"perms": _INTS},
    "GATHER": {},
    "SCATTER": {},
    "RESIZE": {"mode": UINT},
    "CAST": {},
    "RESCALE": {
        "scale32": BOOL,
        "rounding_mode": UINT,
        "per_channel": BOOL,
        "input_unsigned": BOOL,
        "output_unsigned": BOOL,
    },
    "CONST": {},
    "IDENTITY": {},
    "CUSTOM": {"operator_name": STRING, "domain_name": STRING, "implementation_attrs": _BYTES},
    "COND_IF": {"then_graph": STRING, "else_graph": STRING},
    "WHILE_LOOP": {"cond_graph": STRING, "body_graph": STRING},
    "VARIABLE": {},
    "VARIABLE_WRITE": {},
    "VARIABLE_READ": {},
    "CONST_SHAPE": {},
}

Op = IntEnum("Op", list(_ATTRIBUTES))  # type: ignore[misc]

ATTRIBUTES: dict[str, type] = {
    name: make_dataclass(f"{name}_Attribute", [(each, Any, field(default=None)) for each in fields])
    for name, fields in _ATTRIBUTES.items()
}
"""The class of the attributes of each operator."""


@dataclass
class TosaTensor:
    """`data` has the elements of a constant, little-endian."""

    name: str
    shape: list[int]
    type: int
    data: bytes | None = None


@dataclass
class TosaShape:
    """A constant shape operand: `data` has `rank` int64 numbers."""

    name: str
    rank: int
    data: bytes | None = None


@dataclass
class OpLocation:
    """The node of the model that an operator computes, for tools."""

    text: str


@dataclass
class TosaOperator:
    """`op` is a value of `Op`, `attribute` of the class that `ATTRIBUTES` has for it."""

    op: int
    attribute: Any
    inputs: list[str]
    outputs: list[str]
    location: OpLocation | None = None


@dataclass
class TosaBlock:
    """Operators in the order of execution; the inputs and outputs are names of tensors."""

    name: str
    operators: list[TosaOperator]
    tensors: list[TosaTensor]
    inputs: list[str]
    outputs: list[str]
    shapes: list[TosaShape]


@dataclass
class TosaRegion:
    """A list of blocks."""

    name: str
    blocks: list[TosaBlock]


@dataclass
class Version:
    """The release of TOSA that the file is for."""

    major: int
    minor: int
    patch: int
    draft: bool


@dataclass
class TosaFile:
    """The root of a file."""

    version: Version
    regions: list[TosaRegion]


_NUMBER = Scalar("i", "int32", -1)  # absent means -1
_TENSOR = Table(TosaTensor, name=STRING, shape=_INTS, type=UINT, data=_BYTES)
_SHAPE = Table(TosaShape, name=STRING, rank=UINT, data=_BYTES)
_ATTRIBUTE = Union({Op[name].value: Table(ATTRIBUTES[name], **fields) for name, fields in _ATTRIBUTES.items()})
_NAMES = Vector(STRING)  # type: ignore[arg-type]
_OPERATOR = Table(
    TosaOperator,
    op=UINT,
    attribute=_ATTRIBUTE,
    inputs=_NAMES,
    outputs=_NAMES,
    location=Table(OpLocation, text=STRING),
)
_BLOCK = Table(
    TosaBlock,
    name=STRING,
    operators=Vector(_OPERATOR),
    tensors=Vector(_TENSOR),
    inputs=_NAMES,
    outputs=_NAMES,
    shapes=Vector(_SHAPE),
)
TOSA_FILE = Table(
    TosaFile,
    version=Table(Version, major=_NUMBER, minor=_NUMBER, patch=_NUMBER, draft=Scalar("?", "bool", True)),
    regions=Vector(Table(TosaRegion, name=STRING, blocks=Vector(_BLOCK))),
)
"""For `read_root` and `write_root`."""
