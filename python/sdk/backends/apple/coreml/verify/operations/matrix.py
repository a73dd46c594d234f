# SPDX-License-Identifier: BSD-3-Clause
"""Matrix multiplications, convolutions and pooling."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from sdk.backends.apple.coreml.verify.operations.registry import flag, integer, ints, operation


@operation("matmul")
def matmul(x: torch.Tensor, y: torch.Tensor, transpose_x: Any = None, transpose_y: Any = None) -> torch.Tensor:
    """Matrix multiplication over the last two dimensions."""
    x = x.transpose(-1, -2) if flag(transpose_x) and x.dim() > 1 else x
    y = y.transpose(-1, -2) if flag(transpose_y) and y.dim() > 1 else y
    return torch.matmul(x, y)


@operation("linear")
def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """x weight^T + bias."""
    return functional.linear(x, weight, bias)


@operation("einsum")
def einsum(values: list[torch.Tensor], equation: str) -> torch.Tensor:
    """Sums of products by Einstein's convention."""
    return torch.einsum(equation, *values)


@operation("scaled_dot_product_attention")
def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None
) -> torch.Tensor:
    """softmax(query key^T / sqrt(size) + mask) value."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        else:
            scores = scores + attn_mask
    return torch.softmax(scores, -1) @ value


def _each(numbers: Any, rank: int) -> list[int]:
    """Returns one number for each spatial dimension, 1 if no numbers are given."""
    return [1] * rank if numbers is None else ints(numbers)


def _padding(
    x: torch.Tensor, kernel: list[int], strides: list[int], dilations: list[int], kind: str, pad: Any
) -> list[int]:
    """The elements before and after each spatial dimension, the first dimension first."""
    if kind == "valid":
        return [0] * (2 * len(kernel))
    if kind == "custom":
        return ints(pad)
    found = []
    for i, size in enumerate(kernel):
        length = x.shape[2 + i]
        reach = (size - 1) * dilations[i] + 1
        total = max(0, (math.ceil(length / strides[i]) - 1) * strides[i] + reach - length)
        low = total // 2 if kind == "same" else total - total // 2
        found += [low, total - low]
    return found


def _apply(x: torch.Tensor, padding: list[int], value: float = 0.0) -> torch.Tensor:
    pairs = [(padding[i], padding[i + 1]) for i in range(0, len(padding), 2)]
    flat = [number for pair in reversed(pairs) for number in pair]
    return functional.pad(x, flat, value=value) if any(flat) else x


@operation("conv")
def conv(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    strides: Any = None,
    pad_type: str = "valid",
    pad: Any = None,
    dilations: Any = None,
    groups: Any = None,
) -> torch.Tensor:
    """Convolution in one to three dimensions."""
    rank = x.dim() - 2
    steps, spread = _each(strides, rank), _each(dilations, rank)
    x = _apply(x, _padding(x, list(weight.shape[2:]), steps, spread, pad_type, pad))
    function = (functional.conv1d, functional.conv2d, functional.conv3d)[rank - 1]
    return function(x, weight, bias, tuple(steps), 0, tuple(spread), integer(groups, 1))


@operation("conv_transpose")
def conv_transpose(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    pad: Any = None,
    output_shape: Any = None,
    pad_type: str = "valid",
    strides: Any = None,
    dilations: Any = None,
    groups: Any = None,
) -> torch.Tensor:
    """Transposed convolution; padding is cut from the result."""
    rank = x.dim() - 2
    steps, spread = _each(strides, rank), _each(dilations, rank)
    if pad_type not in ("valid", "custom"):
        raise NotImplementedError(f"conv_transpose with pad_type {pad_type}")
    cut = ints(pad) if pad_type == "custom" and pad is not None else [0] * (2 * rank)
    full = [(x.shape[2 + i] - 1) * steps[i] + (weight.shape[2 + i] - 1) * spread[i] + 1 for i in range(rank)]
    wanted = ints(output_shape)[-rank:] if output_shape is not None else [
        full[i] - cut[2 * i] - cut[2 * i + 1] for i in range(rank)
    ]  # fmt: skip
    function = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[rank - 1]
    result = function(x, weight, None, tuple(steps), 0, 0, integer(groups, 1), tuple(spread))
    for i in range(rank):
        missing = cut[2 * i] + wanted[i] - result.shape[2 + i]
        if missing > 0:  # positions past the end of the input contribute nothing
            result = _apply(result, _one_side(rank, i, missing))
        result = result.narrow(2 + i, cut[2 * i], wanted[i])
    return result if bias is None else result + bias.reshape([-1] + [1] * rank)


def _one_side(rank: int, axis: int, count: int) -> list[int]:
    padding = [0] * (2 * rank)
    padding[2 * axis + 1] = count
    return padding


def _pool_padding(
    x: torch.Tensor, kernel: list[int], strides: list[int], kind: str, pad: Any, ceil_mode: bool
) -> tuple[list[int], list[int]]:
    """The padding, and the extra elements after it that windows read in ceil mode."""
    padding = _padding(x, kernel, strides, [1] * len(kernel), kind, pad)
    more = [0] * len(padding)
    for i, size in enumerate(kernel):
        length = x.shape[2 + i] + padding[2 * i] + padding[2 * i + 1]
        if ceil_mode and (rest := (length - size) % strides[i]):
            windows = (length - size) // strides[i] + 2
            # Windows that would start in the padding after the input are dropped.
            if (windows - 1) * strides[i] < x.shape[2 + i] + padding[2 * i]:
                more[2 * i + 1] = strides[i] - rest
    return padding, more


@operation("max_pool")
def max_pool(
    x: torch.Tensor, kernel_sizes: Any, pad_type: str, strides: Any = None, pad: Any = None, ceil_mode: Any = None
) -> torch.Tensor:
    """The largest element of each window."""
    kernel = ints(kernel_sizes)
    steps = _each(strides, len(kernel))
    padding, more = _pool_padding(x, kernel, steps, pad_type, pad, flag(ceil_mode))
    x = _apply(x, [a + b for a, b in zip(padding, more, strict=True)], -math.inf)
    return _pool(x, kernel, steps, "max")


@operation("avg_pool")
def avg_pool(
    x: torch.Tensor,
    kernel_sizes: Any,
    pad_type: str,
    exclude_padding_from_average: Any = None,
    strides: Any = None,
    pad: Any = None,
    ceil_mode: Any = None,
) -> torch.Tensor:
    """The mean of each window, with or without the padding."""
    kernel = ints(kernel_sizes)
    steps = _each(strides, len(kernel))
    padding, more = _pool_padding(x, kernel, steps, pad_type, pad, flag(ceil_mode))
    counted = torch.ones_like(x)
    counted = _apply(_apply(counted, padding, 0.0 if flag(exclude_padding_from_average) else 1.0), more)
    x = _apply(x, [a + b for a, b in zip(padding, more, strict=True)])
    return _pool(x, kernel, steps, "avg") / _pool(counted, kernel, steps, "avg")


@operation("l2_pool")
def l2_pool(
    x: torch.Tensor, kernel_sizes: Any, pad_type: str, strides: Any = None, pad: Any = None, ceil_mode: Any = None
) -> torch.Tensor:
    """The Euclidean norm of each window."""
    kernel = ints(kernel_sizes)
    steps = _each(strides, len(kernel))
    padding, more = _pool_padding(x, kernel, steps, pad_type, pad, flag(ceil_mode))
    x = _apply(x * x, [a + b for a, b in zip(padding, more, strict=True)])
    return torch.sqrt(_pool(x, kernel, steps, "avg") * math.prod(kernel))


def _pool(x: torch.Tensor, kernel: list[int], strides: list[int], kind: str) -> torch.Tensor:
    functions: dict[str, Any] = {
        "max": (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d),
        "avg": (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d),
    }
    return functions[kind][len(kernel) - 1](x, tuple(kernel), tuple(strides))
