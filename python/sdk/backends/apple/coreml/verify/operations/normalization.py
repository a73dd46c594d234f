# SPDX-License-Identifier: BSD-3-Clause
"""Normalisation, softmax and reductions."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from sdk.backends.apple.coreml.verify.operations.registry import OPERATIONS, flag, integer, ints, number, operation


@operation("softmax")
def softmax(x: torch.Tensor, axis: Any = None) -> torch.Tensor:
    """exp(x), divided by its sum along an axis."""
    return torch.softmax(x, integer(axis, -1))


@operation("batch_norm")
def batch_norm(
    x: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    gamma: Any = None,
    beta: Any = None,
    epsilon: Any = None,
) -> torch.Tensor:
    """(x - mean) / sqrt(variance + epsilon) gamma + beta, with numbers for each channel."""
    return functional.batch_norm(x, mean, variance, gamma, beta, eps=number(epsilon, 1e-5))


@operation("instance_norm")
def instance_norm(x: torch.Tensor, gamma: Any = None, beta: Any = None, epsilon: Any = None) -> torch.Tensor:
    """Normalisation of each channel of each element of the batch."""
    return functional.instance_norm(x, weight=gamma, bias=beta, eps=number(epsilon, 1e-5))


@operation("layer_norm")
def layer_norm(
    x: torch.Tensor, axes: Any = None, gamma: Any = None, beta: Any = None, epsilon: Any = None
) -> torch.Tensor:
    """Normalisation along axes."""
    dims = [axis % x.dim() for axis in (ints(axes) if axes is not None else range(x.dim()))]
    mean = x.mean(dims, keepdim=True)
    variance = (x - mean).square().mean(dims, keepdim=True)
    result = (x - mean) / torch.sqrt(variance + number(epsilon, 1e-5))
    shape = [size if axis in dims else 1 for axis, size in enumerate(x.shape)]
    result = result if gamma is None else result * gamma.reshape(shape)
    return result if beta is None else result + beta.reshape(shape)


@operation("l2_norm")
def l2_norm(x: torch.Tensor, epsilon: Any = None) -> torch.Tensor:
    """x, divided by the square root of the sum of the squares of the last three dimensions."""
    return x / torch.sqrt(x.square().sum((-3, -2, -1), keepdim=True) + number(epsilon, 1e-6))


@operation("local_response_norm")
def local_response_norm(x: torch.Tensor, size: Any, alpha: Any = None, beta: Any = None, k: Any = None) -> torch.Tensor:
    """Normalisation by neighbouring channels."""
    return functional.local_response_norm(x, integer(size), number(alpha, 1e-4), number(beta, 0.75), number(k, 1.0))


_REDUCTIONS = {
    "reduce_l1_norm": lambda x, dims, keep: x.abs().sum(dims, keepdim=keep),
    "reduce_l2_norm": lambda x, dims, keep: x.square().sum(dims, keepdim=keep).sqrt(),
    "reduce_log_sum": lambda x, dims, keep: x.sum(dims, keepdim=keep).log(),
    "reduce_log_sum_exp": lambda x, dims, keep: torch.logsumexp(x, dims, keepdim=keep),
    "reduce_max": lambda x, dims, keep: torch.amax(x, dims, keepdim=keep),
    "reduce_mean": lambda x, dims, keep: x.mean(dims, keepdim=keep),
    "reduce_min": lambda x, dims, keep: torch.amin(x, dims, keepdim=keep),
    "reduce_sum": lambda x, dims, keep: x.sum(dims, keepdim=keep, dtype=x.dtype),
    "reduce_sum_square": lambda x, dims, keep: x.square().sum(dims, keepdim=keep, dtype=x.dtype),
}


def _add_reductions() -> None:
    for name, function in _REDUCTIONS.items():

        def reduce(x: torch.Tensor, axes: Any = None, keep_dims: Any = None, function: Any = function) -> torch.Tensor:
            dims = list(range(x.dim())) if axes is None else ints(axes)
            return x if x.dim() == 0 else function(x, dims, flag(keep_dims))

        OPERATIONS[name] = reduce


_add_reductions()


@operation("reduce_prod")
def reduce_prod(x: torch.Tensor, axes: Any = None, keep_dims: Any = None) -> torch.Tensor:
    """The product along axes."""
    dims = sorted((axis % x.dim() for axis in (range(x.dim()) if axes is None else ints(axes))), reverse=True)
    for dim in dims:
        x = x.prod(dim, keepdim=flag(keep_dims), dtype=x.dtype)
    return x


@operation("reduce_argmax")
def reduce_argmax(
    x: torch.Tensor, axis: Any = None, keep_dims: Any = None, output_dtype: str = "int32"
) -> torch.Tensor:
    """The index of the largest element."""
    return torch.argmax(x, integer(axis, -1), keepdim=flag(keep_dims)).to(torch.int32)


@operation("reduce_argmin")
def reduce_argmin(
    x: torch.Tensor, axis: Any = None, keep_dims: Any = None, output_dtype: str = "int32"
) -> torch.Tensor:
    """The index of the smallest element."""
    return torch.argmin(x, integer(axis, -1), keepdim=flag(keep_dims)).to(torch.int32)
