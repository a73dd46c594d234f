# SPDX-License-Identifier: BSD-3-Clause
"""Positions of pictures that are cut into tiles: of tiles in the picture, and of tokens in tiles."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.modules._replace import replace_by_name


def _of_tiles(table: Tensor, aspect_ratio: Tensor, n_tiles: int) -> Tensor:
    """The entries of a table [rows, columns, ...] for the tiles of pictures: [pictures, n_tiles, ...].

    `aspect_ratio`: int64 [pictures, 2], rows and columns of tiles. Tiles beyond these are padding, whose entries are 0.
    """
    rows, columns = (part[:, None] for part in aspect_ratio.unbind(-1))
    tile = torch.arange(n_tiles)
    used = tile < rows * columns
    row, column = (torch.where(used, place, 0) for place in (tile // columns, tile % columns))
    entries = table[row, column]
    return entries * used.reshape(*used.shape, *[1] * (table.dim() - 2))


def _resized(grid: Tensor, size: int) -> Tensor:
    """A square grid of vectors [rows, columns, width] with `size` rows and columns, linearly interpolated."""
    picture = grid.permute(2, 0, 1)[None]
    return F.interpolate(picture, size=(size, size), mode="bilinear", align_corners=True)[0].permute(1, 2, 0)


def _check_shape(name: str, found: Tensor, expected: Tensor, fixed: tuple[int, ...]) -> None:
    is_square = found.dim() == 2 or found.shape[0] == found.shape[1]
    if found.dim() != expected.dim() or not is_square or any(found.shape[d] != expected.shape[d] for d in fixed):
        raise ValueError(
            f"{name}: expected as many rows as columns of tiles, and the widths of {list(expected.shape)}; found "
            f"{list(found.shape)}"
        )


class TilePositionalEmbedding(nn.Module):
    """Adds a vector for each tile, the same to all of its tokens, times tanh(gate).

    Weights for another number of tiles are interpolated when they are loaded.
    """

    def __init__(self, max_num_tiles: int, embed_dim: int) -> None:
        """`max_num_tiles`: the most rows and columns of tiles of a picture."""
        super().__init__()
        self.max_num_tiles, self.embed_dim = max_num_tiles, embed_dim
        self.embedding = nn.Parameter(embed_dim**-0.5 * torch.randn(max_num_tiles, max_num_tiles, 1, embed_dim))
        self.gate = nn.Parameter(torch.zeros(1))
        self.register_load_state_dict_pre_hook(_interpolate_tiles)

    def forward(self, x: Tensor, aspect_ratio: Tensor) -> Tensor:
        """x is [pictures, tiles, tokens, embed_dim]; `aspect_ratio` int64 [pictures, 2], rows and columns of tiles."""
        return x + _of_tiles(self.embedding, aspect_ratio, x.shape[1]) * self.gate.tanh()


@torch.no_grad()
def _interpolate_tiles(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    found = state_dict.get(f"{prefix}embedding")
    if found is not None:
        assert isinstance(module, TilePositionalEmbedding)
        _check_shape(f"{prefix}embedding", found, module.embedding, (2, 3))
        state_dict[f"{prefix}embedding"] = _resized(found.flatten(2), module.max_num_tiles).unsqueeze(2)


class TiledTokenPositionalEmbedding(nn.Module):
    """Adds a vector for each token of a tile, times 1 - tanh(gate), and one for each token of each tile, times
    tanh(gate).

    The first token of a tile is its class token. Weights for another number of tiles or of tokens are interpolated when
    they are loaded.
    """

    def __init__(self, max_num_tiles: int, embed_dim: int, tile_size: int, patch_size: int) -> None:
        """`tile_size`, `patch_size`: in pixels; a patch is a token."""
        super().__init__()
        self.max_num_tiles, self.patch_grid_size = max_num_tiles, tile_size // patch_size
        self.n_tokens_per_tile = self.patch_grid_size**2 + 1
        shape, scale = (self.n_tokens_per_tile, embed_dim), embed_dim**-0.5
        self.local_token_positional_embedding = nn.Parameter(scale * torch.randn(shape))
        self.global_token_positional_embedding = nn.Parameter(scale * torch.randn(max_num_tiles, max_num_tiles, *shape))
        self.gate = nn.Parameter(torch.zeros(1))
        self.register_load_state_dict_pre_hook(_interpolate_tokens)

    def forward(self, x: Tensor, aspect_ratio: Tensor) -> Tensor:
        """x is [pictures, tiles, tokens, embed_dim]; `aspect_ratio` int64 [pictures, 2], rows and columns of tiles."""
        gate = self.gate.tanh()
        tiles = _of_tiles(self.global_token_positional_embedding, aspect_ratio, x.shape[1])
        return x + self.local_token_positional_embedding * (1 - gate) + tiles * gate


@torch.no_grad()
def _interpolate_tokens(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    assert isinstance(module, TiledTokenPositionalEmbedding)
    grid, tiles = module.patch_grid_size, module.max_num_tiles
    local, whole = (f"{prefix}{name}_token_positional_embedding" for name in ("local", "global"))
    if (found := state_dict.get(local)) is not None:
        _check_shape(local, found, module.local_token_positional_embedding, (1,))
        side = math.isqrt(found.shape[0] - 1)
        patches = _resized(found[1:].unflatten(0, (side, side)), grid).flatten(0, 1)
        state_dict[local] = torch.cat([found[:1], patches])
    if (found := state_dict.get(whole)) is not None:
        _check_shape(whole, found, module.global_token_positional_embedding, (3,))
        side = math.isqrt(found.shape[2] - 1)
        # All patches of the picture form one grid.
        picture = found[:, :, 1:].unflatten(2, (side, side)).transpose(1, 2).flatten(2, 3).flatten(0, 1)
        patches = _resized(picture, tiles * grid).unflatten(0, (tiles, grid)).unflatten(2, (tiles, grid))
        patches = patches.transpose(1, 2).flatten(2, 3)
        state_dict[whole] = torch.cat([_resized(found[:, :, 0], tiles).unsqueeze(2), patches], dim=2)


def replace_tile_positional_embedding(model: nn.Module) -> nn.Module:
    """Replaces torchtune's module of this name inside of a model, which is returned."""

    def make(theirs: Any) -> nn.Module:
        most, _, _, width = theirs.embedding.shape
        return _with_weights(TilePositionalEmbedding(most, width), theirs)

    return replace_by_name(model, "TilePositionalEmbedding", TilePositionalEmbedding, make)


def replace_tiled_token_positional_embedding(model: nn.Module) -> nn.Module:
    """Replaces torchtune's module of this name inside of a model, which is returned."""

    def make(theirs: Any) -> nn.Module:
        most, _, tokens, width = theirs.global_token_positional_embedding.shape
        return _with_weights(TiledTokenPositionalEmbedding(most, width, math.isqrt(tokens - 1), 1), theirs)

    return replace_by_name(model, "TiledTokenPositionalEmbedding", TiledTokenPositionalEmbedding, make)


def _with_weights(ours: nn.Module, theirs: nn.Module) -> nn.Module:
    ours.load_state_dict(theirs.state_dict())
    return ours
