# SPDX-License-Identifier: BSD-3-Clause
"""Caches of keys and values that custom operators update: the definitions of `sdk.extension.llm.model`."""

from sdk.extension.llm.model.custom_kv_cache import CustomKVCache

__all__ = ["CustomKVCache"]
