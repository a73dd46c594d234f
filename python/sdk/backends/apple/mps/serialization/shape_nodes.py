# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a payload that are not arithmetic of elements: see `nodes`."""

from __future__ import annotations

from dataclasses import dataclass, field

from sdk.backends.apple.mps.serialization.mps_data_type import MPSDataType
from sdk.backends.apple.mps.serialization.nodes import ABSENT, MPSConv, MPSNode1x1, MPSNode2x1, MPSNode3x1, MPSPooling2D


@dataclass
class MPSAddmm(MPSNode3x1):
    """beta * input1 + alpha * input2 @ input3."""

    beta: float = 1.0
    alpha: float = 1.0


@dataclass
class MPSFull:
    """A constant. `input1_id` is not used."""

    output_id: int
    shape: list[int]
    fill_value: float
    dtype: MPSDataType
    input1_id: int = 0


@dataclass
class MPSFullLike(MPSNode1x1):
    """A constant of the operand's shape. `shape` is not used."""

    fill_value: float = 0.0
    dtype: MPSDataType = MPSDataType.mps_data_type_float32
    shape: list[int] = field(default_factory=list)


class MPSWhere(MPSNode3x1):
    """Elements of input2 where the bool tensor input1 is true, otherwise of input3."""


@dataclass
class MPSMean(MPSNode1x1):
    num_dims: int = 0
    dims: list[int] = field(default_factory=list)
    keep_dims: bool = False


@dataclass
class MPSIndexSelect(MPSNode1x1):
    dim: int = 0
    index_id: int = ABSENT


@dataclass
class MPSEmbedding(MPSNode2x1):
    """Rows of input1 at the indices input2. On devices, the rows of `padding_idx` are zeros; -1 means that there is no
    such index."""

    padding_idx: int = -1
    scale_grad_by_freq: bool = False
    sparse: bool = False


@dataclass
class MPSIndexTensor(MPSNode1x1):
    """Indices by dimension; `ABSENT` keeps a dimension whole."""

    indices_id: list[int] = field(default_factory=list)


@dataclass
class MPSIndexPut(MPSNode1x1):
    """input1 with values written at the indices. Values are first broadcast to `values_shape`, unless it is empty."""

    indices_id: list[int] = field(default_factory=list)
    values_shape: list[int] = field(default_factory=list)
    values_id: int = ABSENT


@dataclass
class MPSScatter(MPSNode1x1):
    """input1 with the elements of the source at the indices along `dim`; all three have the same rank."""

    dim: int = 0
    idx_id: int = ABSENT
    src_id: int = ABSENT


@dataclass
class MPSPermute(MPSNode1x1):
    num_dims: int = 0
    perm: list[int] = field(default_factory=list)


@dataclass
class MPSView(MPSNode1x1):
    num_dims: int = 0
    shape: list[int] = field(default_factory=list)


class MPSExpand(MPSView):
    """-1 keeps a size."""


@dataclass
class MPSCat:
    input_ids: list[int]
    output_id: int
    dim: int


@dataclass
class MPSSqueeze(MPSNode1x1):
    dims: list[int] = field(default_factory=list)


@dataclass
class MPSUnsqueeze(MPSNode1x1):
    dim: int = 0


@dataclass
class MPSSelect(MPSNode1x1):
    dim: int = 0
    index: int = 0


@dataclass
class MPSSlice(MPSNode1x1):
    dim: int = 0
    start: int = -1
    end: int = -1
    step: int = 1


@dataclass
class MPSPixelShuffle(MPSNode1x1):
    upscale_factor: int = 1


@dataclass
class MPSSplitWithSizes:
    input1_id: int
    output_ids: list[int]
    split_sizes: list[int]
    dim: int


@dataclass
class MPSCast(MPSNode1x1):
    dtype: MPSDataType


class MPSConv2D(MPSConv):
    """Any convolution of one or two spatial dimensions."""


class MPSDepthwiseConv2D(MPSConv):
    """A convolution in which each group has one input channel."""


@dataclass
class MPSBatchNorm:
    """Normalises with the statistics given. The second and third result are not used."""

    input_id: int
    mean_id: int
    var_id: int
    weight_id: int
    bias_id: int
    momentum: float
    epsilon: float
    output1_id: int
    output2_id: int
    output3_id: int


@dataclass
class MPSLayerNorm:
    """Normalises the last dimensions. The second and third result are not used."""

    input1_id: int
    normalized_shape: list[int]
    weight_id: int
    bias_id: int
    eps: float
    output1_id: int
    output2_id: int
    output3_id: int


class MPSMaxPool2DWithIndices(MPSPooling2D):
    """The indices are positions in the flattened plane of a channel. On devices, they are int32."""


class MPSAvgPool2D(MPSPooling2D):
    """`divisor_override` is 0 for none."""


@dataclass
class MPSConstantPadND(MPSNode1x1):
    """Pairs of sizes before and after, from the last dimension on."""

    pad: list[int] = field(default_factory=list)
    value: float = 0.0


@dataclass
class MPSArange:
    output_id: int
    start: float
    end: float
    step: float
    dtype: MPSDataType


@dataclass
class MPSDequantizePerChannelGroup(MPSNode1x1):
    """int4 rows times the scales of their groups. Zero points are zero, and `zero_points_id` is `ABSENT`."""

    scales_id: int
    zero_points_id: int
    quant_min: int
    quant_max: int
    dtype: MPSDataType
    group_size: int
    output_dtype: MPSDataType
