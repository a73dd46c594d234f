# SPDX-License-Identifier: BSD-3-Clause
"""The flatbuffer of a payload. Fields and union members have the order of ExecuTorch's schema."""

from __future__ import annotations

from typing import Any

from sdk.backends.apple.mps.serialization import nodes as n
from sdk.backends.apple.mps.serialization import shape_nodes as s
from sdk.backends.apple.mps.serialization.graph import Buffer, DataSegment, MPSGraph, MPSNode, MPSTensor, OpType
from sdk.backends.apple.mps.serialization.mps_data_type import MPSDataType
from sdk.exir._serialize._flatbuffer import BOOL, INT, LONG, STRING, ULONG, Bytes, Double, Enum, Table, Union, Vector

_FLOAT = Double("f", "float32", 0.0)
_DTYPE = Enum(MPSDataType, "h")
_INTS = Vector(INT)

_UNARY = {"input1_id": INT, "output_id": INT}
_BINARY = {"input1_id": INT, "input2_id": INT, "output_id": INT}
_TERNARY = {"input1_id": INT, "input2_id": INT, "input3_id": INT, "output_id": INT}
_ALPHA = {**_BINARY, "alpha": _FLOAT}
_DIVISION = {**_BINARY, "rounding_mode": STRING}
_SOFTMAX = {**_UNARY, "dim": INT, "half_to_float": BOOL}
_VIEW = {**_UNARY, "num_dims": INT, "shape": _INTS}
_PADDING = dict.fromkeys(("padding_left", "padding_right", "padding_top", "padding_bottom"), INT)
_CONV = {
    **_TERNARY,
    **dict.fromkeys(("stride_x", "stride_y", "dilation_x", "dilation_y", "groups"), INT),
    **_PADDING,
}
_POOLING = {
    **dict.fromkeys(("input1_id", "kernel_height", "kernel_width", "stride_height", "stride_width"), INT),
    **_PADDING,
    "dilation_height": INT,
    "dilation_width": INT,
    "ceil_mode": BOOL,
    "count_include_pad": BOOL,
    "divisor_override": INT,
    "output1_id": INT,
    "output2_id": INT,
}
_FULL = {"input1_id": INT, "output_id": INT, "shape": _INTS, "fill_value": _FLOAT, "dtype": _DTYPE}

