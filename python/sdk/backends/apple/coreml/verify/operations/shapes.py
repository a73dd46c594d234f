# SPDX-License-Identifier: BSD-3-Clause
"""Operations that move elements."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from sdk.backends.apple.coreml.verify.operations.registry import flag, integer, ints, number, operation


@operation("reshape")
def reshape(x: torch.Tensor, shape: Any) -> torch.Tensor:
    """Reshapes x: 0 keeps a size, counted from the last dimension; -1 is the size that remains."""
    sizes = ints(shape)
    for i, size in enumerate(sizes):
        if size == 0:
            axis = x.dim() - (len(sizes) - i)
            sizes[i] = x.shape[axis] if axis >= 0 else 1
    return x.reshape(sizes)


@operation("reshape_like")
def reshape_like(x: torch.Tensor, ref_tensors: Any, begins: Any, ends: Any, end_masks: Any) -> torch.Tensor:
    """Reshapes x to sizes that are taken from the shapes of other tensors."""
    sizes: list[int] = []
    for tensor, begin, end, mask in zip(ref_tensors, begins, ends, end_masks, strict=True):
        sizes += tensor.shape[integer(begin) : None if flag(mask) else integer(end)]
    return x.reshape(sizes)


@operation("expand_dims")
def expand_dims(x: torch.Tensor, axes: Any) -> torch.Tensor:
    """Adds dimensions of size 1 at these axes of the result."""
    places = ints(axes)
    rank = x.dim() + len(places)
    for axis in sorted(axis % rank for axis in places):
        x = x.unsqueeze(axis)
    return x


@operation("squeeze")
def squeeze(x: torch.Tensor, axes: Any = None) -> torch.Tensor:
    """Removes all dimensions of size 1, or those in `axes`."""
    return x.squeeze() if axes is None else x.squeeze(tuple(ints(axes)))


@operation("transpose")
def transpose(x: torch.Tensor, perm: Any) -> torch.Tensor:
    """Permutes the dimensions."""
    return x.permute(ints(perm))


@operation("flatten2d")
def flatten2d(x: torch.Tensor, axis: Any = None) -> torch.Tensor:
    """Flattens x to a matrix: the dimensions before the axis become its rows."""
    place = integer(axis, 1)
    return x.reshape(math.prod(x.shape[: place % x.dim() if place < 0 else place]), -1)


@operation("concat")
def concat(values: list[torch.Tensor], axis: Any, interleave: Any = None) -> torch.Tensor:
    """Concatenates tensors along an axis, or interleaves their elements."""
    dim = integer(axis)
    dtype = values[0].dtype
    if flag(interleave):
        return torch.stack(values, dim=dim % values[0].dim() + 1).flatten(dim, dim + 1)
    return torch.cat([value.reshape(1) if value.dim() == 0 else value for value in values], dim).to(dtype)


@operation("stack")
def stack(values: list[torch.Tensor], axis: Any) -> torch.Tensor:
    """Stacks tensors along a new axis."""
    return torch.stack(values, integer(axis))


@operation("split")
def split(x: torch.Tensor, axis: Any, num_splits: Any = None, split_sizes: Any = None) -> tuple[torch.Tensor, ...]:
    """Splits x into parts along an axis."""
    dim = integer(axis)
    if split_sizes is not None:
        return torch.split(x, ints(split_sizes), dim)
    return torch.split(x, x.shape[dim] // integer(num_splits), dim)


@operation("tile")
def tile(x: torch.Tensor, reps: Any) -> torch.Tensor:
    """Repeats x along each dimension."""
    return x.repeat(ints(reps))


@operation("reverse")
def reverse(x: torch.Tensor, axes: Any = None) -> torch.Tensor:
    """Reverses the order of the elements along the axes, by default along all."""
    return x.flip(list(range(x.dim())) if axes is None else ints(axes))


@operation("reverse_sequence")
def reverse_sequence(x: torch.Tensor, lengths: Any, seq_axis: Any = None, batch_axis: Any = None) -> torch.Tensor:
    """Reverses the first `lengths[i]` elements of sequence i."""
    sequence, batch = integer(seq_axis), integer(batch_axis)
    rows = []
    for row, length in zip(x.unbind(batch), ints(lengths), strict=True):
        axis = sequence - (1 if sequence > batch else 0)
        first, rest = row.narrow(axis, 0, length), row.narrow(axis, length, row.shape[axis] - length)
        rows.append(torch.cat([first.flip(axis), rest], axis))
    return torch.stack(rows, batch)


@operation("pad")
def pad(x: torch.Tensor, pad: Any, mode: str = "constant", constant_val: Any = None) -> torch.Tensor:
    """Pads the last dimensions."""
    numbers = ints(pad)
    pairs = [(numbers[i], numbers[i + 1]) for i in range(0, len(numbers), 2)]
    flat = [count for pair in reversed(pairs) for count in pair]
    if mode == "constant":
        return functional.pad(x, flat, value=number(constant_val))
    for axis, (low, high) in zip(range(x.dim() - len(pairs), x.dim()), pairs, strict=True):
        size = x.shape[axis]
        places = torch.arange(-low, size + high)
        if mode == "reflect":
            places = torch.where(places < 0, -places, places)
            places = torch.where(places >= size, 2 * (size - 1) - places, places)
        x = x.index_select(axis, places.clamp(0, size - 1))
    return x


@operation("shape")
def shape(x: torch.Tensor) -> torch.Tensor:
    """The sizes of a tensor."""
    return torch.tensor(x.shape, dtype=torch.int32)


@operation("fill")
def fill(shape: Any, value: Any = None) -> torch.Tensor:
    """A tensor of equal elements."""
    dtype = value.dtype if isinstance(value, torch.Tensor) else torch.float32
    return torch.full(ints(shape), value.item() if isinstance(value, torch.Tensor) else 0.0, dtype=dtype)


@operation("fill_like")
def fill_like(ref_tensor: torch.Tensor, value: Any = None) -> torch.Tensor:
    """A tensor of equal elements with the shape of a given tensor."""
    return fill(list(ref_tensor.shape), value)


@operation("range_1d")
def range_1d(end: torch.Tensor, start: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """start, start + step, ... without the end."""
    return torch.arange(start.item(), end.item(), step.item(), dtype=end.dtype)


@operation("band_part")
def band_part(x: torch.Tensor, lower: Any = None, upper: Any = None) -> torch.Tensor:
    """The band around the diagonals of matrices, zero elsewhere; -1 keeps a side."""
    low, high = integer(lower, -1), integer(upper, -1)
    rows, columns = torch.arange(x.shape[-2]).unsqueeze(1), torch.arange(x.shape[-1])
    kept = ((low < 0) | (rows - columns <= low)) & ((high < 0) | (columns - rows <= high))
    return torch.where(kept, x, torch.zeros_like(x))


@operation("sliding_windows")
def sliding_windows(x: torch.Tensor, axis: Any, size: Any, stride: Any = None) -> torch.Tensor:
    """Windows along an axis, as a new dimension after it."""
    dim = integer(axis) % x.dim()
    return x.unfold(dim, integer(size), integer(stride, 1)).movedim(-1, dim + 1)


@operation("pixel_shuffle")
def pixel_shuffle(x: torch.Tensor, upscale_factor: Any) -> torch.Tensor:
    """Channels become pixels, the channels of a pixel in sequence."""
    return functional.pixel_shuffle(x, integer(upscale_factor))


@operation("pixel_unshuffle")
def pixel_unshuffle(x: torch.Tensor, downscale_factor: Any) -> torch.Tensor:
    """Pixels become channels, the channels of a pixel in sequence."""
    return functional.pixel_unshuffle(x, integer(downscale_factor))


@operation("depth_to_space")
def depth_to_space(x: torch.Tensor, block_size: Any) -> torch.Tensor:
    """Channels become pixels, the pixels of a block in sequence."""
    block = integer(block_size)
    n, c, h, w = x.shape
    x = x.reshape(n, block, block, c // block**2, h, w)
    return x.permute(0, 3, 4, 1, 5, 2).reshape(n, c // block**2, h * block, w * block)


@operation("space_to_depth")
def space_to_depth(x: torch.Tensor, block_size: Any) -> torch.Tensor:
    """Pixels become channels, the pixels of a block in sequence."""
    block = integer(block_size)
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // block, block, w // block, block)
    return x.permute(0, 3, 5, 1, 2, 4).reshape(n, c * block**2, h // block, w // block)


@operation("space_to_batch")
def space_to_batch(x: torch.Tensor, block_shape: Any, paddings: Any) -> torch.Tensor:
    """Pixels become elements of the batch."""
    (b_h, b_w), (top, bottom, left, right) = ints(block_shape), ints(paddings)
    x = functional.pad(x, [left, right, top, bottom])
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // b_h, b_h, w // b_w, b_w)
    return x.permute(3, 5, 0, 1, 2, 4).reshape(n * b_h * b_w, c, h // b_h, w // b_w)


@operation("batch_to_space")
def batch_to_space(x: torch.Tensor, block_shape: Any, crops: Any) -> torch.Tensor:
    """Elements of the batch become pixels."""
    (b_h, b_w), (top, bottom, left, right) = ints(block_shape), ints(crops)
    n, c, h, w = x.shape
    x = x.reshape(b_h, b_w, n // (b_h * b_w), c, h, w).permute(2, 3, 4, 0, 5, 1)
    x = x.reshape(n // (b_h * b_w), c, h * b_h, w * b_w)
    return x[:, :, top : h * b_h - bottom, left : w * b_w - right]


@operation("crop")
def crop(x: torch.Tensor, crop_height: Any, crop_width: Any) -> torch.Tensor:
    """x without the given numbers of rows and columns at its borders."""
    (top, bottom), (left, right) = ints(crop_height), ints(crop_width)
    return x[..., top : x.shape[-2] - bottom, left : x.shape[-1] - right]
