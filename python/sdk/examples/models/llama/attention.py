# SPDX-License-Identifier: BSD-3-Clause
"""Attention over a cache; the definitions are those of `sdk.extension.llm.model`."""

from sdk.extension.llm.model.attention import (
    ATTENTION_REGISTRY,
    SDPA,
    Attention,
    AttentionMHA,
    ForwardOptions,
    KVCache,
    register_attention,
)
from sdk.extension.llm.model.ring_kv_cache import CachePositionsManager, CacheUpdateStrategy, RingKVCache

__all__ = [
    "ATTENTION_REGISTRY",
    "SDPA",
    "Attention",
    "AttentionMHA",
    "CachePositionsManager",
    "CacheUpdateStrategy",
    "ForwardOptions",
    "KVCache",
    "RingKVCache",
    "register_attention",
]
