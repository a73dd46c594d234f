# SPDX-License-Identifier: BSD-3-Clause
"""Attention of decoders; the definitions are those of `sdk.extension.llm.model.attention`."""

from sdk.extension.llm.model.attention import (
    ATTENTION_REGISTRY,
    SDPA,
    Attention,
    AttentionMHA,
    ForwardOptions,
    KVCache,
    register_attention,
)

__all__ = ["ATTENTION_REGISTRY", "SDPA", "Attention", "AttentionMHA", "ForwardOptions", "KVCache", "register_attention"]
