# SPDX-License-Identifier: BSD-3-Clause
"""Attention over caches that are inputs of a program; the definitions are those of `sdk.extension.llm.model`."""

from sdk.extension.llm.model.static_attention import (
    StaticAttention,
    StaticAttentionMHA,
    transform_attention_mha_to_static_attention,
)
from sdk.extension.llm.model.static_cache import StaticAttentionMask, StaticKCache, StaticKVCache, StaticVCache
from sdk.extension.llm.model.static_io import StaticAttentionIOManager

__all__ = [
    "StaticAttention",
    "StaticAttentionIOManager",
    "StaticAttentionMHA",
    "StaticAttentionMask",
    "StaticKCache",
    "StaticKVCache",
    "StaticVCache",
    "transform_attention_mha_to_static_attention",
]
