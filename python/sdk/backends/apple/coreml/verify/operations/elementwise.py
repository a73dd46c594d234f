# SPDX-License-Identifier: BSD-3-Clause
"""Operations on each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from sdk.backends.apple.coreml.verify.operations.registry import DTYPES, OPERATIONS, flag, number, operation

_UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "abs": torch.abs,
    "acos": torch.acos,
    "asin": torch.asin,
    "atan": torch.atan,
    "atanh": torch.atanh,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "erf": torch.erf,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "floor": torch.floor,
    "identity": lambda x: x,
    "logical_not": torch.logical_not,
    "relu": torch.relu,
    "relu6": functional.relu6,
    "round": torch.round,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": functional.silu,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "softplus": functional.softplus,
    "softsign": functional.softsign,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tan": torch.tan,
    "tanh": torch.tanh,
}

_BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "equal": torch.eq,
    "floor_div": torch.floor_divide,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "less": torch.lt,
    "less_equal": torch.le,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mod": torch.remainder,
    "mul": torch.mul,
    "not_equal": torch.ne,
    "pow": torch.pow,
    "sub": torch.sub,
}


def _add_tables() -> None:
    for name, function in _UNARY.items():
        OPERATIONS[name] = lambda x, function=function: function(x)
    for name, of_two in _BINARY.items():
        OPERATIONS[name] = lambda x, y, function=of_two: function(*_alike(x, y))


def _alike(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Gives both operands one dtype: programs may mix float16 and float32 only where the results are the same."""
    if x.dtype != y.dtype:
        dtype = torch.promote_types(x.dtype, y.dtype)
        return x.to(dtype), y.to(dtype)
    return x, y


_add_tables()


@operation("real_div")
def real_div(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Division; of integers rounded towards zero."""
    return torch.div(x, y) if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


@operation("cast")
def cast(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """A tensor of another dtype; numbers that are not integers are truncated."""
    return x.to(DTYPES[dtype])


@operation("select")
def select(cond: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """`a` where `cond` holds."""
    return torch.where(cond.to(torch.bool), *_alike(a, b))


@operation("clip")
def clip(x: torch.Tensor, alpha: Any, beta: Any) -> torch.Tensor:
    """x within alpha and beta."""
    return torch.clamp(x, number(alpha), number(beta)).to(x.dtype)


@operation("clamped_relu")
def clamped_relu(x: torch.Tensor, alpha: Any, beta: Any) -> torch.Tensor:
    """min(beta, x) for positive x, min(beta, alpha x) for others."""
    return torch.clamp(torch.where(x >= 0, x, x * number(alpha)), max=number(beta))


@operation("elu")
def elu(x: torch.Tensor, alpha: Any) -> torch.Tensor:
    """ELU."""
    return functional.elu(x, number(alpha))


@operation("gelu")
def gelu(x: torch.Tensor, mode: str = "EXACT") -> torch.Tensor:
    """GELU, exact or approximated."""
    if mode == "SIGMOID_APPROXIMATION":
        return x * torch.sigmoid(1.702 * x)
    return functional.gelu(x, approximate="tanh" if mode == "TANH_APPROXIMATION" else "none")


@operation("leaky_relu")
def leaky_relu(x: torch.Tensor, alpha: Any) -> torch.Tensor:
    """Leaky ReLU."""
    return functional.leaky_relu(x, number(alpha))


@operation("linear_activation")
def linear_activation(x: torch.Tensor, alpha: Any, beta: Any) -> torch.Tensor:
    """alpha x + beta."""
    return number(alpha) * x + number(beta)


@operation("prelu")
def prelu(x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """PReLU with a slope for each channel."""
    return functional.prelu(x, alpha.reshape(-1))


@operation("scaled_tanh")
def scaled_tanh(x: torch.Tensor, alpha: Any, beta: Any) -> torch.Tensor:
    """alpha tanh(beta x)."""
    return number(alpha) * torch.tanh(number(beta) * x)


@operation("sigmoid_hard")
def sigmoid_hard(x: torch.Tensor, alpha: Any, beta: Any) -> torch.Tensor:
    """alpha x + beta within 0 and 1."""
    return torch.clamp(number(alpha) * x + number(beta), 0, 1)


@operation("softplus_parametric")
def softplus_parametric(x: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """alpha log(1 + exp(beta x)) with numbers for each channel."""
    shape = [1, -1] + [1] * (x.dim() - 2)
    return alpha.reshape(shape) * functional.softplus(beta.reshape(shape) * x)


@operation("threshold")
def threshold(x: torch.Tensor, alpha: Any) -> torch.Tensor:
    """max(alpha, x)."""
    return torch.clamp(x, min=number(alpha))


@operation("thresholded_relu")
def thresholded_relu(x: torch.Tensor, alpha: Any) -> torch.Tensor:
    """x where x >= alpha, otherwise 0."""
    return torch.where(x >= number(alpha), x, torch.zeros_like(x))


@operation("inverse")
def inverse(x: torch.Tensor, epsilon: Any = None) -> torch.Tensor:
    """1 / (x + epsilon)."""
    return 1 / (x + number(epsilon, 1e-4))


@operation("log")
def log(x: torch.Tensor, epsilon: Any = None) -> torch.Tensor:
    """log(x + epsilon)."""
    return torch.log(x + number(epsilon, 1e-45))


@operation("rsqrt")
def rsqrt(x: torch.Tensor, epsilon: Any = None) -> torch.Tensor:
    """1 / sqrt(x + epsilon)."""
    return torch.rsqrt(x + number(epsilon, 1e-12))


@operation("cumsum")
def cumsum(x: torch.Tensor, axis: Any = None, exclusive: Any = None, reverse: Any = None) -> torch.Tensor:
    """Cumulative sums along an axis, from the first element or (`reverse`) from the last."""
    dim = int(number(axis))
    x = x.flip(dim) if flag(reverse) else x
    total = torch.cumsum(x, dim, dtype=x.dtype)
    total = total - x if flag(exclusive) else total
    return total.flip(dim) if flag(reverse) else total


@operation("quantize")
def quantize(
    input: torch.Tensor,
    scale: torch.Tensor,
    output_dtype: str,
    zero_point: torch.Tensor | None = None,
    axis: Any = None,
) -> torch.Tensor:
    """input / scale + zero_point, rounded and saturated."""
    scale, offset = along(input, scale, zero_point, axis)
    low, high = (0, 255) if output_dtype == "uint8" else (-128, 127)
    return torch.clamp(torch.round(input / scale) + offset, low, high).to(DTYPES[output_dtype])


@operation("dequantize")
def dequantize(
    input: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor | None = None, axis: Any = None
) -> torch.Tensor:
    """(input - zero_point) scale."""
    scale, offset = along(input, scale, zero_point, axis)
    return (input.to(torch.float32) - offset) * scale


def along(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor | None, axis: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales and zero points that are broadcast along an axis of x, in float32."""
    shape = [1] * x.dim()
    if (scale.dim() and scale.numel() > 1) or (axis is not None and scale.dim()):
        shape[int(number(axis))] = -1
    scale = scale.to(torch.float32).reshape(shape)
    if zero_point is None:
        return scale, torch.zeros(1)
    return scale, zero_point.to(torch.float32).reshape(shape if zero_point.numel() > 1 else [1] * x.dim())
