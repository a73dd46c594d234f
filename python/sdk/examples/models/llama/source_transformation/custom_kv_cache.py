# SPDX-License-Identifier: BSD-3-Clause
"""Caches of keys and values that custom operators update: the definitions of `sdk.extension.llm.model`."""

from sdk.extension.llm.model.affine_kv_cache import QuantizedCacheType, QuantizedKVCache, QuantizedRingKVCache
from sdk.extension.llm.model.custom_kv_cache import CustomKVCache
from sdk.extension.llm.model.replace import (
    replace_kv_cache_with_custom_kv_cache,
    replace_kv_cache_with_quantized_kv_cache,
    replace_kv_cache_with_ring_kv_cache,
)
from sdk.extension.llm.model.ring_kv_cache import CustomKVCacheWithAttentionSink, CustomRingKVCache

__all__ = [
    "CustomKVCache",
    "CustomKVCacheWithAttentionSink",
    "CustomRingKVCache",
    "QuantizedCacheType",
    "QuantizedKVCache",
    "QuantizedRingKVCache",
    "replace_kv_cache_with_custom_kv_cache",
    "replace_kv_cache_with_quantized_kv_cache",
    "replace_kv_cache_with_ring_kv_cache",
]
