# SPDX-License-Identifier: BSD-3-Clause
"""Conditions of single operators: which calls are supported, and the storages that depend on the call. Checks return
the reason why a call is not supported, or None."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from sdk.backends.vulkan.op_features import FLOATS, Storages, argument_of, tensors_in
from sdk.backends.vulkan.representations import (
    ANY_STORAGE,
    ANY_TEXTURE,
    CHANNELS,
    CHANNELS_TEXTURE,
    CONTIGUOUS_BUFFER,
    DEFAULT_BUFFER_LIMIT,
    HEIGHT,
    HEIGHT_TEXTURE,
    TEXTURE,
    WIDTH,
    Reprs,
    TensorRepr,
)


def value_of(node: Any) -> torch.Tensor:
    """The (fake) tensor of a node."""
    value = node.meta["val"]
    assert isinstance(value, torch.Tensor)
    return value


def reduced_dims(node: Node) -> list[int]:
    """The dimensions that a reduction removes, from 0 on, in order."""
    rank = value_of(node.args[0]).dim()
    dims = argument_of(node, 1, "dim")
    if isinstance(dims, int):
        dims = [dims]
    return sorted({d % rank for d in dims}) if dims and rank else list(range(rank))


def keeps_dims(node: Node) -> bool:
    """Whether a reduction leaves dimensions of size 1."""
    return bool(argument_of(node, 2, "keepdim", False))


def reduction_storages(rank: int, dims: list[int], keepdim: bool) -> Storages:
    """Those of a reduction of one or two dimensions: rows of a buffer, or textures that pack another dimension."""
    if dims == [rank - 1]:
        reprs: Reprs = CONTIGUOUS_BUFFER | (ANY_TEXTURE if keepdim else frozenset())
    elif len(dims) == 1:
        reprs = ANY_TEXTURE
    else:
        reduced = {rank - 1 - d for d in dims}
        packed = min({0, 1, 2} - reduced)
        reprs = frozenset({TensorRepr(TEXTURE, (WIDTH, HEIGHT, CHANNELS)[packed])})
    return reprs, reprs


def pick_reduction(node: Node) -> Storages:
    return reduction_storages(value_of(node.args[0]).dim(), reduced_dims(node), keeps_dims(node))


def check_copy(node: Node) -> str | None:
    source, result = argument_of(node, 1, "src"), value_of(node)
    if not isinstance(source, Node) or value_of(source).dtype != result.dtype or value_of(source).shape != result.shape:
        return "it converts or broadcasts what it copies"
    return None


def pick_to_copy(node: Node) -> Storages:
    dtypes = {value_of(node).dtype, value_of(node.args[0]).dtype}
    reprs = ANY_STORAGE if dtypes <= FLOATS else CONTIGUOUS_BUFFER
    return reprs, reprs


def check_convolution(node: Node) -> str | None:
    image = value_of(node.args[0])
    if image.dim() not in (3, 4):
        return f"its input has {image.dim()} dimensions; it takes 3 (1D) and 4 (2D)"
    if image.dim() == 3 and node.args[6]:
        return "it is a transposed convolution of one dimension"
    return None


def widened_convolution(node: Node) -> str | None:
    image = value_of(node.args[0])
    return "its batch size is not 1" if image.dim() == 4 and image.shape[0] != 1 else None


def pick_convolution(node: Node) -> Storages:
    weight, groups = value_of(node.args[1]), node.args[8]
    reprs = CHANNELS_TEXTURE
    if weight.dim() == 3:
        channels, filters, kernel = value_of(node.args[0]).shape[1], weight.shape[0], weight.shape[2]
        depthwise = groups == channels == filters and weight.shape[1] == 1
        if kernel == 1 or depthwise:
            reprs = HEIGHT_TEXTURE
    return (reprs, *[None] * 10), (reprs,)


def check_pool(node: Node) -> str | None:
    return None if value_of(node.args[0]).dim() in (3, 4) else "its input is no image"


def check_adaptive_pool(node: Node) -> str | None:
    """Windows have one size."""
    before, after = value_of(node.args[0]).shape[-2:], value_of(node).shape[-2:]
    for size, result in zip(before, after, strict=True):
        if not isinstance(size, int) or not isinstance(result, int) or size % result:
            return f"it pools {size} elements to {result}, with windows of different sizes"
    return None


def check_index(node: Node) -> str | None:
    indices = node.args[1]
    assert isinstance(indices, list | tuple)
    if value_of(node.args[0]).dim() != 1 or sum(index is not None for index in indices) != 1:
        return "it does not read one-dimensional data at one tensor of indices"
    return None


def check_grid_sampler(node: Node) -> str | None:
    mode, padding, corners = node.args[2:5]
    if (mode, padding, bool(corners)) != (0, 1, True):
        return "it is not bilinear with border padding and aligned corners"
    return None


def check_embedding(node: Node) -> str | None:
    if value_of(node.args[0]).numel() > DEFAULT_BUFFER_LIMIT:
        return f"its table has more than {DEFAULT_BUFFER_LIMIT} elements"
    if bool(argument_of(node, 3, "scale_grad_by_freq", False)) or bool(argument_of(node, 4, "sparse", False)):
        return "it is an embedding for training"
    return None


def check_where(node: Node) -> str | None:
    ranks = {tensor.dim() for argument in node.args[:3] for tensor in tensors_in(argument)}
    return "its operands have more than four dimensions" if max(ranks) > 4 else None


def check_arange(node: Node) -> str | None:
    """Sizes that depend on symbolic integers are not computed on the GPU."""
    if any(isinstance(argument, Node) for argument in node.args):
        return "its bounds are symbolic"
    return None
