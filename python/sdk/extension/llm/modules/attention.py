# SPDX-License-Identifier: BSD-3-Clause
"""Multi-head attention of a sequence over itself or over another sequence. A cache can keep keys and values."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.modules._replace import replace_by_name
from sdk.extension.llm.modules.kv_cache import KVCache


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool) -> Tensor:
    """Computes attention for [batch, heads, tokens, head_dim]. The mask is [batch, tokens of q, tokens of k]."""
    mask = None if mask is None else mask[:, None]
    return F.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, enable_gqa=True)


class SDPA(nn.Module):
    """Attention as a module, which can be replaced."""

    def __init__(
        self,
        num_kv_heads: int,
        num_heads: int,
        head_dim: int,
        attn_dropout: float,
        is_causal: bool,
        attention_fn: Callable[..., Tensor],
        kv_cache: KVCache | None,
    ) -> None:
        """`attention_fn(q, k, v, mask=, dropout_p=, is_causal=)` computes it, with heads first."""
        super().__init__()
        self.num_kv_heads, self.num_heads, self.head_dim = num_kv_heads, num_heads, head_dim
        self.attn_dropout, self.is_causal, self.kv_cache = attn_dropout, is_causal, kv_cache
        self._attention_fn = attention_fn

    def forward(self, q: Tensor, k: Tensor, v: Tensor, bsz: int, seq_len: int, mask: Tensor | None = None) -> Tensor:
        """Takes q, k and v [batch, tokens, heads, head_dim], returns [bsz, seq_len, all heads]. Without a mask and a
        cache, attention is causal if the module is."""
        causal = self.kv_cache is None and mask is None and self.is_causal
        parts = [part.transpose(1, 2) for part in (q, k, v)]
        y = self._attention_fn(*parts, mask=mask, dropout_p=self.attn_dropout, is_causal=causal)
        return y.transpose(1, 2).reshape(bsz, seq_len, -1)


class MultiHeadAttention(nn.Module):
    """Attention of queries of x to keys and values of y. With a cache, the keys and values of y are appended to it, and
    queries attend to the whole cache. A y of NaN only leaves the cache as it is: for pictures that it already has."""

    def __init__(
        self,
        *,
        embed_dim: int,
        num_heads: int,
        num_kv_heads: int,
        head_dim: int,
        q_proj: nn.Module,
        k_proj: nn.Module,
        v_proj: nn.Module,
        output_proj: nn.Module,
        pos_embeddings: nn.Module | None = None,
        q_norm: nn.Module | None = None,
        k_norm: nn.Module | None = None,
        kv_cache: KVCache | None = None,
        max_seq_len: int = 4096,
        is_causal: bool = True,
        attn_dropout: float = 0.0,
    ) -> None:
        """`pos_embeddings(heads, input_pos=)` and the norms take [batch, tokens, heads, head_dim].

        Raises ValueError for heads that do not divide each other or the width, one norm without the other, and a
        dropout outside of 0 to 1.
        """
        super().__init__()
        if num_heads % num_kv_heads or embed_dim % num_heads:
            raise ValueError(
                "expected embed_dim, num_heads and num_kv_heads of which each is a multiple of the next, found "
                f"{embed_dim}, {num_heads} and {num_kv_heads}"
            )
        if not 0 <= attn_dropout <= 1:
            raise ValueError(f"attn_dropout={attn_dropout}: expected a number from 0 to 1")
        if (q_norm is None) != (k_norm is None):
            raise ValueError("expected q_norm and k_norm, or none of them")
        self.embed_dim, self.num_heads, self.num_kv_heads, self.head_dim = embed_dim, num_heads, num_kv_heads, head_dim
        self.max_seq_len, self.is_causal, self.attn_dropout = max_seq_len, is_causal, attn_dropout
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = q_proj, k_proj, v_proj, output_proj
        self.pos_embeddings, self.q_norm, self.k_norm, self.kv_cache = pos_embeddings, q_norm, k_norm, kv_cache
        self.cache_enabled = False
        self._sdpa = SDPA(num_kv_heads, num_heads, head_dim, 0.0, is_causal, _attend, kv_cache)

    def setup_cache(self, batch_size: int, dtype: torch.dtype, max_seq_len: int) -> None:
        """Adds a cache unless there already is one."""
        if self.kv_cache is None:
            shape = (batch_size, max_seq_len, self.num_kv_heads, self.head_dim)
            self.kv_cache = self._sdpa.kv_cache = KVCache(*shape, dtype=dtype, transpose_cache=False)
            self.cache_enabled = True

    def reset_cache(self) -> None:
        """Begins another sequence. Raises RuntimeError without a cache."""
        if self.kv_cache is None:
            raise RuntimeError("there is no cache: call setup_cache() first")
        self.kv_cache.reset()

    def forward(
        self, x: Tensor, y: Tensor | None = None, *, mask: Tensor | None = None, input_pos: Tensor | None = None
    ) -> Tensor:
        """x is [batch, tokens, embed_dim], y [batch, tokens of the other sequence, embed_dim].

        `mask`: bool [batch, tokens, keys], True where a query sees a key; `keys` counts the tokens of y or, with a
        cache, all of its positions, including unused ones. Raises ValueError without y.
        """
        if y is None:
            raise ValueError("expected y, the sequence of keys and values: x itself, or NaN to read the cache only")
        self._sdpa.attn_dropout = self.attn_dropout if self.training else 0.0
        q = self._heads(self.q_proj(x), self.q_norm, input_pos)
        k, v = self._keys(y, input_pos) if self.kv_cache is None else self._cached(y, input_pos)
        output: Tensor = self.output_proj(self._sdpa(q, k, v, x.shape[0], x.shape[1], mask))
        return output

    def _heads(self, projected: Tensor, norm: nn.Module | None, input_pos: Tensor | None) -> Tensor:
        heads = projected.unflatten(-1, (-1, self.head_dim))
        if self.pos_embeddings is not None:
            heads = self.pos_embeddings(heads, input_pos=input_pos)
        return heads if norm is None else norm(heads)

    def _keys(self, y: Tensor, input_pos: Tensor | None) -> tuple[Tensor, Tensor]:
        values = self.v_proj(y).unflatten(-1, (-1, self.head_dim))
        return self._heads(self.k_proj(y), self.k_norm, input_pos), values

    def _cached(self, y: Tensor, input_pos: Tensor | None) -> tuple[Tensor, Tensor]:
        cache = self.kv_cache
        assert cache is not None
        unread = torch.isnan(y).all()
        if torch.compiler.is_exporting():
            kept = cache.update_unless(unread, *self._keys_of_cache(cache, y, input_pos))
        elif unread:
            kept = cache.k_cache, cache.v_cache
        else:
            kept = cache.update(*self._keys_of_cache(cache, y, input_pos))
        return (kept[0].transpose(1, 2), kept[1].transpose(1, 2)) if cache.transpose_cache else kept

    def _keys_of_cache(self, cache: KVCache, y: Tensor, input_pos: Tensor | None) -> tuple[Tensor, Tensor]:
        k, v = self._keys(y, input_pos)
        return (k.transpose(1, 2), v.transpose(1, 2)) if cache.transpose_cache else (k, v)


def replace_mha_with_inference_mha(module: nn.Module) -> nn.Module:
    """Replaces torchtune's `MultiHeadAttention` inside of a model, which is returned. Layers stay the same objects."""
    parts = (
        "embed_dim", "num_heads", "num_kv_heads", "head_dim", "q_proj", "k_proj", "v_proj", "output_proj",
        "pos_embeddings", "q_norm", "k_norm", "kv_cache", "max_seq_len", "is_causal", "attn_dropout",
    )  # fmt: skip
    return replace_by_name(
        module,
        "MultiHeadAttention",
        MultiHeadAttention,
        lambda theirs: MultiHeadAttention(**{name: getattr(theirs, name) for name in parts}),
    )
