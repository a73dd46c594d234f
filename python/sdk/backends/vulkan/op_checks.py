# SPDX-License-Identifier: BSD-3-Clause
"""Conditions of single operators: which calls are supported, and the storages that depend on the call. Checks return
the reason why a call is not supported, or None."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.graph.shapes import dtype_of, shape_of, tensor_of
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


def reduced_dims(node: Node) -> list[int]:
    """The dimensions that a reduction removes, as sorted non-negative numbers."""
    rank = tensor_of(node.args[0]).dim()
    dims = argument_of(node, 1, "dim")
    if isinstance(dims, int):
        dims = [dims]
    return sorted({d % rank for d in dims}) if dims and rank else list(range(rank))


def keeps_dims(node: Node) -> bool:
    """Whether a reduction leaves dimensions of size 1."""
    return bool(argument_of(node, 2, "keepdim", False))


def reduction_storages(rank: int, dims: list[int], keepdim: bool) -> Storages:
    """Returns the storages for a reduction over one or two dimensions: buffers, or textures packed along another
    dimension."""
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
    return reduction_storages(tensor_of(node.args[0]).dim(), reduced_dims(node), keeps_dims(node))


def check_copy(node: Node) -> str | None:
    source = argument_of(node, 1, "src")
    if not isinstance(source, Node) or dtype_of(source) != dtype_of(node) or shape_of(source) != shape_of(node):
        return "it converts or broadcasts the copied tensor"
    return None


def pick_to_copy(node: Node) -> Storages:
    dtypes = {tensor_of(node).dtype, tensor_of(node.args[0]).dtype}
    reprs = ANY_STORAGE if dtypes <= FLOATS else CONTIGUOUS_BUFFER
    return reprs, reprs


def check_convolution(node: Node) -> str | None:
    image = tensor_of(node.args[0])
    if image.dim() not in (3, 4):
        return f"its input has {image.dim()} dimensions; it takes 3 (1D) and 4 (2D)"
    if image.dim() == 3 and node.args[6]:
        return "it is a transposed convolution of one dimension"
    return None


def widened_convolution(node: Node) -> str | None:
    image = tensor_of(node.args[0])
    return "its batch size is not 1" if image.dim() == 4 and image.shape[0] != 1 else None


def pick_convolution(node: Node) -> Storages:
    weight, groups = tensor_of(node.args[1]), node.args[8]
    reprs = CHANNELS_TEXTURE
    if weight.dim() == 3:
        channels, filters, kernel = tensor_of(node.args[0]).shape[1], weight.shape[0], weight.shape[2]
        depthwise = groups == channels == filters and weight.shape[1] == 1
        if kernel == 1 or depthwise:
            reprs = HEIGHT_TEXTURE
    return (reprs, *[None] * 10), (reprs,)


def check_pool(node: Node) -> str | None:
    return None if tensor_of(node.args[0]).dim() in (3, 4) else "its input is not an image"


def check_adaptive_pool(node: Node) -> str | None:
    """Refuses adaptive pools whose windows differ in size."""
    before, after = tensor_of(node.args[0]).shape[-2:], tensor_of(node).shape[-2:]
    for size, result in zip(before, after, strict=True):
        if not isinstance(size, int) or not isinstance(result, int) or size % result:
            return f"it pools {size} elements to {result}, with windows of different sizes"
    return None


def check_index(node: Node) -> str | None:
    indices = node.args[1]
    assert isinstance(indices, list | tuple)
    used = [dim for dim, index in enumerate(indices) if index is not None]
    return None if used[-1] - used[0] + 1 == len(used) else "the dimensions that it indexes are not neighbours"


def widened_index(node: Node) -> str | None:
    tensor = tensor_of(node.args[0])
    if tensor.dim() != 1 or tensor.dtype == torch.bool:
        return "it reads bool, or data of several dimensions"
    return None


def check_grid_sampler(node: Node) -> str | None:
    mode, padding, corners = node.args[2:5]
    if (mode, padding, bool(corners)) != (0, 1, True):
        return "it is not bilinear with border padding and aligned corners"
    return None


def check_embedding(node: Node) -> str | None:
    if tensor_of(node.args[0]).numel() > DEFAULT_BUFFER_LIMIT:
        return f"its table has more than {DEFAULT_BUFFER_LIMIT} elements"
    if bool(argument_of(node, 3, "scale_grad_by_freq", False)) or bool(argument_of(node, 4, "sparse", False)):
        return "it is an embedding for training"
    return None


def check_where(node: Node) -> str | None:
    ranks = {tensor.dim() for argument in node.args[:3] for tensor in tensors_in(argument)}
    return "its operands have more than four dimensions" if max(ranks) > 4 else None


def widened_arange(node: Node) -> str | None:
    return "its bounds are symbolic" if any(isinstance(argument, Node) for argument in node.args) else None


def check_index_put(node: Node) -> str | None:
    indices = [index for index in node.args[1] if index is not None]
    if len(indices) != 1 or tensor_of(indices[0]).dim() != 1:
        return "it writes at several tensors of indices, or at one of more than one dimension"
    return "it accumulates" if argument_of(node, 3, "accumulate", False) else None


def check_embedding_4bit(node: Node) -> str | None:
    table, scales, zero_points = node.args[:3]
    if zero_points is not None:
        return "its table has zero points"
    groups = tensor_of(scales).numel() // tensor_of(table).shape[0]
    return None if 2 * tensor_of(table).shape[1] % groups == 0 else "its rows are not whole groups"


def check_custom_sdpa(node: Node) -> str | None:
    return "it has dropout" if argument_of(node, 5, "drpout_p", 0.0) else None


def widened_custom_sdpa(node: Node) -> str | None:
    return "it has a mask" if argument_of(node, 4, "attn_mask") is not None else None


def check_sdpa_with_kv_cache(node: Node) -> str | None:
    if node.kwargs.get("attn_mask") is not None:
        return "it has a mask; it takes attention that is causal or to all positions"
    return "it has dropout" if node.kwargs.get("drpout_p", 0.0) else _check_caches(node)


def check_update_cache(node: Node) -> str | None:
    return _check_caches(node)


def _check_caches(node: Node) -> str | None:
    """Requires that nothing reads the old contents of the caches, because the call changes them in place."""
    operands = [value for value in node.kwargs.values() if isinstance(value, Node)]
    if any(tensor.dtype not in FLOATS for operand in operands for tensor in tensors_in(operand)):
        return "its operands are neither float16 nor float32"
    for cache in node.kwargs.get("_all_bases") or ():
        if not isinstance(cache, Node) or list(cache.users) != [node]:
            return f"its cache {cache} is read elsewhere, too"
        if cache.op != "placeholder" and not _is_changed_cache(cache):
            return f"its cache {cache} is not a buffer of the program"
    return None if "_all_bases" in node.kwargs else "it changes an operand in place"


def _is_changed_cache(node: Node) -> bool:
    """Whether a node is the cache that another call has changed."""
    source = node.args[0] if node.args else None
    return isinstance(source, Node) and "_all_bases" in source.kwargs and node.args[1] != 0
