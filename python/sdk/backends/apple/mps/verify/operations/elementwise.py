# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic, comparisons and functions of single elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from sdk.backends.apple.mps.serialization import nodes as n
from sdk.backends.apple.mps.serialization import shape_nodes as s
from sdk.backends.apple.mps.verify.operations.registry import OPERATIONS, known_dtype, operation

_UNARY: dict[type, Callable[[torch.Tensor], torch.Tensor]] = {
    n.MPSReLU: torch.relu, n.MPSExp: torch.exp, n.MPSExp2: torch.exp2, n.MPSReciprocal: torch.reciprocal,
    n.MPSSqrt: torch.sqrt, n.MPSNeg: torch.neg, n.MPSLog: torch.log, n.MPSLog10: torch.log10, n.MPSLog2: torch.log2,
    n.MPSErf: torch.erf, n.MPSFloor: torch.floor, n.MPSCeil: torch.ceil, n.MPSRsqrt: torch.rsqrt,
    n.MPSSigmoid: torch.sigmoid, n.MPSSin: torch.sin, n.MPSSign: torch.sign, n.MPSCos: torch.cos, n.MPSTan: torch.tan,
    n.MPSAbs: torch.abs, n.MPSAsin: torch.asin, n.MPSAcos: torch.acos, n.MPSAtan: torch.atan, n.MPSSinh: torch.sinh,
    n.MPSCosh: torch.cosh, n.MPSTanh: torch.tanh, n.MPSAsinh: torch.asinh, n.MPSAcosh: torch.acosh,
    n.MPSAtanh: torch.atanh, n.MPSBitwiseNot: torch.bitwise_not, n.MPSIsnan: torch.isnan, n.MPSIsinf: torch.isinf,
    n.MPSRound: torch.round, n.MPSLogicalNot: torch.logical_not,
}  # fmt: skip
_BINARY: dict[type, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    n.MPSMul: torch.mul, n.MPSMin: torch.minimum, n.MPSMax: torch.maximum, n.MPSMinimum: torch.minimum,
    n.MPSPow: torch.pow, n.MPSAtan2: torch.atan2, n.MPSBitwiseAnd: torch.bitwise_and,
    n.MPSBitwiseOr: torch.bitwise_or, n.MPSBitwiseXor: torch.bitwise_xor, n.MPSEq: torch.eq, n.MPSNe: torch.ne,
    n.MPSGe: torch.ge, n.MPSGt: torch.gt, n.MPSLe: torch.le, n.MPSLt: torch.lt, n.MPSMatMul: torch.matmul,
}  # fmt: skip

OPERATIONS.update({kind: lambda _, x, f=function: f(x) for kind, function in _UNARY.items()})
OPERATIONS.update({kind: lambda _, x, y, f=function: f(x, y) for kind, function in _BINARY.items()})


@operation(n.MPSAdd)
def _add(node: n.MPSAdd, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.add(x, y) if node.alpha == 1 else torch.add(x, y, alpha=_number(node.alpha, x, y))


@operation(n.MPSSub)
def _sub(node: n.MPSSub, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sub(x, y) if node.alpha == 1 else torch.sub(x, y, alpha=_number(node.alpha, x, y))


@operation(n.MPSDiv)
def _div(node: n.MPSDiv, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.div(x, y, rounding_mode=_mode(node.rounding_mode, None))


@operation(n.MPSFmod)
def _fmod(node: n.MPSFmod, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    _mode(node.rounding_mode, "trunc")
    return torch.fmod(x, y)


@operation(n.MPSRemainder)
def _remainder(node: n.MPSRemainder, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    _mode(node.rounding_mode, "floor")
    return torch.remainder(x, y)


@operation(n.MPSHardTanh)
def _hardtanh(node: n.MPSHardTanh, x: torch.Tensor) -> torch.Tensor:
    return F.hardtanh(x, node.min_value, node.max_value)


@operation(n.MPSGELU)
def _gelu(node: n.MPSGELU, x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate=node.approximate or "none")


@operation(n.MPSLeakyReLU)
def _leaky_relu(node: n.MPSLeakyReLU, x: torch.Tensor) -> torch.Tensor:
    return F.leaky_relu(x, node.negative_slope)


@operation(n.MPSSoftmax)
def _softmax(node: n.MPSSoftmax, x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, node.dim)


@operation(n.MPSLogSoftmax)
def _log_softmax(node: n.MPSLogSoftmax, x: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(x, node.dim)


@operation(n.MPSClamp)
def _clamp(node: Any, x: torch.Tensor) -> torch.Tensor:
    bounds = node.min_max or n.MPSMinMax()
    low, high = (_bound(bound, x) for bound in (bounds.min_value, bounds.max_value))
    return x if low is None and high is None else torch.clamp(x, low, high)


@operation(s.MPSWhere)
def _where(node: s.MPSWhere, condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where(condition, x, y)


@operation(s.MPSAddmm)
def _addmm(node: s.MPSAddmm, bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.addmm(bias, left, right, beta=node.beta, alpha=node.alpha)


@operation(s.MPSCast, own_dtype=True)
def _cast(node: s.MPSCast, x: torch.Tensor) -> torch.Tensor:
    return x.to(known_dtype(node.dtype))


@operation(s.MPSMean)
def _mean(node: s.MPSMean, x: torch.Tensor) -> torch.Tensor:
    return torch.mean(x, node.dims, keepdim=node.keep_dims) if node.dims else x


@operation(s.MPSBatchNorm)
def _batch_norm(
    node: s.MPSBatchNorm,
    x: torch.Tensor,
    mean: torch.Tensor,
    var: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
) -> torch.Tensor:
    return F.batch_norm(x, mean, var, weight, bias, False, node.momentum, node.epsilon)


@operation(s.MPSLayerNorm)
def _layer_norm(
    node: s.MPSLayerNorm, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None
) -> tuple[torch.Tensor, ...]:
    results: tuple[torch.Tensor, ...] = torch.native_layer_norm(x, node.normalized_shape, weight, bias, node.eps)
    return results


@operation(s.MPSDequantizePerChannelGroup, own_dtype=True)
def _dequantize(
    node: s.MPSDequantizePerChannelGroup, x: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor | None
) -> torch.Tensor:
    if zero_points is not None:
        raise ValueError("zero points other than 0 are not possible")
    rows, columns = x.shape
    if node.group_size < 1 or list(scales.shape) != [rows, columns // node.group_size]:
        raise ValueError(
            f"{list(scales.shape)} scales do not fit {list(x.shape)} weights in groups of {node.group_size}"
        )
    groups = x.to(torch.float32).reshape(rows, -1, node.group_size)
    return (groups * scales[:, :, None]).reshape(rows, columns).to(torch.float16)


def _mode(given: str | None, expected: str | None) -> str | None:
    mode = given or expected
    if mode not in (None, "floor", "trunc") or (expected is not None and mode != expected):
        raise ValueError(f"the rounding mode is {mode!r}; expected {expected or 'floor or trunc'!r}")
    return mode


def _number(value: float, *operands: torch.Tensor) -> float:
    """Returns a whole number as an int if all operands are integers, so that it does not promote them to float."""
    return value if any(x.is_floating_point() for x in operands) or value != int(value) else int(value)


def _bound(value: float, x: torch.Tensor) -> float | None:
    if value in (float("inf"), float("-inf")):
        return None
    return _number(value, x)
