# SPDX-License-Identifier: BSD-3-Clause
"""The methods of a multimodal program that turn a picture of any size into embeddings, patch by patch: the vision tower
of Qwen2-VL and Qwen2.5-VL.

The patches of a picture follow each other in units of `merge` by `merge` patches, which become one position each.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401, registers torch.ops.llama
from sdk.extension.llm.export.part import Part
from sdk.extension.llm.model.rope import rotate_halves

PATCHED = ("qwen2_vl", "qwen2_5_vl")
"""Values of `model_type` of models that take pictures of any size as patches."""


class PatchPreprocessor(nn.Module):
    """Normalises the patches of a picture."""

    def __init__(self, normalisation: nn.Module) -> None:
        """`normalisation`: a module that converts uint8 [..., channels, height, width] to floats."""
        super().__init__()
        self.normalisation = normalisation

    def forward(self, patches: Tensor) -> Tensor:
        """Takes uint8 [patches, channels, patch, patch] and returns float32 of the same shape."""
        normalised: Tensor = self.normalisation(patches)[0]
        return normalised


class PatchEncoder(nn.Module):
    """The vision tower and merger of a model of Hugging Face's package transformers, for the patches of one picture.

    Layers with windows keep the patches of a window next to each other. Then a block of queries that is as long as the
    largest window attends only to keys in the same block and in the two next to it.
    """

    def __init__(self, vision: Any, use_operator: bool) -> None:
        """`vision`: the tower in transformers. `use_operator`: layers without windows compute attention with
        `llama::custom_sdpa`, which needs no memory for all scores."""
        super().__init__()
        config = vision.config
        kernel = vision.patch_embed.proj.weight.detach()
        # A picture is a video of equal frames.
        weight = kernel.sum(2).flatten(1)
        self.embed = nn.Linear(weight.shape[1], weight.shape[0], bias=vision.patch_embed.proj.bias is not None)
        self.embed.weight = nn.Parameter(weight)
        if vision.patch_embed.proj.bias is not None:
            self.embed.bias = vision.patch_embed.proj.bias
        self.blocks, self.merger = vision.blocks, vision.merger
        self.register_buffer("frequencies", vision.rotary_pos_emb.inv_freq.detach().clone(), persistent=False)
        self.heads, self.merge = vision.blocks[0].attn.num_heads, config.spatial_merge_size
        self.use_operator = use_operator
        count = len(vision.blocks)
        whole = getattr(config, "fullatt_block_indexes", None)
        self.sees_all = [whole is None or i in whole for i in range(count)]
        self.side = 0
        """The side of a window in units; 0 if all layers see all patches."""
        if not all(self.sees_all):
            self.side = config.window_size // self.merge // config.patch_size

    def forward(self, patches: Tensor, grid: Tensor) -> Tensor:
        """float32 [patches, channels, patch, patch], and int64 [2], the units in a column and in a row of the picture.
        Returns [1, units, dim]."""
        place = torch.arange(patches.shape[0])
        unit, inner = place // self.merge**2, place % self.merge**2
        rows, columns = grid.split(1)
        row, column, window = self._in_windows(unit, rows, columns)
        x = self.embed(patches.flatten(1))
        if self.side:
            x = x[(row * columns + column) * self.merge**2 + inner]
        angles = torch.cat(
            [
                (row * self.merge + inner // self.merge).float()[:, None] * self.frequencies,
                (column * self.merge + inner % self.merge).float()[:, None] * self.frequencies,
            ],
            dim=-1,
        ).repeat(1, 2)
        cos, sin = angles.cos(), angles.sin()
        for block, sees_all in zip(self.blocks, self.sees_all, strict=True):
            q, k, v = block.attn.qkv(block.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(1, 2, 0, 3).unbind(0)
            q, k = rotate_halves(q, cos, sin), rotate_halves(k, cos, sin)
            y = self._attend(q, k, v) if sees_all else self._attend_in_windows(q, k, v, window)
            x = x + block.attn.proj(y)
            x = x + block.mlp(block.norm2(x))
        merged: Tensor = self.merger(x)
        if self.side:
            merged = merged[self._order(torch.arange(merged.shape[0]), rows, columns)]
        return merged[None]

    def _in_windows(self, place: Tensor, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The row, the column and the window number of the units at the indices `place`, in the order in which the
        units of a window follow each other."""
        if not self.side:
            return place // columns, place % columns, place
        in_band = self.side * columns
        above = place // in_band
        height = torch.minimum(rows - self.side * above, torch.full_like(above, self.side))
        left = (place - in_band * above) // (self.side * height)
        inside = place - in_band * above - self.side * height * left
        width = torch.minimum(columns - self.side * left, torch.full_like(left, self.side))
        return self.side * above + inside // width, self.side * left + inside % width, above * columns + left

    def _order(self, unit: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """The indices, in the order of `_in_windows`, of units that are numbered row by row."""
        row, column = unit // columns, unit % columns
        above, left = row // self.side * self.side, column // self.side * self.side
        height = torch.minimum(rows - above, torch.full_like(above, self.side))
        width = torch.minimum(columns - left, torch.full_like(left, self.side))
        return above * columns + left * height + (row - above) * width + column - left

    def _attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Each of [heads, patches, head_dim] sees all. Returns [patches, dim]."""
        if self.use_operator:
            q, k, v = (part.transpose(0, 1)[None].contiguous() for part in (q, k, v))
            return torch.ops.llama.custom_sdpa(q, k, v, 0, None, 0.0, False)[0].flatten(1)
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0].transpose(0, 1).flatten(1)

    def _attend_in_windows(self, q: Tensor, k: Tensor, v: Tensor, window: Tensor) -> Tensor:
        """Attention of [heads, patches, head_dim] in which each patch sees its window."""
        size, count = (self.side * self.merge) ** 2, q.shape[1]
        blocks = (count + size - 1) // size
        first = size * torch.arange(blocks)[:, None]
        queries = first + torch.arange(size)
        keys = first + torch.arange(3 * size) - size
        # Indices before and after the patches repeat the nearest patch; they are masked, or cut off.
        near_queries, near_keys = queries.clamp(min=0, max=count - 1), keys.clamp(min=0, max=count - 1)
        mask = (window[near_queries][:, :, None] == window[near_keys][:, None]) & (keys == near_keys)[:, None]
        parts = ((q, near_queries), (k, near_keys), (v, near_keys))
        q, k, v = (part[:, near].transpose(0, 1) for part, near in parts)  # [blocks, heads, patches, head_dim]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        y = y.transpose(1, 2).flatten(2).flatten(0, 1)
        return y[torch.arange(count)]


def patch_methods(theirs: Any, normalisation: nn.Module, most_positions: int, use_operator: bool) -> dict[str, Part]:
    """The methods for pictures of up to `most_positions` positions. `normalisation`: see `PatchPreprocessor`;
    `use_operator`: see `PatchEncoder`."""
    vision = theirs.model.visual
    config = vision.config
    area = config.spatial_merge_size**2
    units = min(6, most_positions)
    patches = torch.zeros(area * units, config.in_channels, config.patch_size, config.patch_size)
    sizes = {0: area * Dim("units", min=1, max=most_positions)} if most_positions > 1 else None
    grid = torch.tensor([1, units])
    return {
        "vision_encoder": Part(PatchEncoder(vision, use_operator), (patches, grid), sizes),
        "vision_preprocessor": Part(PatchPreprocessor(normalisation), (patches.to(torch.uint8),), sizes),
    }
