# SPDX-License-Identifier: BSD-3-Clause
"""Replaces the caches and the attention of a model in place: of this package's models, and of any model whose attention
modules have `SDPA` and `KVCache`.

`caches` changes the models of this package without modules that keep positions themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from sdk.extension.llm.model import sdpa
from sdk.extension.llm.model.affine_kv_cache import QuantizedCacheType, QuantizedKVCache, QuantizedRingKVCache
from sdk.extension.llm.model.attention import SDPA, Attention, AttentionMHA, KVCache
from sdk.extension.llm.model.caches import use_attention_sinks
from sdk.extension.llm.model.custom_kv_cache import CustomKVCache
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.ring_kv_cache import (
    CustomKVCacheWithAttentionSink,
    CustomRingKVCache,
    InRing,
    KVCacheWithAttentionSink,
    RingKVCache,
)
from sdk.extension.llm.model.transformer import Transformer
from sdk.extension.llm.model.window import Window

Made = Callable[[nn.Module], nn.Module | None]
"""A function that returns the replacement of a child module, or None to keep it."""


def _replace(module: nn.Module, make: Made) -> nn.Module:
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if (made := make(child)) is not None:
                setattr(parent, name, made)
                _fit(parent)
    return module


def _fit(owner: nn.Module) -> None:
    """Makes an attention module use its current cache and its current `SDPA`."""
    cache, attend = getattr(owner, "kv_cache", None), getattr(owner, "SDPA", None)
    if isinstance(owner, AttentionMHA) and type(cache) is not CustomKVCache:
        owner.use_custom_op, owner.window = False, Window()
    if isinstance(cache, InRing) and isinstance(attend, sdpa.SDPACustom | sdpa.QuantizedSDPA):
        attend.use_attention_mask = True
    if isinstance(attend, sdpa.QuantizedSDPA) and isinstance(cache, QuantizedKVCache):
        attend.kv_cache = cache


def replace_kv_cache_with_custom_kv_cache(module: nn.Module) -> nn.Module:
    """Caches that operators of `torch.ops.llama` write in place. Returns the module."""

    def make(child: nn.Module) -> nn.Module | None:
        if isinstance(child, KVCacheWithAttentionSink):
            return CustomKVCacheWithAttentionSink.from_kv_cache_with_attention_sink(child)
        if isinstance(child, RingKVCache):
            return CustomRingKVCache.from_custom_kv_cache(child, child.window_size)
        if isinstance(child, KVCache):
            shape = (child.max_batch_size, child.max_context_length, child.n_heads, child.head_dim)
            return CustomKVCache(*shape, dtype=child.k_cache.dtype)
        return None

    return _replace(module, make)


def replace_kv_cache_with_quantized_kv_cache(module: nn.Module) -> nn.Module:
    """Caches in int8, with zero points. Returns the module. Raises ValueError for caches with a ring: call this before
    `replace_kv_cache_with_ring_kv_cache`."""

    def make(child: nn.Module) -> nn.Module | None:
        if not isinstance(child, KVCache | CustomKVCache):
            return None
        if isinstance(child, InRing):
            raise ValueError(
                f"{type(child).__name__} keeps the last tokens in floats; quantise the cache before "
                "replace_kv_cache_with_ring_kv_cache"
            )
        return QuantizedKVCache.from_float(child, QuantizedCacheType.AffineAsymmetric, use_custom_update_cache_op=True)

    return _replace(module, make)


def replace_kv_cache_with_ring_kv_cache(module: nn.Module, layer_sizes: Sequence[int]) -> nn.Module:
    """Lets layer i of `module.layers` see the last `layer_sizes[i % len(layer_sizes)]` tokens, including its own; 0
    means all. Returns the module.

    Raises ValueError if the number of layers is not a multiple of the number of sizes, and for a layer without a cache.
    """
    layers: nn.ModuleList = module.layers
    if not layer_sizes or len(layers) % len(layer_sizes):
        raise ValueError(f"{len(layer_sizes)} sizes of windows are not a pattern of {len(layers)} layers")
    for number, layer in enumerate(layers):
        if not (size := layer_sizes[number % len(layer_sizes)]):
            continue
        attention = getattr(layer, "attention", None)
        cache = getattr(attention, "kv_cache", None)
        if isinstance(cache, KVCache):
            made: nn.Module = RingKVCache(
                cache.max_batch_size, size, cache.n_heads, cache.head_dim, cache.enable_dynamic_shape,
                cache.k_cache.dtype,
            )  # fmt: skip
        elif isinstance(cache, CustomKVCache):
            made = CustomRingKVCache.from_custom_kv_cache(cache, size)
        elif isinstance(cache, QuantizedKVCache):
            made = QuantizedRingKVCache.from_quantized_kv_cache(cache, size)
        else:
            raise ValueError(f"layer {number} has no cache that a window can replace, found {type(cache).__name__}")
        assert attention is not None
        attention.kv_cache = made
        _fit(attention)
    return module


def replace_sdpa(module: nn.Module, make: Callable[[SDPA], nn.Module]) -> nn.Module:
    """Replaces each `SDPA` by the result of `make`, a module with the same `forward` and a field `scale`. Returns the
    module.

    Raises ValueError for scores with a soft cap.
    """

    def made(child: nn.Module) -> nn.Module | None:
        if not isinstance(child, SDPA):
            return None
        if child.softcap is not None:
            raise ValueError("scores with a soft cap (attn_logit_softcapping) are computed by SDPA only")
        new = make(child)
        new.scale = child.scale
        return new

    return _replace(module, made)


def replace_sdpa_with_custom_op(module: nn.Module, use_attention_mask: bool = False) -> nn.Module:
    """Attention by `llama::custom_sdpa`. `use_attention_mask`: attention uses the mask of the model; otherwise it is
    causal. Returns the module."""
    return replace_sdpa(module, lambda child: sdpa.SDPACustom(child.dim, use_attention_mask))


def replace_sdpa_with_simple_sdpa(module: nn.Module) -> nn.Module:
    """Attention in single operators. Returns the module."""
    return replace_sdpa(module, lambda child: sdpa.SDPASimple(child.dim, child.head_dim, child.n_rep))


def replace_sdpa_with_flex_sdpa(module: nn.Module) -> nn.Module:
    """Attention in single operators. Returns the module."""
    return replace_sdpa(module, lambda child: sdpa.SDPAFlex(child.dim, child.n_rep))


def replace_sdpa_with_quantized_sdpa(module: nn.Module) -> nn.Module:
    """Attention in int8 where attention has a `QuantizedKVCache` and `SDPACustom`. Returns the module."""
    for attention in [part for part in module.modules() if isinstance(part, Attention)]:
        cache, old = getattr(attention, "kv_cache", None), getattr(attention, "SDPA", None)
        if isinstance(cache, QuantizedKVCache) and isinstance(old, sdpa.SDPACustom):
            cache.return_float_values = False
            attention.SDPA = sdpa.QuantizedSDPA(old.dim, cache, old.use_attention_mask)
            attention.SDPA.scale = old.scale
    return module


def replace_float_cache(module: nn.Module, kind: Callable[..., nn.Module]) -> nn.Module:
    """Replaces each `KVCache`, but no subclass, by the result of `kind`, which gets batch, positions, heads, width of
    heads and `dtype`. Returns the module."""

    def make(child: nn.Module) -> nn.Module | None:
        if type(child) is not KVCache:
            return None
        shape = (child.max_batch_size, child.max_context_length, child.n_heads, child.head_dim)
        return kind(*shape, dtype=child.k_cache.dtype)

    return _replace(module, make)


def replace_kv_cache_with_simple_kv_cache(module: nn.Module) -> nn.Module:
    """Caches with positions before heads. Returns the module."""
    return replace_float_cache(module, sdpa.KVCacheSimple)


def replace_causal_mask(module: nn.Module) -> nn.Module:
    """Buffers with the name `mask` become causal masks of 0 and -inf of the same size. Returns the module."""
    for part in module.modules():
        for name, buffer in list(part.named_buffers(recurse=False)):
            if name == "mask":
                size = buffer.shape[-1]
                part.register_buffer(name, torch.triu(torch.full((size, size), float("-inf")), diagonal=1))
    return module


def enable_attention_sink(module: nn.Module, params: ModelArgs, sink_size: int, window_size: int) -> nn.Module:
    """Lets all layers see the first `sink_size` tokens and the last `window_size` ones, for texts of any length.
    Returns the module.

    `params`: those of the model. Raises ValueError for a model that does not allow it, TypeError for one of another
    kind than `Transformer`.
    """
    if not isinstance(module, Transformer):
        raise TypeError(f"expected a Transformer of construct_transformer, found {type(module).__name__}")
    if not params.use_kv_cache:
        raise ValueError("attention sinks need use_kv_cache=True")
    use_attention_sinks(module, sink_size, window_size)
    return module
