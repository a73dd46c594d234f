# SPDX-License-Identifier: BSD-3-Clause
"""Attention over a key-value cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.model.custom_kv_cache import CustomKVCache
from sdk.extension.llm.model.lora import projection
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.norm import RMSNorm, ScalelessRMSNorm
from sdk.extension.llm.model.quantized_kv_cache import QuantizedKVCache
from sdk.extension.llm.model.rope import Rope
from sdk.extension.llm.model.window import Window


class ForwardOptions(TypedDict, total=False):
    """The options of a call of a transformer, in addition to the tokens."""

    input_pos: Tensor
    """The position of the first token, int64 [1], or the positions of all tokens, int64 [tokens]."""
    last_valid_token_pos: int
    """The token whose logits are computed; the last one when missing."""
    bidirectional: bool
    """Whether the tokens of the call see each other, as those of a picture do in Gemma 3; otherwise each sees those
    before it."""
    rotation_positions: Tensor
    """The positions by which M-RoPE rotates, int64 [3, tokens], where they differ from those in the cache."""


class Attention(nn.Module):
    """Base class of implementations of attention: `forward(x, freqs_cos, freqs_sin, **options)`.

    x is [batch, tokens, dim]. Returns the same shape, and the changes of the options for the next layer or None.
    """

    takes: frozenset[str] | None = None
    """The options that it reads in addition to those of `Transformer`; None means any."""


ATTENTION_REGISTRY: dict[str, type[Attention]] = {}
"""Implementations by the value of `ModelArgs.attention_type`."""


def register_attention(name: str) -> Callable[[type[Attention]], type[Attention]]:
    """Decorator that registers an implementation under a name, which is compared without case."""

    def register(implementation: type[Attention]) -> type[Attention]:
        ATTENTION_REGISTRY[name.lower()] = implementation
        return implementation

    return register


class KVCache(nn.Module):
    """Keys and values of all positions so far, [batch, heads, positions, head_dim] each."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        enable_dynamic_shape: bool = True,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.max_context_length, self.n_heads, self.head_dim = max_context_length, n_heads, head_dim
        self.max_batch_size, self.enable_dynamic_shape = max_batch_size, enable_dynamic_shape
        shape = (max_batch_size, n_heads, max_context_length, head_dim)
        self.register_buffer("k_cache", torch.zeros(shape, dtype=dtype))
        self.register_buffer("v_cache", torch.zeros(shape, dtype=dtype))

    def update(
        self, input_pos: Tensor, k_val: Tensor, v_val: Tensor, sink_keys: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Writes [batch, heads, tokens, head_dim] to int64 [tokens] positions. Returns the whole cache.

        With `enable_dynamic_shape` tokens follow each other from the first position, and the others are not read.
        `sink_keys`: then written to the first positions.
        """
        if self.enable_dynamic_shape:
            input_pos = input_pos[:1] + torch.arange(k_val.shape[2])
        self.k_cache[:, :, input_pos] = k_val
        self.v_cache[:, :, input_pos] = v_val
        if sink_keys is not None:
            self.k_cache[:, :, : sink_keys.shape[2]] = sink_keys
        return self.k_cache, self.v_cache


class SDPA(nn.Module):
    """softmax(scale q k^T, where the mask is true) v. Heads of keys and values are shared by neighbouring heads of
    queries."""

    def __init__(
        self,
        dim: int,
        head_dim: int,
        n_rep: int,
        max_context_len: int,
        scale: float | None = None,
        softcap: float | None = None,
    ) -> None:
        """`dim`: width of the result; `n_rep`: heads of queries for a head of keys; `max_context_len`: slots of the
        cache."""
        super().__init__()
        self.dim, self.head_dim, self.n_rep, self.max_context_len = dim, head_dim, n_rep, max_context_len
        self.scale, self.softcap = scale, softcap

    def forward(
        self, input_pos: Tensor | None, q: Tensor, k: Tensor, v: Tensor, bsz: int, seqlen: int, mask: Tensor
    ) -> Tensor:
        """Computes attention for [batch, heads, tokens or slots, head_dim]. Returns [bsz, seqlen, dim].

        The mask is [tokens, slots]: bool, or numbers that are added to the scores. `input_pos` is for replacements of
        this module that do not read the mask.
        """
        if self.softcap is None:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=self.scale, enable_gqa=True)
        else:
            k, v = (part.repeat_interleave(self.n_rep, dim=1) for part in (k, v))
            scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if self.scale is None else self.scale)
            y = torch.softmax(masked(self.softcap * torch.tanh(scores / self.softcap), mask), dim=-1) @ v
        return y.transpose(1, 2).reshape(bsz, seqlen, self.dim)


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores of attention with a mask, which is bool, or numbers that are added to the scores."""
    return scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask


@register_attention("mha")
class AttentionMHA(Attention):
    """Multi-head attention whose heads of queries may share keys and values (Ainslie et al., 2023)."""

    takes = frozenset()

    def __init__(self, args: ModelArgs, layer_id: int, rope: Rope, **kwargs: Any) -> None:
        """Takes no `kwargs`, which other implementations may have: raises TypeError if there are some."""
        super().__init__()
        if kwargs:
            raise TypeError(f"AttentionMHA has no option {', '.join(sorted(kwargs))}")
        assert args.n_kv_heads is not None and args.head_dim is not None
        if args.n_heads % args.n_kv_heads:
            raise ValueError(f"n_heads={args.n_heads} is not a multiple of n_kv_heads={args.n_kv_heads}")
        self.layer_id, self.rope = layer_id, rope
        self.n_heads, self.n_kv_heads, self.head_dim = args.n_heads, args.n_kv_heads, args.head_dim
        self.max_context_len = args.max_context_len
        self.use_kv_cache, self.qk_norm_before_rope = args.use_kv_cache, args.qk_norm_before_rope
        sliding = args.layer_types is not None and args.layer_types[layer_id] == "sliding_attention"
        self.sliding_window = args.sliding_window if sliding else None
        self.rotates = not args.no_rope_layer_interval or (layer_id + 1) % args.no_rope_layer_interval != 0
        if args.no_rope_layers is not None:
            self.rotates = bool(args.no_rope_layers[layer_id])
        bias, kv_dim = args.attention_qkv_bias, self.n_kv_heads * self.head_dim
        self.wq = projection(args, args.dim, self.n_heads * self.head_dim, "q_proj", bias=bias)
        self.wk = projection(args, args.dim, kv_dim, "k_proj", bias=bias)
        self.wv = projection(args, args.dim, kv_dim, "v_proj", bias=bias)
        self.wo = projection(
            args, self.n_heads * self.head_dim, args.dim, "o_proj", "output_proj", bias=args.attention_output_bias
        )
        self.wqkv: nn.Module | None = None
        """One layer with the rows of wq, wk and wv. It replaces these layers."""
        self.use_qk_norm, self.qk_norm_whole = args.use_qk_norm, args.qk_norm_whole
        if args.use_qk_norm:
            self.q_norm_fn, self.k_norm_fn = (self._head_norm(args, n) for n in (self.n_heads, self.n_kv_heads))
        self.SDPA = SDPA(
            self.n_heads * self.head_dim, self.head_dim, self.n_heads // self.n_kv_heads, args.max_context_len,
            args.attention_multiplier, args.attn_logit_softcapping,
        )  # fmt: skip
        self.use_custom_op = args.use_sdpa_with_kv_cache_op and args.attn_logit_softcapping is None
        # A window that holds the whole context has no effect.
        size = self.sliding_window or 0
        self.window = Window(size if size < args.max_context_len else 0)
        if args.use_kv_cache:
            self.use_cache(self.window, args.max_context_len, args.max_batch_size)

    def use_cache(
        self, window: Window, max_context_len: int, max_batch_size: int, quantized: bool | None = None
    ) -> None:
        """Replaces the cache by one for a window, in int8 if `quantized`; None keeps the present form."""
        if quantized is None:
            quantized = isinstance(getattr(self, "kv_cache", None), QuantizedKVCache)
        self.window = window
        shape = (max_batch_size, window.length(max_context_len), self.n_kv_heads, self.head_dim)
        if quantized:
            self.kv_cache: nn.Module = QuantizedKVCache(*shape, heads_first=not self.use_custom_op)
        else:
            self.kv_cache = CustomKVCache(*shape) if self.use_custom_op else KVCache(*shape, enable_dynamic_shape=False)
        if window.sinks:
            # One more slot, to which tokens that are not sinks are written.
            sink_keys = torch.zeros(max_batch_size, self.n_kv_heads, window.sinks + 1, self.head_dim)
            self.register_buffer("sink_keys", sink_keys)

    @staticmethod
    def _head_norm(args: ModelArgs, heads: int) -> nn.Module:
        assert args.head_dim is not None
        width = heads * args.head_dim if args.qk_norm_whole else args.head_dim
        if not args.qk_norm_affine:
            return ScalelessRMSNorm(width, args.norm_eps)
        return RMSNorm(width, args.norm_eps, args.rms_norm_add_unit_offset)

    def forward(self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor, **options: Any) -> tuple[Tensor, None]:
        """`options`: those of the layer's window, as `Transformer` makes them; or `input_pos`, as in `ForwardOptions`:
        the position of the first of consecutive tokens, which may be left out without a cache."""
        if "positions" not in options:
            options = self._options(x.shape[1], options.get("input_pos"))
        q, k, v = self._project(x)
        if self.use_qk_norm and self.qk_norm_whole:
            q, k = self.q_norm_fn(q), self.k_norm_fn(k)
        q, k, v = (part.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for part in (q, k, v))
        norm_heads = self.use_qk_norm and not self.qk_norm_whole
        if norm_heads and self.qk_norm_before_rope:
            q, k = self.q_norm_fn(q), self.k_norm_fn(k)
        if self.rotates:
            q, k = self.rope(q, k, freqs_cos, freqs_sin)
        if norm_heads and not self.qk_norm_before_rope:
            q, k = self.q_norm_fn(q), self.k_norm_fn(k)
        if self.use_custom_op:
            return self.wo(self._custom_sdpa(q, k, v, options)), None
        positions, mask = options["positions"], options["mask"]
        if self.use_kv_cache:
            sinks = self._moved_sinks(k, options)
            k, v = self.kv_cache.update(options["slots"], k, v, *([] if sinks is None else [sinks]))
            if hasattr(self.kv_cache, "create_causal_mask_for_ring_buffer"):
                mask = self.kv_cache.create_causal_mask_for_ring_buffer(positions[:1], q.shape[2])
        return self.wo(self.SDPA(positions, q, k, v, x.shape[0], x.shape[1], mask)), None

    def _options(self, tokens: int, input_pos: Tensor | None) -> dict[str, Any]:
        positions = torch.arange(tokens)
        if input_pos is not None:
            positions = positions + input_pos[:1]
        return {
            **self.window.options(positions, self.max_context_len if self.use_kv_cache else None),
            "start": None if input_pos is None or self.window.ring else input_pos[0].item(),
            "sink_freqs": self.rope.shift_freqs(self.window.sink_shift(positions)) if self.window.sinks else None,
        }

    def _project(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values, [batch, tokens, heads * head_dim] each."""
        if self.wqkv is None:
            return self.wq(x), self.wk(x), self.wv(x)
        kv_dim = self.n_kv_heads * self.head_dim
        return self.wqkv(x).split([self.n_heads * self.head_dim, kv_dim, kv_dim], dim=-1)

    def _moved_sinks(self, k: Tensor, options: dict[str, Any]) -> Tensor | None:
        """The keys of the attention sinks, rotated to where they are next to the window."""
        sinks = self.window.sinks
        if not sinks:
            return None
        self.sink_keys[:, :, options["positions"].clamp(max=sinks)] = k
        keys: Tensor = self.sink_keys[:, :, :sinks]
        return self.rope.rotate(keys, *options["sink_freqs"]) if self.rotates else keys

    def _custom_sdpa(self, q: Tensor, k: Tensor, v: Tensor, options: dict[str, Any]) -> Tensor:
        """Computes attention with an operator that reads the cache in place and, without a window, only the part that
        is written.

        The result is [batch, tokens, all heads].
        """
        slots = options["slots"].expand(k.shape[0], -1) if self.window.ring else None
        start = 0 if self.window.ring else options["start"]
        mask = None if self.window == Window() and not options.get("bidirectional") else options["mask"]
        sinks = self._moved_sinks(k, options)
        sinks = None if sinks is None else sinks.transpose(1, 2)
        self.kv_cache.write(start, k.transpose(1, 2), v.transpose(1, 2), slots, sinks)
        y: Tensor = self.kv_cache.attend(q.transpose(1, 2), start, mask, self.SDPA.scale)
        return y.flatten(2)
