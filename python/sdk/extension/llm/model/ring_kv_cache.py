# SPDX-License-Identifier: BSD-3-Clause
"""Caches of the last tokens. A module that works with any model keeps their positions.

In the models of this package, `window` keeps the positions, which all layers with the same window share.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.attention import KVCache
from sdk.extension.llm.model.custom_kv_cache import CustomKVCache
from sdk.extension.llm.model.window import Window


class CacheUpdateStrategy(Enum):
    """Where a full cache stores new tokens."""

    RING_BUFFER = "RingBuffer"
    INVALID = "Invalid"


class CachePositionsManagerWithSink(nn.Module):
    """Tracks the positions of the tokens in a cache of `cache_size` slots: the first `sink_size` tokens stay, the
    others use a ring.

    The buffer `cache_positions`, int64 [cache_size], has them; -1 is a slot without a token.
    """

    def __init__(self, cache_size: int, sink_size: int = 0) -> None:
        super().__init__()
        if not 0 <= sink_size < cache_size:
            raise ValueError(f"a cache of {cache_size} slots has no room for {sink_size} sinks and a ring")
        self.max_context_length, self.sink_size = cache_size, sink_size
        self.ring_size = cache_size - sink_size
        self.register_buffer("cache_positions", torch.full((cache_size,), -1, dtype=torch.int64))

    def calculate_positions_and_update_indices(self, input_pos: Tensor, seq_len: int) -> Tensor:
        """Records `seq_len` consecutive tokens from the position `input_pos[0]` on. Returns their slots.

        Tokens at these and later positions are forgotten, so that a sequence can go back. Raises ValueError for more
        tokens than the ring and the sinks from `input_pos[0]` on have slots.
        """
        # A sequence that begins at position 0 may fill the sinks and the ring; later ones have the ring only.
        start = 0 if not self.sink_size or seq_len <= self.ring_size else int(input_pos[0])
        if seq_len - max(0, self.sink_size - start) > self.ring_size:
            raise ValueError(
                f"{seq_len} tokens do not fit a ring of {self.ring_size} slots; write them in several calls"
            )
        positions = input_pos[:1] + torch.arange(seq_len)
        places = Window(sinks=self.sink_size, ring=self.ring_size).slots(positions)
        kept = torch.where(self.cache_positions < input_pos[:1], self.cache_positions, -1)
        self.cache_positions.copy_(kept.index_copy(0, places, positions))
        return places


class CachePositionsManager(CachePositionsManagerWithSink):
    """The positions of the tokens in a ring."""

    def __init__(
        self, max_context_length: int, cache_update_strategy: CacheUpdateStrategy = CacheUpdateStrategy.RING_BUFFER
    ) -> None:
        if cache_update_strategy is not CacheUpdateStrategy.RING_BUFFER:
            raise ValueError(f"expected CacheUpdateStrategy.RING_BUFFER, found {cache_update_strategy}")
        super().__init__(max_context_length)


class InRing:
    """The common part of caches with a ring.

    The ring has 2 `window_size` slots, so that a call of up to `window_size` tokens does not overwrite what its first
    token sees. With more tokens, after position 0, the first ones see less.
    """

    window_size: int
    sink_size: int
    is_ring_buffer = True
    cache_positions_manager: CachePositionsManagerWithSink

    def create_causal_mask_for_ring_buffer(self, start_pos: int | Tensor, seq_len: int) -> Tensor:
        """Returns the mask for tokens from the position `start_pos` on: 0 where they see a slot, else -inf, [seq_len,
        slots]. Call it after `update`."""
        held = self.cache_positions_manager.cache_positions
        distance = start_pos + torch.arange(seq_len)[:, None] - held
        seen = (distance < self.window_size) | (held < self.sink_size)
        return torch.where(seen & (distance >= 0) & (held >= 0), 0.0, float("-inf"))

    def _use_ring(self, window_size: int, sink_size: int = 0) -> None:
        self.window_size, self.sink_size = window_size, sink_size
        places = places_of(window_size, sink_size)
        self.cache_positions_manager = (
            CachePositionsManagerWithSink(places, sink_size) if sink_size else CachePositionsManager(places)
        )

    def _places(self, input_pos: Tensor, seq_len: int) -> Tensor:
        return self.cache_positions_manager.calculate_positions_and_update_indices(input_pos, seq_len)


def places_of(window_size: int, sink_size: int = 0) -> int:
    """The number of slots of a cache with a ring."""
    return sink_size + 2 * window_size


class RingKVCache(InRing, KVCache):
    """Keys and values of the last tokens, [batch, heads, slots, head_dim] each."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        enable_dynamic_shape: bool,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """`max_context_length`: how many of the last tokens a token sees, itself included."""
        places = places_of(max_context_length)
        super().__init__(max_batch_size, places, n_heads, head_dim, enable_dynamic_shape, dtype)
        self._use_ring(max_context_length)

    def update(self, input_pos: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Writes [batch, heads, tokens, head_dim] from the position `input_pos[0]` on. Returns the whole cache."""
        places = self._places(input_pos, k_val.shape[2])
        self.k_cache[:, :, places] = k_val
        self.v_cache[:, :, places] = v_val
        return self.k_cache, self.v_cache


