# SPDX-License-Identifier: BSD-3-Clause
"""Caches as inputs and outputs of a program whose shapes are fixed, as NPUs need them.

A call takes the cache and returns the keys and values of its own tokens. The caller puts them into the cache
(`StaticKVCache.apply_update`), and passes a mask of the slots that are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

CacheMap = dict[str, Tensor]
CacheState = tuple[CacheMap, CacheMap]
"""Keys and values by the name of their cache."""
STYLES = ("shift_pointer", "smart_mask")
"""Where tokens are stored: at the end of the cache, whose content moves, or in a ring that starts at its beginning."""


def check_style(style: str) -> None:
    """Raises ValueError for a style that is not known."""
    if style not in STYLES:
        raise ValueError(f"style={style!r}: expected one of {', '.join(STYLES)}")


class StaticKVCache(nn.Module, ABC):
    """The keys or the values of a head, or of all heads of a layer."""

    part: int
    """The index of the map with this cache in a state, which is a pair of maps."""

    def __init__(self, layer_id: int, head_id: int) -> None:
        super().__init__()
        self.layer_id, self.head_id = layer_id, head_id

    @abstractmethod
    def update(
        self, new_data: Tensor, in_cache_state: CacheState | None, out_cache_state: CacheState | None
    ) -> tuple[Tensor, CacheState | None]:
        """Returns the earlier tokens and the new ones [..., tokens, head_dim], and the new state for the caller.

        Without a cache in `in_cache_state`, returns only the new tokens, and None.
        """

    def _appended(
        self, new_data: Tensor, in_cache_state: CacheState | None, out_cache_state: CacheState | None, dim: int
    ) -> tuple[Tensor, CacheState | None]:
        earlier = None if in_cache_state is None else in_cache_state[self.part].get(self.cache_key())
        if earlier is None:
            return new_data, None
        state = ({}, {}) if out_cache_state is None else out_cache_state
        state[self.part][self.cache_key()] = new_data
        return torch.cat([earlier, new_data], dim=dim), state

    def cache_key(self) -> str:
        """Its name in a state."""
        return self.calculate_cache_key(self.layer_id, self.head_id)

    @staticmethod
    def calculate_cache_key(layer_id: int, head_id: int) -> str:
        """The name in a state of the cache of a head."""
        return f"l{layer_id},h{head_id}"

    @staticmethod
    def apply_update(
        cache: Tensor,
        update: Tensor,
        pos: int,
        style: str,
        transpose: bool = False,
        update_pos: int = 0,
        update_len: int | None = None,
    ) -> Tensor:
        """The cache after the call's tokens from `update_pos` on are added, `update_len` of them; all if it is None.

        `pos`: how many tokens came before. `transpose`: tokens are the last dimension, not the second to last.
        """
        check_style(style)
        dim = -1 if transpose else -2
        places = cache.shape[dim]
        length = update.shape[dim] - update_pos if update_len is None else update_len
        kept = min(length, places)  # of too many tokens, the last ones are kept
        new = update.narrow(dim, update_pos + length - kept, kept)
        if style == "shift_pointer":
            return torch.cat([cache.narrow(dim, kept, places - kept), new], dim=dim)
        if not places:
            return cache
        return cache.index_copy(dim, (pos + length - kept + torch.arange(kept)) % places, new)


class StaticKCache(StaticKVCache):
    """Keys."""

    part = 0

    def __init__(self, layer_id: int, head_id: int, transpose: bool = False) -> None:
        """`transpose`: the cache is [..., head_dim, tokens]."""
        super().__init__(layer_id, head_id)
        self.transpose = transpose

    def update(
        self, new_data: Tensor, in_cache_state: CacheState | None, out_cache_state: CacheState | None
    ) -> tuple[Tensor, CacheState | None]:
        """As described in the base class, but [..., head_dim, tokens] with `transpose`."""
        if self.transpose:
            return self._appended(new_data.transpose(-1, -2), in_cache_state, out_cache_state, -1)
        return self._appended(new_data, in_cache_state, out_cache_state, -2)


class StaticVCache(StaticKVCache):
    """Values."""

    part = 1

    def update(
        self, new_data: Tensor, in_cache_state: CacheState | None, out_cache_state: CacheState | None
    ) -> tuple[Tensor, CacheState | None]:
        """As described."""
        return self._appended(new_data, in_cache_state, out_cache_state, -2)


class StaticAttentionMask:
    """Masks for the tokens of a call: `tensor`, [1, tokens, slots of the cache and tokens], is added to the scores."""

    def __init__(
        self,
        input_len: int,
        cache_len: int,
        style: str,
        mask_val: float = float("-inf"),
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """`mask_val` marks slots that are not seen; other slots have 0."""
        check_style(style)
        self.input_len, self.cache_len, self.style, self.mask_val = input_len, cache_len, style, mask_val
        self.unmasked_len = 0
        self.tensor = torch.zeros(1, input_len, cache_len + input_len, dtype=dtype)
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens in the cache."""
        self.unmasked_len = 0
        self.tensor[:, :, : self.cache_len] = self.mask_val

    def set_input_mask(self, input_mask: Tensor) -> None:
        """Sets which tokens of a call see each other, [tokens, tokens]."""
        self.tensor[:, :, self.cache_len :] = input_mask

    def unmask(self, new_unmasked_len: int) -> None:
        """Makes this many more tokens of the cache visible."""
        if new_unmasked_len <= 0:
            return
        first, end = self.unmasked_len, min(self.unmasked_len + new_unmasked_len, self.cache_len)
        if self.style == "shift_pointer":
            first, end = self.cache_len - end, self.cache_len - min(first, self.cache_len)
        self.tensor[:, :, first:end] = 0
        self.unmasked_len += new_unmasked_len
