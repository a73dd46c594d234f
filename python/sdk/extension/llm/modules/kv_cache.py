# SPDX-License-Identifier: BSD-3-Clause
"""A cache that keeps its position itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class KVCache(nn.Module):
    """Keys and values of all positions so far, [batch, heads, positions, head_dim] each with `transpose_cache`, else
    [batch, positions, heads, head_dim].

    The first element of the buffer `kv_cache_pos` is the next position. A program has to be given its initial value
    (`sdk.exir.passes.init_mutable_pass.InitializedMutableBufferPass(["kv_cache_pos"])`).
    """

    def __init__(
        self,
        batch_size: int,
        max_seq_len: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype,
        transpose_cache: bool = True,
    ) -> None:
        super().__init__()
        self.batch_size, self.max_seq_len, self.transpose_cache = batch_size, max_seq_len, transpose_cache
        self.num_kv_heads, self.head_dim = num_kv_heads, head_dim
        middle = (num_kv_heads, max_seq_len) if transpose_cache else (max_seq_len, num_kv_heads)
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros(batch_size, *middle, head_dim, dtype=dtype), persistent=False)
        self.register_buffer("kv_cache_pos", torch.arange(max_seq_len), persistent=False)

    @property
    def size(self) -> int:
        """The next position."""
        return int(self.kv_cache_pos[0])

    def reset(self) -> None:
        """Begins another sequence."""
        self.k_cache.zero_()
        self.v_cache.zero_()
        self.kv_cache_pos.copy_(torch.arange(self.max_seq_len))

    def update(self, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor]:
        """Writes tokens in the layout of the cache from the next position on. Returns the whole cache.

        Raises ValueError for a larger batch, and for tokens that do not fit.
        """
        count = self._count(k_val)
        if not torch.compiler.is_exporting() and self.size + count > self.max_seq_len:
            raise ValueError(f"{count} tokens from position {self.size} do not fit {self.max_seq_len}; call reset()")
        self._write(self.k_cache, k_val, self.kv_cache_pos[:count])
        self._write(self.v_cache, v_val, self.kv_cache_pos[:count])
        self.kv_cache_pos.add_(count)
        return self.k_cache, self.v_cache

    def update_unless(self, unread: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor]:
        """Like `update`, but without effect if the bool `unread` is True. It has no branch, so that it can be
        exported."""
        count = self._count(k_val)
        places = torch.where(unread, 0, self.kv_cache_pos[:count])  # always valid: if unread, the result is discarded
        for cache, value in ((self.k_cache, k_val), (self.v_cache, v_val)):
            new = cache.clone()
            self._write(new, value, places)
            cache.copy_(torch.where(unread, cache, new))
        self.kv_cache_pos.copy_(torch.where(unread, self.kv_cache_pos, self.kv_cache_pos + count))
        return self.k_cache, self.v_cache

    def _count(self, value: Tensor) -> int:
        """Returns the number of tokens."""
        count = value.shape[2 if self.transpose_cache else 1]
        if value.shape[0] > self.batch_size:
            raise ValueError(f"the cache is for a batch of {self.batch_size}, found one of {value.shape[0]}")
        return count

    def _write(self, cache: Tensor, value: Tensor, places: Tensor) -> None:
        if self.transpose_cache:
            cache[:, :, places] = value
        else:
            cache[:, places] = value

    def clone(self) -> KVCache:
        """A cache with the same contents."""
        shape = (self.batch_size, self.max_seq_len, self.num_kv_heads, self.head_dim)
        made = KVCache(*shape, dtype=self.k_cache.dtype, transpose_cache=self.transpose_cache)
        for mine, theirs in zip(made.buffers(), self.buffers(), strict=True):
            mine.copy_(theirs)
        return made
