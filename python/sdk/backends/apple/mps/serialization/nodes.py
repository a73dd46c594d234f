# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a payload for MPS. Ids are positions in `MPSGraph.mps_values`; -1 marks an optional operand that is
absent. The order of the fields and the numbers of the enumerations are ExecuTorch's."""

from __future__ import annotations

from dataclasses import dataclass

ABSENT = -1
"""The id of an optional operand that is not given."""


@dataclass
class MPSNode1x1:
    """An operation with one operand."""

    input1_id: int
    output_id: int


@dataclass
class MPSNode2x1:
    """An operation with two operands, which broadcast."""

    input1_id: int
    input2_id: int
    output_id: int


@dataclass
class MPSDivNode2x1(MPSNode2x1):
    """A division, or its remainder. The mode is "floor" or "trunc"."""

    rounding_mode: str | None = None


@dataclass
class MPSNode3x1:
    """An operation with three operands; a convolution may lack the last one."""

    input1_id: int
    input2_id: int
    input3_id: int
    output_id: int


@dataclass
class MPSConv(MPSNode3x1):
    """A convolution of NCHW or NCL tensors, with OIHW or OIL weights. x is the last dimension."""

    stride_x: int = 0
    stride_y: int = 0
    dilation_x: int = 0
    dilation_y: int = 0
    groups: int = 0
    padding_left: int = 0
    padding_right: int = 0
    padding_top: int = 0
    padding_bottom: int = 0


@dataclass
class MPSPooling2D:
    """A pooling of the last two dimensions."""

    input1_id: int
    kernel_height: int
    kernel_width: int
    stride_height: int
    stride_width: int
    padding_left: int
    padding_right: int
    padding_top: int
    padding_bottom: int
    dilation_height: int
    dilation_width: int
    ceil_mode: bool
    output1_id: int
    output2_id: int = ABSENT
    count_include_pad: bool = True
    divisor_override: int = 0


@dataclass
class MPSMinMax:
    """Bounds, which may be infinite."""

    min_value: float = float("-inf")
    max_value: float = float("inf")


@dataclass
class MPSHardTanh(MPSNode1x1):
    min_value: float = 0.0
    max_value: float = 0.0


@dataclass
class MPSReLU(MPSNode1x1):
    """The schema declares two operands; the node uses one."""

    input2_id: int = 0


@dataclass
class MPSGELU(MPSNode1x1):
    approximate: str | None = "none"


@dataclass
class MPSLeakyReLU(MPSNode1x1):
    negative_slope: float = 0.01


@dataclass
class MPSSoftmax(MPSNode1x1):
    dim: int = 0
    half_to_float: bool = False


class MPSLogSoftmax(MPSSoftmax):
    pass


@dataclass
class MPSAdd(MPSNode2x1):
    alpha: float = 1.0


@dataclass
class MPSSub(MPSNode2x1):
    alpha: float = 1.0


class MPSDiv(MPSDivNode2x1):
    pass


class MPSFmod(MPSDivNode2x1):
    pass


class MPSRemainder(MPSDivNode2x1):
    pass


class MPSMul(MPSNode2x1):
    pass


class MPSMin(MPSNode2x1):
    pass


class MPSMax(MPSNode2x1):
    pass


class MPSPow(MPSNode2x1):
    pass


class MPSAtan2(MPSNode2x1):
    pass


class MPSBitwiseAnd(MPSNode2x1):
    pass


class MPSBitwiseOr(MPSNode2x1):
    pass


class MPSBitwiseXor(MPSNode2x1):
    pass


class MPSMinimum(MPSNode2x1):
    pass


class MPSEq(MPSNode2x1):
    pass


class MPSNe(MPSNode2x1):
    pass


class MPSGe(MPSNode2x1):
    pass


class MPSGt(MPSNode2x1):
    pass


class MPSLe(MPSNode2x1):
    pass


class MPSLt(MPSNode2x1):
    pass


class MPSMatMul(MPSNode2x1):
    pass


class MPSExp(MPSNode1x1):
    pass


class MPSExp2(MPSNode1x1):
    pass


class MPSReciprocal(MPSNode1x1):
    pass


class MPSSqrt(MPSNode1x1):
    pass


class MPSNeg(MPSNode1x1):
    pass


class MPSLog(MPSNode1x1):
    pass


class MPSLog10(MPSNode1x1):
    pass


class MPSLog2(MPSNode1x1):
    pass


class MPSErf(MPSNode1x1):
    pass


class MPSFloor(MPSNode1x1):
    pass


class MPSCeil(MPSNode1x1):
    pass


class MPSRsqrt(MPSNode1x1):
    pass


class MPSSigmoid(MPSNode1x1):
    pass


class MPSSin(MPSNode1x1):
    pass


class MPSSign(MPSNode1x1):
    pass


class MPSCos(MPSNode1x1):
    pass


class MPSTan(MPSNode1x1):
    pass


class MPSAbs(MPSNode1x1):
    pass


class MPSAsin(MPSNode1x1):
    pass


class MPSAcos(MPSNode1x1):
    pass


class MPSAtan(MPSNode1x1):
    pass


class MPSSinh(MPSNode1x1):
    pass


class MPSCosh(MPSNode1x1):
    pass


class MPSTanh(MPSNode1x1):
    pass


class MPSAsinh(MPSNode1x1):
    pass


class MPSAcosh(MPSNode1x1):
    pass


class MPSAtanh(MPSNode1x1):
    pass


class MPSBitwiseNot(MPSNode1x1):
    pass


class MPSIsnan(MPSNode1x1):
    pass


class MPSIsinf(MPSNode1x1):
    pass


class MPSRound(MPSNode1x1):
    pass


class MPSLogicalNot(MPSNode1x1):
    pass


class MPSClamp(MPSNode1x1):
    pass