class KVCacheWithAttentionSink(RingKVCache):
    """Like `RingKVCache`, but also keeps the first `sink_size` tokens."""

    def __init__(
        self,
        n_heads: int,
        head_dim: int,
        enable_dynamic_shape: bool,
        rope: Any,
        window_size: int,
        sink_size: int,
        max_batch_size: int = 1,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """`rope`: a `RopeWithAttentionSink` of the same sizes."""
        KVCache.__init__(
            self, max_batch_size, places_of(window_size, sink_size), n_heads, head_dim, enable_dynamic_shape, dtype
        )
        self.rope = rope
        self._use_ring(window_size, sink_size)

    def evict_tokens(self, input_pos: Tensor, seq_len: int) -> int:
        """Returns by how many positions tokens move to make room for `seq_len` tokens from `input_pos` on: always 0,
        because new tokens replace the oldest ones."""
        return 0


class CustomRingKVCache(InRing, CustomKVCache):
    """`RingKVCache` for `llama::custom_sdpa`, [batch, slots, heads, head_dim]."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """`max_context_length`: how many of the last tokens a token sees, itself included."""
        super().__init__(max_batch_size, places_of(max_context_length), n_heads, head_dim, dtype)
        self._use_ring(max_context_length)

    def update(self, input_pos: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Writes [batch, heads, tokens, head_dim] from the position `input_pos[0]` on. Returns the whole cache, with
        heads first as well."""
        places = self._places(input_pos, k_val.shape[2]).expand(k_val.shape[0], -1)
        return super().update(input_pos, k_val, v_val, places)

    @classmethod
    def from_custom_kv_cache(cls, kv_cache: CustomKVCache | KVCache, sliding_window_size: int) -> CustomRingKVCache:
        """Returns a cache for a window, which replaces a cache of all positions."""
        return cls(
            kv_cache.max_batch_size, sliding_window_size, kv_cache.n_heads, kv_cache.head_dim, kv_cache.k_cache.dtype
        )


class CustomKVCacheWithAttentionSink(CustomRingKVCache):
    """`KVCacheWithAttentionSink` for `llama::custom_sdpa`."""

    def __init__(
        self,
        max_batch_size: int,
        n_heads: int,
        head_dim: int,
        window_size: int,
        sink_size: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        CustomKVCache.__init__(self, max_batch_size, places_of(window_size, sink_size), n_heads, head_dim, dtype)
        self._use_ring(window_size, sink_size)

    @classmethod
    def from_kv_cache_with_attention_sink(cls, kv_cache: KVCacheWithAttentionSink) -> CustomKVCacheWithAttentionSink:
        """A cache of the same window and sinks."""
        return cls(
            kv_cache.max_batch_size, kv_cache.n_heads, kv_cache.head_dim, kv_cache.window_size, kv_cache.sink_size,
            kv_cache.k_cache.dtype,
        )  # fmt: skip
