# SPDX-License-Identifier: BSD-3-Clause
"""The values of a payload's graph: tensors and their quantisation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from sdk.exir._serialize._flatbuffer import INT, STRING, UINT, ULONG, Scalar, Table, Union, Vector

SHORT = Scalar("h", "int16")
FLOAT = Scalar("f", "float32", 0.0)

NO_VALUE = 0xFFFFFFFF


class XNNDatatype(IntEnum):
    """Types of elements, numbered as in the format."""

    xnn_datatype_invalid = 0
    xnn_datatype_fp32 = 1
    xnn_datatype_fp16 = 2
    xnn_datatype_qint8 = 3
    xnn_datatype_qcint8 = 6
    xnn_datatype_qcint32 = 7
    xnn_datatype_qcint4 = 8
    xnn_datatype_qdint8 = 9
    xnn_datatype_qbint4 = 10
    xnn_datatype_bool = 64
    xnn_datatype_int64 = 65


class ValueFlag(IntEnum):
    """Whether a value is an input or an output of the delegate."""

    NONE = 0
    EXTERNAL_INPUT = 1
    EXTERNAL_OUTPUT = 2


@dataclass
class ConstantDataOffset:
    """The location of a constant: the program's named data under `named_key`, otherwise the payload."""

    offset: int = 0
    size: int = 0
    named_key: str | None = None


@dataclass
class XNNTensorValue:
    """A tensor. `constant_buffer_idx` is the index, counted from 1, of an entry of `XNNGraph.constant_data`; 0 if the
    tensor is not a constant."""

    datatype: int
    num_dims: int
    dims: list[int]
    constant_buffer_idx: int = 0
    external_id: int = NO_VALUE
    flags: int = ValueFlag.NONE
    id_out: int = 0


@dataclass
class PerTensorQuant:
    """One scale."""

    scale: float = 0.0
    zero_point: int = 0


@dataclass
class PerChannelQuant:
    """A float32 scale for each index of dimension `channel_dim`, stored in constant `scale_buffer_idx`."""

    channel_dim: int
    scale_buffer_idx: int
    num_scales: int
    scale: list[float] | None = None


@dataclass
class PerChannelGroupQuant:
    """A bfloat16 scale for each group of `group_size` elements of a row, stored in a constant. Dimension `channel_dim`
    has the channels."""

    channel_dim: int
    group_size: int
    scale_buffer_idx: int
    num_scales: int
    scale: list[float] | None = None
    scale_bf16: list[int] | None = None


@dataclass
class PerTokenDynamicQuant:
    """A scale that is computed at run time for each set of the last `num_nonbatch_dims` dimensions."""

    num_nonbatch_dims: int = 0


Quantization = PerTensorQuant | PerChannelQuant | PerChannelGroupQuant | PerTokenDynamicQuant


@dataclass
class XNNQuantizedTensorValue:
    """A quantised tensor."""

    tensor_value: XNNTensorValue
    quant_params: Quantization


@dataclass
class XValue:
    xvalue_union: XNNTensorValue | XNNQuantizedTensorValue


_TENSOR = Table(
    XNNTensorValue,
    datatype=SHORT,
    num_dims=UINT,
    dims=Vector(UINT),
    constant_buffer_idx=UINT,
    external_id=UINT,
    flags=UINT,
    id_out=UINT,
)
_QUANTIZATION = Union(
    {
        1: Table(PerChannelQuant, scale=Vector(FLOAT), channel_dim=INT, scale_buffer_idx=UINT, num_scales=UINT),
        2: Table(PerTensorQuant, scale=FLOAT, zero_point=INT),
        3: Table(PerTokenDynamicQuant, num_nonbatch_dims=INT),
        4: Table(
            PerChannelGroupQuant,
            scale=Vector(FLOAT),
            channel_dim=INT,
            group_size=INT,
            scale_bf16=Vector(UINT),
            scale_buffer_idx=UINT,
            num_scales=UINT,
        ),
    }
)
_QUANTIZED = Table(XNNQuantizedTensorValue, tensor_value=_TENSOR, quant_params=_QUANTIZATION)
VALUE = Table(XValue, xvalue_union=Union({1: _TENSOR, 2: _QUANTIZED}))
CONSTANT = Table(ConstantDataOffset, offset=ULONG, size=ULONG, named_key=STRING)
