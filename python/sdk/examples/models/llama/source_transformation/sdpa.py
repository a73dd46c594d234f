# SPDX-License-Identifier: BSD-3-Clause
"""Attention in other operators; the definitions are those of `sdk.extension.llm.model` and of a backend."""

from sdk.backends.apple.coreml.attention import (
    KVCacheCoreML,
    SDPACoreML,
    replace_kv_cache_with_coreml_kv_cache,
    replace_sdpa_with_coreml_sdpa,
    sdpa,
)
from sdk.extension.llm.model.replace import (
    replace_causal_mask,
    replace_kv_cache_with_simple_kv_cache,
    replace_sdpa_with_custom_op,
    replace_sdpa_with_flex_sdpa,
    replace_sdpa_with_quantized_sdpa,
    replace_sdpa_with_simple_sdpa,
)
from sdk.extension.llm.model.sdpa import (
    KVCacheSimple,
    QuantizedSDPA,
    SDPACustom,
    SDPAFlex,
    SDPASimple,
    repeat_kv,
)

__all__ = [
    "KVCacheCoreML",
    "KVCacheSimple",
    "QuantizedSDPA",
    "SDPACoreML",
    "SDPACustom",
    "SDPAFlex",
    "SDPASimple",
    "repeat_kv",
    "replace_causal_mask",
    "replace_kv_cache_with_coreml_kv_cache",
    "replace_kv_cache_with_simple_kv_cache",
    "replace_sdpa_with_coreml_sdpa",
    "replace_sdpa_with_custom_op",
    "replace_sdpa_with_flex_sdpa",
    "replace_sdpa_with_quantized_sdpa",
    "replace_sdpa_with_simple_sdpa",
    "sdpa",
]
