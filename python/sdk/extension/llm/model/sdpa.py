# SPDX-License-Identifier: BSD-3-Clause
"""Modules that replace `SDPA` and `KVCache`, for operators and backends that need another form."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401, registers torch.ops.llama
from sdk.extension.llm.model.affine_kv_cache import QuantizedKVCache, quantize_tokens
from sdk.extension.llm.model.attention import masked


class SDPACustom(nn.Module):
    """Attention by `llama::custom_sdpa`, with the arguments of `SDPA.forward`."""

    def __init__(self, dim: int, use_attention_mask: bool = False) -> None:
        """`use_attention_mask`: attention uses the mask; otherwise it is causal from `input_pos[0]` on."""
        super().__init__()
        self.dim, self.use_attention_mask = dim, use_attention_mask
        self.scale: float | None = None

    def forward(
        self, input_pos: Tensor, q: Tensor, k: Tensor, v: Tensor, bsz: int, seqlen: int, mask: Tensor | None
    ) -> Tensor:
        """Takes q, k, v [batch, heads, tokens or slots, head_dim]. Returns [bsz, seqlen, dim], computed in float32."""
        parts = [part.transpose(1, 2).float() for part in (q, k, v)]
        start, mask = _where(self.use_attention_mask, input_pos, mask, seqlen, k.shape[2])
        y = torch.ops.llama.custom_sdpa(*parts, start, mask, 0.0, mask is None, self.scale)
        return y.reshape(bsz, seqlen, self.dim).to(q.dtype)


def _where(
    use_mask: bool, input_pos: Tensor, mask: Tensor | None, seqlen: int, places: int
) -> tuple[Any, Tensor | None]:
    """The first position and the mask for the operators of attention."""
    if use_mask:
        return 0, mask
    start = input_pos[0].item()
    torch._check(start >= 0)
    torch._check(start + seqlen <= places)
    return start, None


class QuantizedSDPA(nn.Module):
    """Attention in int8 by `llama::custom_quantized_sdpa` over the integers of a cache."""

    def __init__(self, dim: int, kv_cache: QuantizedKVCache, use_attention_mask: bool = False) -> None:
        """`kv_cache`: the cache that stores the integers which `forward` gets. Their scales are read from it."""
        super().__init__()
        self.dim, self.kv_cache, self.use_attention_mask = dim, kv_cache, use_attention_mask
        self.scale: float | None = None

    def forward(
        self,
        input_pos: Tensor,
        q: Tensor,
        k_quantized: Tensor,
        v_quantized: Tensor,
        bsz: int,
        seqlen: int,
        mask: Tensor | None,
    ) -> Tensor:
        """See `SDPACustom.forward`; keys and values are int8."""
        cache = self.kv_cache
        keys, values = k_quantized.transpose(1, 2), v_quantized.transpose(1, 2)
        queries, q_scales, q_zeros = quantize_tokens(q.transpose(1, 2).float())
        start, mask = _where(self.use_attention_mask, input_pos, mask, seqlen, keys.shape[1])
        y = torch.ops.llama.custom_quantized_sdpa(
            queries, keys, values, start, mask, 0.0, mask is None, self.scale, q_zeros, q_scales,
            cache.k_cache_zero_points, cache.k_cache_scales, cache.v_cache_zero_points, cache.v_cache_scales,
        )  # fmt: skip
        return y.reshape(bsz, seqlen, self.dim).to(q.dtype)


def repeat_kv(hidden_states: Tensor, n_rep: int) -> Tensor:
    """Repeats each head of [batch, heads, slots, head_dim] `n_rep` times; the copies are adjacent."""
    return hidden_states.repeat_interleave(n_rep, dim=1)


class SDPASimple(nn.Module):
    """Attention in single operators, with the arguments of `SDPA.forward`."""

    def __init__(self, dim: int, head_dim: int, n_rep: int) -> None:
        super().__init__()
        self.dim, self.head_dim, self.n_rep = dim, head_dim, n_rep
        self.scale: float | None = None

    def forward(
        self, input_pos: Tensor | None, q: Tensor, k: Tensor, v: Tensor, bsz: int, seqlen: int, mask: Tensor
    ) -> Tensor:
        """Takes q, k and v [batch, heads, tokens or slots, head_dim], returns [bsz, seqlen, dim]. `input_pos` has no
        effect, because the mask says what a token sees."""
        k, v = repeat_kv(k, self.n_rep), repeat_kv(v, self.n_rep)
        scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if self.scale is None else self.scale)
        return (torch.softmax(masked(scores, mask), dim=-1) @ v).transpose(1, 2).reshape(bsz, seqlen, self.dim)


class SDPAFlex(SDPASimple):
    """`SDPASimple` for any width of heads."""

    def __init__(self, dim: int, n_rep: int) -> None:
        super().__init__(dim, 0, n_rep)


class KVCacheSimple(nn.Module):
    """A `KVCache` whose buffers are [batch, positions, heads, head_dim]."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        for name in ("past_k_caches", "past_v_caches"):
            self.register_buffer(name, torch.zeros(max_batch_size, max_context_length, n_heads, head_dim, dtype=dtype))

    def update(self, input_pos: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor]:
        """Writes [batch, heads, tokens, head_dim] to int64 [tokens] positions. Returns the whole cache, heads first."""
        for cache, value in ((self.past_k_caches, k_val), (self.past_v_caches, v_val)):
            torch.ops.aten.index_put_(cache, (None, input_pos), value.transpose(1, 2))
        return self.past_k_caches.transpose(1, 2), self.past_v_caches.transpose(1, 2)