_UNION: dict[type, dict[str, Any]] = {
    n.MPSHardTanh: {**_UNARY, "min_value": _FLOAT, "max_value": _FLOAT},
    n.MPSReLU: _BINARY,
    n.MPSGELU: {**_UNARY, "approximate": STRING},
    n.MPSLeakyReLU: {**_UNARY, "negative_slope": _FLOAT},
    n.MPSSoftmax: _SOFTMAX,
    n.MPSLogSoftmax: _SOFTMAX,
    n.MPSAdd: _ALPHA,
    n.MPSSub: _ALPHA,
    n.MPSMul: _BINARY,
    n.MPSDiv: _DIVISION,
    n.MPSFmod: _DIVISION,
    n.MPSRemainder: _DIVISION,
    n.MPSMin: _BINARY,
    n.MPSMax: _BINARY,
    n.MPSPow: _BINARY,
    n.MPSAtan2: _BINARY,
    n.MPSBitwiseAnd: _BINARY,
    n.MPSBitwiseOr: _BINARY,
    n.MPSBitwiseXor: _BINARY,
    n.MPSMinimum: _BINARY,
    n.MPSExp: _UNARY,
    n.MPSExp2: _UNARY,
    n.MPSReciprocal: _UNARY,
    n.MPSSqrt: _UNARY,
    n.MPSNeg: _UNARY,
    n.MPSLog: _UNARY,
    n.MPSLog10: _UNARY,
    n.MPSLog2: _UNARY,
    n.MPSErf: _UNARY,
    n.MPSFloor: _UNARY,
    n.MPSCeil: _UNARY,
    n.MPSRsqrt: _UNARY,
    n.MPSSigmoid: _UNARY,
    n.MPSSin: _UNARY,
    n.MPSSign: _UNARY,
    n.MPSCos: _UNARY,
    n.MPSTan: _UNARY,
    n.MPSAbs: _UNARY,
    n.MPSAsin: _UNARY,
    n.MPSAcos: _UNARY,
    n.MPSAtan: _UNARY,
    n.MPSSinh: _UNARY,
    n.MPSCosh: _UNARY,
    n.MPSTanh: _UNARY,
    n.MPSAsinh: _UNARY,
    n.MPSAcosh: _UNARY,
    n.MPSAtanh: _UNARY,
    n.MPSBitwiseNot: _UNARY,
    n.MPSIsnan: _UNARY,
    n.MPSIsinf: _UNARY,
    n.MPSRound: _UNARY,
    n.MPSLogicalNot: _UNARY,
    n.MPSMatMul: _BINARY,
    s.MPSAddmm: {**_TERNARY, "beta": _FLOAT, "alpha": _FLOAT},
    s.MPSFull: _FULL,
    s.MPSFullLike: _FULL,
    n.MPSClamp: _UNARY,
    s.MPSWhere: _TERNARY,
    s.MPSIndexSelect: {**_UNARY, "dim": INT, "index_id": INT},
    s.MPSEmbedding: {**_BINARY, "padding_idx": INT, "scale_grad_by_freq": BOOL, "sparse": BOOL},
    s.MPSIndexTensor: {"input1_id": INT, "indices_id": _INTS, "output_id": INT},
    s.MPSIndexPut: {"input1_id": INT, "indices_id": _INTS, "values_shape": _INTS, "values_id": INT, "output_id": INT},
    s.MPSScatter: {**_UNARY, "dim": LONG, "idx_id": INT, "src_id": INT},
    s.MPSMean: {**_UNARY, "num_dims": INT, "dims": _INTS, "keep_dims": BOOL},
    s.MPSPermute: {**_UNARY, "num_dims": INT, "perm": _INTS},
    s.MPSView: _VIEW,
    s.MPSExpand: _VIEW,
    s.MPSCat: {"input_ids": _INTS, "output_id": INT, "dim": INT},
    s.MPSSqueeze: {**_UNARY, "dims": _INTS},
    s.MPSUnsqueeze: {**_UNARY, "dim": INT},
    s.MPSSelect: {**_UNARY, "dim": INT, "index": INT},
    s.MPSSlice: {**_UNARY, "dim": LONG, "start": LONG, "end": LONG, "step": LONG},
    s.MPSPixelShuffle: {**_UNARY, "upscale_factor": INT},
    s.MPSSplitWithSizes: {"input1_id": INT, "output_ids": _INTS, "split_sizes": _INTS, "dim": INT},
    s.MPSCast: {**_UNARY, "dtype": _DTYPE},
    s.MPSConv2D: _CONV,
    s.MPSDepthwiseConv2D: _CONV,
    n.MPSEq: _BINARY,
    n.MPSNe: _BINARY,
    n.MPSGe: _BINARY,
    n.MPSGt: _BINARY,
    n.MPSLe: _BINARY,
    n.MPSLt: _BINARY,
    s.MPSBatchNorm: {
        **dict.fromkeys(("input_id", "mean_id", "var_id", "weight_id", "bias_id"), INT),
        "momentum": _FLOAT,
        "epsilon": _FLOAT,
        "output2_id": INT,
        "output1_id": INT,
        "output3_id": INT,
    },
    s.MPSLayerNorm: {
        "input1_id": INT,
        "normalized_shape": _INTS,
        "weight_id": INT,
        "bias_id": INT,
        "eps": _FLOAT,
        "output2_id": INT,
        "output1_id": INT,
        "output3_id": INT,
    },
    s.MPSMaxPool2DWithIndices: _POOLING,
    s.MPSAvgPool2D: _POOLING,
    s.MPSConstantPadND: {**_UNARY, "pad": _INTS, "value": _FLOAT},
    s.MPSArange: {"output_id": INT, "start": _FLOAT, "end": _FLOAT, "step": _FLOAT, "dtype": _DTYPE},
    s.MPSDequantizePerChannelGroup: {
        "input1_id": INT,
        "output_id": INT,
        "scales_id": INT,
        "zero_points_id": INT,
        "quant_min": INT,
        "quant_max": INT,
        "dtype": _DTYPE,
        "group_size": INT,
        "output_dtype": _DTYPE,
    },
}

NODE_TYPES = tuple(_UNION)
"""The types of nodes, in the order of the union."""

GRAPH = Table(
    MPSGraph,
    version=STRING,
    mps_nodes=Vector(
        Table(
            MPSNode,
            mpsnode_union=Union({i: Table(cls, **fields) for i, (cls, fields) in enumerate(_UNION.items(), start=1)}),
            min_max=Table(n.MPSMinMax, min_value=_FLOAT, max_value=_FLOAT),
        )
    ),
    mps_values=Vector(
        Table(
            MPSTensor,
            datatype=_DTYPE,
            num_dims=INT,
            dims=_INTS,
            constant_buffer_size=ULONG,
            constant_buffer=Table(Buffer, storage=Bytes(16)),
            segment_offset=ULONG,
        )
    ),
    input_ids=_INTS,
    output_ids=_INTS,
    constant_ids=_INTS,
    graph_type=Enum(OpType, "h"),
    constant_segment=Table(DataSegment, offset=ULONG, size=ULONG),
)
