# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a payload, as backends/xnnpack/serialization/xnnpack_graph.fbs declares it. Ids are those of
the graph's values. Tensors and paddings of image nodes are NHWC."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

from sdk.backends.xnnpack.serialization.xnnpack_values import (
    CONSTANT,
    FLOAT,
    NO_VALUE,
    VALUE,
    ConstantDataOffset,
    ValueFlag,
    XNNDatatype,
    XNNTensorValue,
    XValue,
)
from sdk.exir._serialize._flatbuffer import STRING, UINT, Table, Union, Vector

__all__ = [
    "GRAPH",
    "NODES",
    "NO_VALUE",
    "ConstantDataOffset",
    "OutputMinMax",
    "StepKind",
    "ValueFlag",
    "XNNDatatype",
    "XNNGraph",
    "XNNTensorValue",
    "XNode",
    "XValue",
]


class StepKind(IntEnum):
    """The operators that XNNPACK lacks. This SDK's runtime computes each as a step of its own (`XNNStep`)."""

    LAYER_NORM = 1
    RMS_NORM = 2
    GELU_TANH = 3
    ATTENTION = 4
    EMBEDDING = 5
    WHERE = 6
    CONVERT = 7
    REDUCE = 8
    INDEX_PUT = 9
    LSTM_CELL = 10
    GRU_CELL = 11
    UNFOLD = 12


@dataclass
class OutputMinMax:
    output_min: float = 0.0
    output_max: float = 0.0


@dataclass
class XNode:
    """A node with the range to which its results are clamped."""

    xnode_union: Any
    debug_handle: int = 0
    output_min_max: OutputMinMax | None = None


@dataclass
class Node1x1:
    """A node with one input and one output."""

    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class Node2x1:
    """A node with two inputs and one output."""

    input1_id: int
    input2_id: int
    output_id: int
    flags: int = 0


@dataclass
class NodeCat:
    """Concatenates up to five inputs along an axis."""

    axis: int
    input1_id: int
    input2_id: int
    input3_id: int
    input4_id: int
    output_id: int
    flags: int = 0
    input5_id: int = 0


@dataclass
class NodeConv:
    """Filters are [outputs, height, width, inputs of a group]; of depthwise convolutions, [1, height, width,
    outputs]."""

    padding_top: int
    padding_right: int
    padding_bottom: int
    padding_left: int
    kernel_height: int
    kernel_width: int
    subsampling_height: int
    subsampling_width: int
    dilation_height: int
    dilation_width: int
    group_input_channels: int
    group_output_channels: int
    groups: int
    adjustment_height: int
    adjustment_width: int
    input1_id: int
    filter_id: int
    bias_id: int
    output_id: int
    flags: int = 0


@dataclass
class NodePooling2d:
    padding_top: int
    padding_right: int
    padding_bottom: int
    padding_left: int
    pooling_height: int
    pooling_width: int
    stride_height: int
    stride_width: int
    dilation_height: int
    dilation_width: int
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNStaticTranspose:
    num_dims: int
    perm: list[int]
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNStaticReshape:
    """A size of 0 follows from the number of elements."""

    num_dims: int
    new_shape: list[int]
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNStaticSlice:
    """A size of 0 means the whole dimension."""

    num_dims: int
    offsets: list[int]
    sizes: list[int]
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNStaticConstantPad:
    pre_paddings: list[int]
    post_paddings: list[int]
    padding_value: float
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNStaticResizeBilinear2D:
    new_height: int
    new_width: int
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNFullyConnected:
    input1_id: int
    filter_id: int
    bias_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNELU:
    alpha: float
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNLeakyReLU:
    negative_slope: float
    input_id: int
    output_id: int
    flags: int = 0


@dataclass
class XNNStep:
    """A node for an operator that XNNPACK lacks. Payloads with such nodes are outside of ExecuTorch's format."""

    kind: int
    input_ids: list[int]
    output_id: int
    flags: int
    integers: list[int]
    numbers: list[float]
    more_output_ids: list[int]


@dataclass
class XNNGraph:
    version: str
    xnodes: list[XNode] = field(default_factory=list)
    xvalues: list[XValue] = field(default_factory=list)
    num_externs: int = 0
    input_ids: list[int] = field(default_factory=list)
    output_ids: list[int] = field(default_factory=list)
    constant_data: list[ConstantDataOffset] = field(default_factory=list)
    constant_buffer: None = None  # used by older writers in place of the next field
    mem_buffer_sizes: None = None


# For each dataclass that serves several node types: the format's names of these types, by their number in the union.
_FORMS: dict[type, dict[int, str]] = {
    Node1x1: {
        3: "Softmax",
        4: "Sigmoid",
        6: "Clamp",
        17: "Floor",
        18: "Convert",
        19: "GlobalAvgPooling2d",
        22: "SquareRoot",
        23: "Ceiling",
        24: "Hardswish",
        27: "Negate",
        28: "Square",
        30: "Abs",
        40: "ReciprocalSquareRoot",
        41: "Log",
        42: "Gelu",
        43: "Tanh",
        44: "Exp",
        45: "Sin",
        46: "Copy",
        47: "Cos",
    },
    Node2x1: {
        1: "Add",
        8: "Div",
        12: "Minimum",
        15: "Multiply",
        16: "Subtract",
        26: "Maximum",
        31: "PReLU",
        37: "BatchMatrixMultiply",
    },
    NodeCat: {32: "Concatenate2", 33: "Concatenate3", 34: "Concatenate4", 38: "Concatenate5"},
    NodeConv: {7: "Conv2d", 13: "DepthwiseConv2d", 39: "ConvTranspose2d"},
    NodePooling2d: {11: "AvgPooling2d", 14: "MaxPooling2d"},
}
_OF_THEIR_OWN: dict[int, type] = {
    2: XNNFullyConnected,
    5: XNNStaticTranspose,
    9: XNNStaticResizeBilinear2D,
    10: XNNStaticConstantPad,
    20: XNNStaticReshape,
    25: XNNLeakyReLU,
    29: XNNELU,
    35: XNNStaticSlice,
    48: XNNStep,
}

# The class of each node by its name without "XNN": NODES["Add"](input1_id=0, input2_id=1, output_id=2).
NODES: dict[str, type] = {}
_node_tables: dict[int, Table] = {}


_KINDS: dict[str, Any] = {"int": UINT, "float": FLOAT, "list[int]": Vector(UINT), "list[float]": Vector(FLOAT)}


def _declare(number: int, name: str, cls: type) -> None:
    NODES[name] = cls
    _node_tables[number] = Table(cls, **{item.name: _KINDS[str(item.type)] for item in fields(cls)})


for _form, _names in _FORMS.items():
    for _number, _name in _names.items():
        _declare(_number, _name, type(f"XNN{_name}", (_form,), {}))
for _number, _cls in _OF_THEIR_OWN.items():
    _declare(_number, _cls.__name__.removeprefix("XNN"), _cls)

_NODE = Table(
    XNode,
    xnode_union=Union(_node_tables),
    debug_handle=UINT,
    output_min_max=Table(OutputMinMax, output_min=FLOAT, output_max=FLOAT),
)
GRAPH = Table(
    XNNGraph,
    version=STRING,
    xnodes=Vector(_NODE),
    xvalues=Vector(VALUE),
    num_externs=UINT,
    input_ids=Vector(UINT),
    output_ids=Vector(UINT),
    constant_buffer=Vector(UINT),
    mem_buffer_sizes=Vector(UINT),
    constant_data=Vector(CONSTANT),
)
