# SPDX-License-Identifier: BSD-3-Clause
"""Attention sinks; the definitions are those of `sdk.extension.llm.model`."""

from sdk.extension.llm.model.replace import enable_attention_sink
from sdk.extension.llm.model.ring_kv_cache import CachePositionsManagerWithSink, KVCacheWithAttentionSink
from sdk.extension.llm.model.rotary import RopeWithAttentionSink

__all__ = [
    "CachePositionsManagerWithSink",
    "KVCacheWithAttentionSink",
    "RopeWithAttentionSink",
    "enable_attention_sink",
]
