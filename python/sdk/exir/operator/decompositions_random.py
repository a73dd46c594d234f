# SPDX-License-Identifier: BSD-3-Clause
"""Distributions, decomposed into uniform and normal random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _uniform(shape: Sequence[Any], dtype: torch.dtype) -> Tensor:
    return torch.rand(list(shape), dtype=dtype)


def _normal(shape: Sequence[Any], dtype: torch.dtype) -> Tensor:
    return torch.randn(list(shape), dtype=dtype)


def _float_of(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which to compute a distribution with results of `dtype`: it has a precision of 24 bits or more."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _rand_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _uniform(x.shape, dtype or x.dtype)


def _randn_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _normal(x.shape, dtype or x.dtype)


def _randint(low: int, high: int, size: Sequence[Any], dtype: torch.dtype | None) -> Tensor:
    # 53 random bits suffice for the int64 ranges of models; clamp() because low + u * n may round up to high.
    numbers = torch.floor(_uniform(size, torch.float64) * float(high - low) + float(low))
    return torch.clamp(numbers, low, high - 1).to(dtype or torch.int64)


def _randint_below(high: int, size: Sequence[Any], *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _randint(0, high, size, dtype)


def _randint_between(low: int, high: int, size: Sequence[Any], *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _randint(low, high, size, dtype)


def _randint_like_below(x: Tensor, high: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _randint(0, high, x.shape, dtype or x.dtype)


def _randint_like_between(x: Tensor, low: int, high: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _randint(low, high, x.shape, dtype or x.dtype)


def _normal_of(mean: Any, std: Any, generator: Any = None) -> Tensor:
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    dtype = tensors[0].dtype if len(tensors) == 1 else torch.promote_types(tensors[0].dtype, tensors[1].dtype)
    return (_normal(shape, _float_of(dtype)) * std + mean).to(dtype)


def _normal_of_size(
    mean: float, std: float, size: Sequence[Any], *, generator: Any = None, dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    return _normal(size, dtype or torch.get_default_dtype()) * std + mean


def _normal_functional(x: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    return _normal(x.shape, x.dtype) * std + mean


def _uniform_like(x: Tensor, low: float = 0, high: float = 1, *, generator: Any = None) -> Tensor:
    return (_uniform(x.shape, _float_of(x.dtype)) * (high - low) + low).to(x.dtype)


def _exponential(x: Tensor, rate: float = 1, *, generator: Any = None) -> Tensor:
    return (torch.log1p(-_uniform(x.shape, _float_of(x.dtype))) / -rate).to(x.dtype)


def _geometric(x: Tensor, p: float, *, generator: Any = None) -> Tensor:
    u = _uniform(x.shape, _float_of(x.dtype))
    return (torch.floor(torch.log1p(-u) / math.log1p(-p)) + 1).to(x.dtype)


def _bernoulli(x: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """1 with probability `p`, a number or a tensor; x gives the shape and dtype."""
    return (_uniform(x.shape, torch.float32) < p).to(x.dtype)


def _cauchy(x: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    u = _uniform(x.shape, _float_of(x.dtype))
    return (torch.tan((u - 0.5) * math.pi) * sigma + median).to(x.dtype)


def _log_normal(x: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    return torch.exp(_normal(x.shape, _float_of(x.dtype)) * std + mean).to(x.dtype)


def _multinomial(p: Tensor, count: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Random indices with the probabilities p. Without replacement, they are the indices of the largest p / e, where e
    has an exponential distribution. With replacement, they are the positions at which uniform numbers fall in the
    cumulative sum of p."""
    p = p.to(_float_of(p.dtype))
    if not replacement or count == 1:
        keys = p / -torch.log1p(-_uniform(p.shape, p.dtype))
        return torch.topk(keys, count, -1)[1]
    ends = torch.cumsum(p, -1)
    u = _uniform([*p.shape[:-1], count], p.dtype) * ends[..., -1:]
    return torch.clamp(torch.searchsorted(ends, u, right=True), max=p.shape[-1] - 1)


def _rrelu(
    x: Tensor, noise: Tensor, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    if not training:
        return torch.nn.functional.leaky_relu(x, (lower + upper) / 2), noise
    slopes = torch.where(x > 0, 1.0, _uniform(x.shape, _float_of(x.dtype)) * (upper - lower) + lower).to(x.dtype)
    return x * slopes, slopes


RANDOM: dict[torch._ops.OperatorBase, Callable] = {
    aten.bernoulli.Tensor: _bernoulli,
    aten.bernoulli.p: _bernoulli,
    aten.cauchy.default: _cauchy,
    aten.exponential.default: _exponential,
    aten.geometric.default: _geometric,
    aten.log_normal.default: _log_normal,
    aten.multinomial.default: _multinomial,
    aten.normal.Tensor_Tensor: _normal_of,
    aten.normal.Tensor_float: _normal_of,
    aten.normal.float_Tensor: _normal_of,
    aten.normal.float_float: _normal_of_size,
    aten.normal_functional.default: _normal_functional,
    aten.rand_like.default: _rand_like,
    aten.randint.default: _randint_below,
    aten.randint.low: _randint_between,
    aten.randint_like.default: _randint_like_below,
    aten.randint_like.low_dtype: _randint_like_between,
    aten.randn_like.default: _randn_like,
    aten.rrelu_with_noise_functional.default: _rrelu,
    aten.uniform.default: _uniform_like,
}
"""Maps each operator to the function that computes it."""
