# SPDX-License-Identifier: BSD-3-Clause
"""The tables of LiteRT's model format, version 3 (the public schema.fbs), that graphs for Neutron use."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from sdk.exir._serialize._flatbuffer import (
    BOOL,
    BYTE,
    INT,
    LONG,
    STRING,
    UINT,
    Bytes,
    Reserved,
    Scalar,
    Table,
    Union,
    Vector,
    read_root,
    write_root,
)

IDENTIFIER: Final = b"TFL3"
VERSION: Final = 3

_FLOAT = Scalar("f", "float32", 0.0)


class Code(IntEnum):
    """The operators, by their numbers."""

    ADD = 0
    AVERAGE_POOL_2D = 1
    CONCATENATION = 2
    CONV_2D = 3
    DEPTHWISE_CONV_2D = 4
    FULLY_CONNECTED = 9
    LOGISTIC = 14
    MAX_POOL_2D = 17
    MUL = 18
    RELU = 19
    RELU_N1_TO_1 = 20
    RELU6 = 21
    RESHAPE = 22
    RESIZE_BILINEAR = 23
    SOFTMAX = 25
    TANH = 28
    CUSTOM = 32
    PAD = 34
    TRANSPOSE = 39
    MEAN = 40
    SUB = 41
    EXP = 47
    PRELU = 54
    MAXIMUM = 55
    MINIMUM = 57
    PADV2 = 60
    SLICE = 65
    TRANSPOSE_CONV = 67
    LOG = 73
    SUM = 74
    REDUCE_MAX = 82
    REDUCE_MIN = 89
    RESIZE_NEAREST_NEIGHBOR = 97
    LEAKY_RELU = 98
    ABS = 101
    QUANTIZE = 114
    BATCH_MATMUL = 126
    RELU_0_TO_1 = 152


class Padding(IntEnum):
    """How windows treat the borders of images."""

    SAME = 0
    VALID = 1


ACTIVATIONS: Final = {None: 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}
"""The numbers of the activation functions that other operators can include."""


@dataclass
class Conv2DOptions:
    padding: int
    stride_w: int
    stride_h: int
    activation: int
    dilation_w: int
    dilation_h: int


@dataclass
class DepthwiseConv2DOptions:
    padding: int
    stride_w: int
    stride_h: int
    depth_multiplier: int
    activation: int
    dilation_w: int
    dilation_h: int


@dataclass
class Pool2DOptions:
    padding: int
    stride_w: int
    stride_h: int
    filter_w: int
    filter_h: int
    activation: int = 0


@dataclass
class FullyConnectedOptions:
    activation: int
    keep_num_dims: bool


@dataclass
class SoftmaxOptions:
    beta: float


@dataclass
class ConcatenationOptions:
    axis: int


@dataclass
class AddOptions:
    activation: int


@dataclass
class SubOptions:
    activation: int


@dataclass
class MulOptions:
    activation: int


@dataclass
class ReshapeOptions:
    new_shape: list[int]


@dataclass
class ReducerOptions:
    keep_dims: bool


@dataclass
class ResizeBilinearOptions:
    align_corners: bool
    half_pixel_centers: bool


@dataclass
class ResizeNearestNeighborOptions:
    align_corners: bool
    half_pixel_centers: bool


@dataclass
class TransposeConvOptions:
    padding: int
    stride_w: int
    stride_h: int


@dataclass
class LeakyReluOptions:
    alpha: float


@dataclass
class BatchMatMulOptions:
    adj_x: bool = False


_DILATION = Scalar("i", "int32", 1)

_OPTIONS = Union(
    {
        1: Table(
            Conv2DOptions,
            padding=BYTE, stride_w=INT, stride_h=INT, activation=BYTE, dilation_w=_DILATION, dilation_h=_DILATION,
        ),
        2: Table(
            DepthwiseConv2DOptions,
            padding=BYTE, stride_w=INT, stride_h=INT, depth_multiplier=INT, activation=BYTE, dilation_w=_DILATION,
            dilation_h=_DILATION,
        ),
        5: Table(
            Pool2DOptions, padding=BYTE, stride_w=INT, stride_h=INT, filter_w=INT, filter_h=INT, activation=BYTE
        ),
        8: Table(FullyConnectedOptions, activation=BYTE, weights_format=Reserved(1), keep_num_dims=BOOL),
        9: Table(SoftmaxOptions, beta=_FLOAT),
        10: Table(ConcatenationOptions, axis=INT),
        11: Table(AddOptions, activation=BYTE),
        15: Table(ResizeBilinearOptions, sizes=Reserved(2), align_corners=BOOL, half_pixel_centers=BOOL),
        17: Table(ReshapeOptions, new_shape=Vector(INT)),
        21: Table(MulOptions, activation=BYTE),
        27: Table(ReducerOptions, keep_dims=BOOL),
        28: Table(SubOptions, activation=BYTE),
        49: Table(TransposeConvOptions, padding=BYTE, stride_w=INT, stride_h=INT),
        74: Table(ResizeNearestNeighborOptions, align_corners=BOOL, half_pixel_centers=BOOL),
        75: Table(LeakyReluOptions, alpha=_FLOAT),
        101: Table(BatchMatMulOptions, adj_x=BOOL),
    }
)  # fmt: skip


@dataclass
class OperatorCode:
    """The operator of a call. `deprecated_code` is the operator's number if it is below 127, else 127."""

    deprecated_code: int
    custom_code: str | None
    version: int
    code: int


