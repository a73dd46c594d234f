# SPDX-License-Identifier: BSD-3-Clause
"""Compressed weights."""

from __future__ import annotations

from typing import Any

import torch

from sdk.backends.apple.coreml.verify.operations.elementwise import along
from sdk.backends.apple.coreml.verify.operations.registry import DTYPES, integer, ints, operation


def spread(x: torch.Tensor, shape: list[int]) -> torch.Tensor:
    """Repeats the elements of x, each of which holds for a block, along each axis until x has the given shape."""
    for axis, size in enumerate(shape):
        if x.shape[axis] != size:
            x = x.repeat_interleave(size // x.shape[axis], dim=axis)
    return x


@operation("constexpr_affine_dequantize")
def affine_dequantize(
    quantized_data: torch.Tensor, zero_point: torch.Tensor, scale: torch.Tensor, axis: Any
) -> torch.Tensor:
    """(data - zero point) scale."""
    factor, offset = along(quantized_data, scale, zero_point, axis)
    return (quantized_data.to(torch.float32) - offset) * factor


@operation("constexpr_blockwise_shift_scale")
def blockwise_shift_scale(data: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor | None = None) -> torch.Tensor:
    """(data - offset) scale, with a number for each block."""
    shape = list(data.shape)
    data = data.to(torch.float32)
    if offset is not None:
        data = data - spread(offset.to(torch.float32), shape)
    return data * spread(scale.to(torch.float32), shape)


@operation("constexpr_lut_to_dense")
def lut_to_dense(
    indices: torch.Tensor, lut: torch.Tensor, vector_axis: Any = None, shape: torch.Tensor | None = None
) -> torch.Tensor:
    """The entries of lookup tables; before iOS 18, of one table at packed indices."""
    if shape is not None:
        sizes = ints(shape)
        count = int(torch.tensor(sizes).prod())
        bits = max(1, (lut.numel() - 1).bit_length())
        unpacked = unpack_bits(indices.to(torch.uint8), bits, count)
        return lut[unpacked.to(torch.int64)].reshape(sizes)
    rank = indices.dim()
    entries, width = lut.shape[-2], lut.shape[-1]
    index = indices.to(torch.int64)
    groups = torch.zeros_like(index)
    for axis in range(rank):
        blocks = lut.shape[axis]
        place = torch.arange(index.shape[axis]) // (index.shape[axis] // blocks)
        groups = groups * blocks + place.reshape([-1 if i == axis else 1 for i in range(rank)])
    found = lut.reshape(-1, entries, width)[groups, index]
    if width == 1:
        return found.squeeze(-1)
    axis = integer(vector_axis) % rank
    return found.movedim(-1, axis + 1).flatten(axis, axis + 1)


@operation("constexpr_sparse_to_dense")
def sparse_to_dense(nonzero_data: torch.Tensor, mask: torch.Tensor, shape: torch.Tensor | None = None) -> torch.Tensor:
    """Returns zeros, with the given values at the positions that the mask selects."""
    if shape is not None:
        sizes = ints(shape)
        count = int(torch.tensor(sizes).prod())
        mask = unpack_bits(mask.to(torch.uint8), 1, count).reshape(sizes)
    dense = torch.zeros(mask.shape, dtype=nonzero_data.dtype)
    dense[mask.to(torch.bool)] = nonzero_data
    return dense


@operation("constexpr_lut_to_sparse")
def lut_to_sparse(
    indices_mask: torch.Tensor, indices_nonzero_data: torch.Tensor, lut: torch.Tensor, vector_axis: Any = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mask, and the entries of a table at its positions."""
    dense = lut_to_dense(sparse_to_dense(indices_nonzero_data, indices_mask), lut, vector_axis)
    return indices_mask, dense[indices_mask.to(torch.bool)]


@operation("constexpr_sparse_blockwise_shift_scale")
def sparse_shift_scale(
    data_mask: torch.Tensor, nonzero_data: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mask, and the scaled data at its positions."""
    dense = blockwise_shift_scale(sparse_to_dense(nonzero_data, data_mask), scale, offset)
    return data_mask, dense[data_mask.to(torch.bool)]


@operation("constexpr_cast")
def constant_cast(source_val: torch.Tensor, output_dtype: str) -> torch.Tensor:
    """Constants of another dtype."""
    return source_val.to(DTYPES[output_dtype])


def unpack_bits(data: torch.Tensor, bits: int, count: int, signed: bool = False) -> torch.Tensor:
    """Unpacks `count` integers of `bits` bits each, which start at the least significant bit, to int8 or uint8."""
    places = torch.arange(8, dtype=torch.int16)
    stream = ((data.to(torch.int16).unsqueeze(-1) >> places) & 1).reshape(-1)[: count * bits].reshape(count, bits)
    weights = 1 << torch.arange(bits, dtype=torch.int16)
    values = (stream * weights).sum(-1, dtype=torch.int16)
    if signed:
        return torch.where(values >= 1 << (bits - 1), values - (1 << bits), values).to(torch.int8)
    return values.to(torch.uint8)
