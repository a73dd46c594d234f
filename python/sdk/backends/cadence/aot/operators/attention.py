# SPDX-License-Identifier: BSD-3-Clause
"""Rotary embeddings, packed masks, embedding tables, and boxes of regions."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor

from sdk.backends.cadence.aot.operators.registry import check, check_dtype, operator

_ROPE = "Tensor input, Tensor sin_tensor, Tensor cos_tensor, Tensor? pos"
_BITS = 8


def _check_rope(input: Tensor, sin_tensor: Tensor, cos_tensor: Tensor, pos: Tensor | None) -> tuple[int, int]:
    check(input.dim() in (4, 5), f"Input tensor must be 4D or 5D. Got {input.dim()}D tensor")
    check(input.shape[0] == 1, f"Input tensor must have batch size 1, found {input.shape[0]}")
    length, depth = int(input.shape[1]), prod(input.shape[3:])
    check(depth % 2 == 0, f"Hidden dimension must be divisible by 2, found {depth}")
    for name, table in (("sin_tensor", sin_tensor), ("cos_tensor", cos_tensor)):
        check_dtype("rope", name, table, torch.float32)
        fits = table.dim() == 2 and table.shape[1] * 2 == depth and (pos is not None or table.shape[0] >= length)
        check(fits, f"{name} must have shape <kvseq (>= {length}) x {depth // 2}>. Got {list(table.shape)}")
    check(pos is None or tuple(pos.shape) == (length,),
          f"pos must have shape [{length}]. Got {None if pos is None else list(pos.shape)}")  # fmt: skip
    return length, depth


def _rope_shape(input: Tensor, sin_tensor: Tensor, cos_tensor: Tensor, pos: Tensor | None) -> Tensor:
    _check_rope(input, sin_tensor, cos_tensor, pos)
    return input.new_empty(input.shape)


def _tables(length: int, tables: tuple[Tensor, Tensor], pos: Tensor | None) -> tuple[Tensor, Tensor]:
    first, second = ((table[:length] if pos is None else table[pos]).unsqueeze(1) for table in tables)
    return first, second


@operator("rope", _ROPE, _rope_shape)
def rope(input: Tensor, sin_tensor: Tensor, cos_tensor: Tensor, pos: Tensor | None) -> Tensor:
    """Rotates pairs of adjacent elements: 2i and 2i + 1 of the last dimension of (1, sequence, heads, depth)."""
    length, depth = _check_rope(input, sin_tensor, cos_tensor, pos)
    sines, cosines = _tables(length, (sin_tensor, cos_tensor), pos)
    values = input.reshape(*input.shape[:3], depth)
    even, odd = values[..., ::2], values[..., 1::2]
    pairs = torch.stack((even * cosines - odd * sines, even * sines + odd * cosines), -1)
    return pairs.reshape(input.shape)


@operator("rope_rotate_stacked_halves", _ROPE, _rope_shape)
def rope_rotate_stacked_halves(input: Tensor, sin_tensor: Tensor, cos_tensor: Tensor, pos: Tensor | None) -> Tensor:
    """Rotates pairs of elements i and i + depth / 2 of the last dimension of (1, sequence, heads, depth)."""
    length, depth = _check_rope(input, sin_tensor, cos_tensor, pos)
    sines, cosines = _tables(length, (sin_tensor, cos_tensor), pos)
    first, second = input.reshape(*input.shape[:3], depth).chunk(2, -1)
    halves = torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)
    return halves.reshape(input.shape)


def _mask_shape(mask: Tensor, threshold: float) -> Tensor:
    check_dtype("sdpa_bitwise_mask_gen", "a mask", mask, torch.float32, torch.bool)
    check(mask.dim() >= 1 and mask.shape[-1] % _BITS == 0,
          f"cadence::sdpa_bitwise_mask_gen: expected a last size that 8 divides, found {list(mask.shape)}")  # fmt: skip
    return mask.new_empty([*mask.shape[:-1], mask.shape[-1] // _BITS], dtype=torch.uint8)


@operator("sdpa_bitwise_mask_gen", "Tensor mask, float threshold", _mask_shape)
def sdpa_bitwise_mask_gen(mask: Tensor, threshold: float) -> Tensor:
    """Packs a mask into bits; a bit is 1 where the position is masked: where a bool is False or a float is below the
    threshold. The first of eight positions is the lowest bit of the byte."""
    packed = _mask_shape(mask, threshold)
    masked = ~mask if mask.dtype == torch.bool else mask < threshold
    weights = 1 << torch.arange(_BITS)
    return (masked.reshape(*packed.shape, _BITS) * weights).sum(-1).to(torch.uint8)


def _embedding_shape(weight: Tensor, weight_scales: Tensor, weight_zero_points: Tensor | None, indices: Tensor,
                     pruned_weights: bool = False) -> Tensor:  # fmt: skip
    check(not pruned_weights, "cadence::quantized_embedding_byte: expected pruned_weights=False, found True")
    check(
        weight.dim() == 2, f"cadence::quantized_embedding_byte: expected a table of 2 dimensions, found {weight.dim()}"
    )
    groups = weight_scales.shape[1] if weight_scales.dim() == 2 else 1
    check(weight_scales.dim() in (1, 2) and weight.shape[1] % groups == 0,
          f"cadence::quantized_embedding_byte: expected scales (rows) or (rows, groups) for {list(weight.shape)}, "
          f"found {list(weight_scales.shape)}")  # fmt: skip
    return weight_scales.new_empty([*indices.shape, weight.shape[1]], dtype=torch.float32)


@operator("quantized_embedding_byte",
          "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, Tensor indices, "
          "bool pruned_weights=False", _embedding_shape)  # fmt: skip
def quantized_embedding_byte(weight: Tensor, weight_scales: Tensor, weight_zero_points: Tensor | None,
                             indices: Tensor, pruned_weights: bool = False) -> Tensor:  # fmt: skip
    if pruned_weights:
        raise NotImplementedError(
            "cadence::quantized_embedding_byte: expected pruned_weights=False, found True: pass the whole table"
        )
    _embedding_shape(weight, weight_scales, weight_zero_points, indices)
    rows = weight.shape[0]
    grouped = weight.reshape(rows, weight_scales.shape[1] if weight_scales.dim() == 2 else 1, -1).float()
    if weight_zero_points is not None:
        grouped = grouped - weight_zero_points.reshape(rows, -1, 1).float()
    table = (grouped * weight_scales.reshape(rows, -1, 1)).reshape(weight.shape)
    return table[indices].to(torch.float32)


def _boxes_shape(rois: Tensor, *_: Any) -> Tensor:
    check(rois.dim() == 2 and rois.size(1) == 5,
          f"cadence::roi_align_box_processor: expected regions (count, 5), found {list(rois.shape)}")  # fmt: skip
    return rois.new_empty((rois.shape[0], 80), dtype=torch.uint8)


def roi_align_box_processor(rois: Tensor, output_size_h: int, output_size_w: int, sampling_ratio: int,
                            aligned: bool) -> Tensor:  # fmt: skip
    """Not implemented: the vendor does not publish the layout of the 80 bytes of a region."""
    raise NotImplementedError(
        "cadence::roi_align_box_processor: the layout of its result is not published; only the vendor's library has it"
    )


operator("roi_align_box_processor",
         "Tensor rois, int output_size_h, int output_size_w, int sampling_ratio, bool aligned",
         _boxes_shape)(roi_align_box_processor)  # fmt: skip
