# SPDX-License-Identifier: BSD-3-Clause
"""Decompositions of operators outside Core ATen that runtimes have no kernel for, in operators that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, indices = torch.sort(x, dim)
    values, indices = values.narrow(dim, k - 1, 1), indices.narrow(dim, k - 1, 1)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _median(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower of the two middle values; if there is a NaN, NaN and the index of the first one."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, indices = _kthvalue(x, (x.shape[dim] + 1) // 2, dim, True)
    if x.is_floating_point():
        nan = torch.isnan(x)
        first = torch.argmax(nan.to(torch.int32), dim, True)
        found = torch.any(nan, dim, True)
        values = torch.where(found, float("nan"), values)
        indices = torch.where(found, first, indices)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _median_of_all(x: Tensor) -> Tensor:
    return _median(x.reshape(-1), 0)[0]


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """max * sqrt(1 + (min / max)^2), which does not overflow where the result does not."""
    x, y = torch.abs(x), torch.abs(y)
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    ratio = small / large
    exact = torch.logical_or(large == 0, torch.isinf(large))
    return torch.where(exact, large, large * torch.sqrt(ratio * ratio + 1))


def _copysign(x: Tensor, sign: Any) -> Tensor:
    """A zero has a sign too: that of its reciprocal."""
    if not isinstance(sign, Tensor):
        sign = torch.full_like(x, sign, dtype=torch.float32 if not x.is_floating_point() else x.dtype)
    magnitude = torch.abs(x) if x.is_floating_point() else torch.abs(x).to(torch.float32)
    negative = sign < 0
    if sign.is_floating_point():
        negative = torch.logical_or(negative, torch.logical_and(sign == 0, torch.reciprocal(sign) < 0))
    return torch.where(negative, -magnitude, magnitude)


def _rrelu(
    x: Tensor, noise: Tensor, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    if training:
        return NotImplemented
    return torch.nn.functional.leaky_relu(x, (lower + upper) / 2), noise


def _shift_left(x: Tensor, bits: Any) -> Tensor:
    return aten.bitwise_left_shift.Tensor(x, _like(x, bits))


def _shift_right(x: Tensor, bits: Any) -> Tensor:
    return aten.bitwise_right_shift.Tensor(x, _like(x, bits))


def _like(x: Tensor, value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else torch.full([], value, dtype=x.dtype)


def _replication_pad1d(x: Tensor, padding: Any) -> Tensor:
    # Core ATen has those of two and three dimensions only.
    return aten.replication_pad2d(x.unsqueeze(-2), [*padding, 0, 0]).squeeze(-2)


def _soft_margin_loss(x: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Rounded after each step, as eager does: PyTorch's decomposition computes float16 in float32, in which exp()
    does not overflow."""
    loss = torch.log1p(torch.exp(-target * x))
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


OWN_DECOMPOSITIONS: dict[torch._ops.OperatorBase, Callable] = {
    aten.__lshift__.Scalar: _shift_left,
    aten.__lshift__.Tensor: _shift_left,
    aten.__rshift__.Scalar: _shift_right,
    aten.__rshift__.Tensor: _shift_right,
    aten.bitwise_left_shift.Tensor_Scalar: _shift_left,
    aten.bitwise_right_shift.Tensor_Scalar: _shift_right,
    aten.copysign.Scalar: _copysign,
    aten.copysign.Tensor: _copysign,
    aten.hypot.default: _hypot,
    aten.kthvalue.default: _kthvalue,
    aten.median.default: _median_of_all,
    aten.median.dim: _median,
    aten.replication_pad1d.default: _replication_pad1d,
    aten.rrelu_with_noise_functional.default: _rrelu,
    aten.soft_margin_loss.default: _soft_margin_loss,
}
"""Operator to the function that computes it."""

PYTORCH_DECOMPOSITIONS: tuple[torch._ops.OpOverload, ...] = (
    aten.adaptive_max_pool2d.default,
    aten.aminmax.default,
    aten.bucketize.Tensor,
)
"""Operators outside Core ATen whose decomposition is PyTorch's, although it is not in its table for Core ATen."""