@dataclass
class QuantizationParameters:
    scale: list[float]
    zero_point: list[int]
    quantized_dimension: int


@dataclass
class Tensor:
    shape: list[int]
    type: int
    buffer: int
    name: str
    quantization: QuantizationParameters | None


@dataclass
class Operator:
    opcode_index: int
    inputs: list[int]
    outputs: list[int]
    options: Any = None


@dataclass
class SubGraph:
    tensors: list[Tensor]
    inputs: list[int]
    outputs: list[int]
    operators: list[Operator]
    name: str = "main"


@dataclass
class Buffer:
    """The bytes of a constant. The first buffer of a model is empty, for tensors without data."""

    data: bytes | None = None


@dataclass
class Model:
    version: int
    operator_codes: list[OperatorCode]
    subgraphs: list[SubGraph]
    description: str
    buffers: list[Buffer] = field(default_factory=list)


def _model(options: Union | Reserved) -> Table:
    quantization = Table(
        QuantizationParameters,
        limits=Reserved(2), scale=Vector(_FLOAT), zero_point=Vector(LONG), details=Reserved(2),
        quantized_dimension=INT,
    )  # fmt: skip
    tensor = Table(Tensor, shape=Vector(INT), type=BYTE, buffer=UINT, name=STRING, quantization=quantization)
    operator = Table(Operator, opcode_index=UINT, inputs=Vector(INT), outputs=Vector(INT), options=options)
    graph = Table(
        SubGraph,
        tensors=Vector(tensor), inputs=Vector(INT), outputs=Vector(INT), operators=Vector(operator), name=STRING,
    )  # fmt: skip
    code = Table(OperatorCode, deprecated_code=BYTE, custom_code=STRING, version=Scalar("i", "int32", 1), code=INT)
    return Table(
        Model,
        version=UINT, operator_codes=Vector(code), subgraphs=Vector(graph), description=STRING,
        buffers=Vector(Table(Buffer, data=Bytes(align=16))),
    )  # fmt: skip


_WRITTEN, _READ = _model(_OPTIONS), _model(Reserved(2))


def to_bytes(model: Model) -> bytes:
    """The file of a model."""
    return write_root(_WRITTEN, model, IDENTIFIER, 16).data


def from_bytes(data: bytes) -> Model:
    """The model in a file, without the options of its operators. Raises ValueError for a damaged file."""
    model: Model = read_root(_READ, data, IDENTIFIER)
    return model
