# SPDX-License-Identifier: BSD-3-Clause
"""A key-value cache that `torch.ops.llama` writes in place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401, registers torch.ops.llama


class CustomKVCache(nn.Module):
    """Keys and values of all positions so far, [batch, positions, heads, head_dim] each, as `llama::custom_sdpa` reads
    them."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.max_batch_size, self.max_context_length = max_batch_size, max_context_length
        self.n_heads, self.head_dim = n_heads, head_dim
        shape = (max_batch_size, max_context_length, n_heads, head_dim)
        self.register_buffer("k_cache", torch.zeros(shape, dtype=dtype))
        self.register_buffer("v_cache", torch.zeros(shape, dtype=dtype))

    def write(
        self, start: int, k_val: Tensor, v_val: Tensor, slots: Tensor | None = None, sink_keys: Tensor | None = None
    ) -> None:
        """Writes [batch, tokens, heads, head_dim] from a position on, or to the slots int64 [batch, tokens].

        `sink_keys` are written to the first slots afterwards.
        """
        for value, cache in ((k_val, self.k_cache), (v_val, self.v_cache)):
            if slots is None:
                torch.ops.llama.update_cache(value, cache, start)
            else:
                torch.ops.llama.update_cache_with_indices(value, cache, 0, slots)
        if sink_keys is not None:
            torch.ops.llama.update_cache(sink_keys, self.k_cache, 0)

    def attend(self, q: Tensor, start: int, mask: Tensor | None, scale: float | None) -> Tensor:
        """Attention of [batch, tokens, heads, head_dim] over the cache; causal without a mask."""
        y: Tensor = torch.ops.llama.custom_sdpa(q, self.k_cache, self.v_cache, start, mask, 0.0, mask is None, scale)
        return y

    def update(
        self, input_pos: Tensor, k_val: Tensor, v_val: Tensor, indices: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Updates the cache in the layout of `KVCache`: values and results are [batch, heads, positions, head_dim].

        `input_pos`: int64, its first element is the position of the first token. `indices`: int64 [batch, tokens], the
        positions of all tokens, in place of `input_pos`.
        """
        start: Any = 0
        if indices is None:
            start = input_pos[0].item()
            torch._check(start >= 0)
            torch._check(start + k_val.shape[2] <= self.max_context_length)
        self.write(start, k_val.transpose(1, 2), v_val.transpose(1, 2), indices)
        return self.k_cache.transpose(1, 2), self.v_cache.transpose(1, 2)
