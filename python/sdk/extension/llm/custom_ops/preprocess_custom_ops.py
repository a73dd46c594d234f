# SPDX-License-Identifier: BSD-3-Clause
"""Registers `torch.ops.preprocess.tile_crop`, which cuts pictures into the tiles of Llama's vision encoder."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.library import Library

__all__ = ["MAX_NUM_TILES", "preprocess_op_lib", "tile_crop", "tile_crop_impl", "tile_crop_out_impl"]

preprocess_op_lib = Library("preprocess", "FRAGMENT")

MAX_NUM_TILES = 4
"""The most tiles of a picture whose size is not known when a program is exported."""


def _counts(input: Tensor, tile_size: int) -> tuple[int, int]:
    if input.dim() != 3:
        raise ValueError(f"tile_crop: expected (channels, height, width), found the shape {list(input.shape)}")
    if tile_size <= 0:
        raise ValueError(f"tile_crop: tile_size is {tile_size}; it must be positive")
    return input.shape[1] // tile_size, input.shape[2] // tile_size


def tile_crop_impl(input: Tensor, tile_size: int) -> Tensor:
    """Cuts `input` (channels, height, width) into (tiles, channels, tile_size, tile_size), row by row."""
    rows, columns = _counts(input, tile_size)
    if (rows * tile_size, columns * tile_size) != tuple(input.shape[1:]):
        height, width = input.shape[1:]
        raise ValueError(
            f"tile_crop: the picture has {height} x {width} pixels, and both must be multiples of the tile size "
            f"{tile_size}"
        )
    tiles = input.reshape(input.shape[0], rows, tile_size, columns, tile_size).permute(1, 3, 0, 2, 4)
    return tiles.reshape(rows * columns, input.shape[0], tile_size, tile_size).clone()


def tile_crop_out_impl(input: Tensor, tile_size: int, out: Tensor) -> Tensor:
    """`tile_crop_impl`, written to `out`."""
    tiles = tile_crop_impl(input, tile_size)
    return out.resize_(tiles.shape).copy_(tiles)


def tile_crop(output: Tensor, tile_size: int) -> Tensor:
    """Tiles without values, as `torch.export` needs them. Their number follows from the picture's size; of a picture
    whose size is not known there are at most `MAX_NUM_TILES`."""
    rows, columns = _counts(output, tile_size)
    tiles = rows * columns
    if isinstance(tiles, torch.SymInt):
        tiles = torch.library.get_ctx().new_dynamic_size(min=0, max=MAX_NUM_TILES)
    return output.new_empty([tiles, output.shape[0], tile_size, tile_size])


if not torch._C._jit_get_operation("preprocess::tile_crop")[1]:
    preprocess_op_lib.define("tile_crop(Tensor input, int tile_size) -> Tensor")
    preprocess_op_lib.define("tile_crop.out(Tensor input, int tile_size, *, Tensor(a!) out) -> Tensor(a!)")
    preprocess_op_lib.impl("tile_crop", tile_crop_impl, "CompositeExplicitAutograd")
    preprocess_op_lib.impl("tile_crop.out", tile_crop_out_impl, "CompositeExplicitAutograd")
    torch.library.register_fake("preprocess::tile_crop", tile_crop, lib=preprocess_op_lib)
