# SPDX-License-Identifier: BSD-3-Clause
"""Properties of quantising nodes."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE_AFFINE, DYNAMIC, QUANTIZE, TORCHAO
from sdk.backends.xnnpack.quantization import DYNAMIC_NAMES
from sdk.backends.xnnpack.weights import NAMES

_QUANTIZE = {QUANTIZE, "quantized_decomposed.quantize_per_channel.default", TORCHAO[1]} | {n[1] for n in DYNAMIC}
_DEQUANTIZE = {*NAMES, DEQUANTIZE_AFFINE} | {names[2] for names in DYNAMIC}
_CHOOSE = {names[0] for names in DYNAMIC}
_DYNAMIC = (DYNAMIC_NAMES | {names[2] for names in DYNAMIC}) - {DEQUANTIZE_AFFINE}

IS_IMPLICIT_Q_DQ_TAG = "IS_IMPLICIT_Q_DQ_TAG"
"""The key in `node.meta` that `tag_as_implicit_q_dq` sets."""


def is_quant(node: Node) -> bool:
    """Whether a node turns floats into quantised integers."""
    return name_of(node) in _QUANTIZE


def is_dequant(node: Node) -> bool:
    """Whether a node turns quantised integers into floats."""
    return name_of(node) in _DEQUANTIZE


def is_qparam(node: Node) -> bool:
    """Whether a node computes a scale and a zero point at run time."""
    return name_of(node) in _CHOOSE


def is_dynamic_qdq(node: Node) -> bool:
    """Whether a node quantises or dequantises with a scale that is computed at run time."""
    if is_affine_qdq(node):
        return is_per_token(node) and any(name_of(getattr(a, "args", [None])[0]) in _CHOOSE for a in node.args[2:4])
    return name_of(node) in _DYNAMIC and (is_quant(node) or is_dequant(node))


def is_per_channel(node: Node) -> bool:
    """Whether a node quantises or dequantises with a scale for each channel."""
    if is_affine_qdq(node):
        shape, block = _blocks(node)
        return sum(b != s for s, b in zip(shape, block, strict=True)) == 1 and 1 in block and not is_per_token(node)
    return "per_channel." in name_of(node)


def is_per_tensor(node: Node) -> bool:
    """Whether a node quantises or dequantises with one scale."""
    if is_affine_qdq(node):
        shape, block = _blocks(node)
        return shape == block
    return "per_tensor." in name_of(node)


def is_per_token(node: Node) -> bool:
    """Whether a node quantises or dequantises with a scale for each row."""
    if is_affine_qdq(node):
        shape, block = _blocks(node)
        scale = node.args[2]
        found = scale.meta["val"].numel() if isinstance(scale, Node) else 1
        return block == [*[1] * (len(shape) - 1), shape[-1]] and found != 1
    return "per_token." in name_of(node)


def is_per_channel_group(node: Node) -> bool:
    """Whether a node quantises or dequantises with a scale for each group of a channel's elements."""
    if is_affine_qdq(node):
        shape, block = _blocks(node)
        return len(block) == 2 and block[0] == 1 and 1 < block[1] < shape[1]
    return "per_channel_group." in name_of(node)


def is_affine_qdq(node: Node) -> bool:
    """Whether a node is torchao's affine quantise or dequantise, which has blocks of any shape."""
    return name_of(node) in (TORCHAO[1], DEQUANTIZE_AFFINE)


def _blocks(node: Node) -> tuple[list[int], list[int]]:
    """The shape of the tensor that an affine node quantises, and the shape of its blocks."""
    source, block = node.args[:2]
    assert isinstance(source, Node)
    return list(source.meta["val"].shape), list(block)


def tag_as_implicit_q_dq(node: Node) -> None:
    """Marks a quantise or dequantise node as part of an int8 call."""
    node.meta[IS_IMPLICIT_Q_DQ_TAG] = True


def is_tagged_as_implicit_q_dq(node: Node) -> bool:
    """Whether `tag_as_implicit_q_dq` marked a node."""
    return bool(node.meta.get(IS_IMPLICIT_Q_DQ_TAG, False))


def is_tensor_subnormal(tensor: torch.Tensor) -> torch.Tensor:
    """Returns for each element whether it is subnormal: nonzero, and smaller than the smallest normal number of its
    dtype."""
    return (tensor != 0) & (tensor.abs() < torch.finfo(tensor.dtype).smallest_normal)


def validate_quant_scales(scales: float | torch.Tensor) -> None:
    """Raises ValueError for a scale that XNNPACK does not support: it must be finite, positive and normal."""
    values = torch.as_tensor(scales, dtype=torch.float32)
    bad = ~torch.isfinite(values) | (values <= 0) | is_tensor_subnormal(values)
    if bad.any():
        found = values[bad].flatten()[:4].tolist()
        raise ValueError(f"scales have to be finite, positive and not subnormal; found {', '.join(map(str, found))}")


def validate_quant_zeropoints(zp: float | int | torch.Tensor, dtype: torch.dtype, is_4bit: bool) -> None:
    """Raises ValueError for a zero point that XNNPACK does not support: int8 and uint8 have any in their range, int4
    (`is_4bit`) has 0 or 8, and other types have 0."""
    values = torch.as_tensor(zp)
    if is_4bit:
        fits = (values == 0) | (values == 8)
    elif dtype is torch.uint8:
        fits = (values >= 0) & (values <= 255)
    elif dtype is torch.int8:
        fits = (values >= -128) & (values <= 127)
    else:
        fits = values == 0
    if not fits.all():
        found = values[~fits].flatten()[:4].tolist()
        raise ValueError(
            f"zero points of {dtype}{' with 4 bits' if is_4bit else ''}: found {', '.join(map(str, found))}"
        )
