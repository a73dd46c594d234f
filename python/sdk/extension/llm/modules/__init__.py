# SPDX-License-Identifier: BSD-3-Clause
"""Replacements for torchtune's modules, which `torch.export` captures with dynamic shapes and a cache.

They take torchtune's weights, but do not need its package.
"""

from sdk.extension.llm.modules._position_embeddings import (
    TiledTokenPositionalEmbedding,
    TilePositionalEmbedding,
    replace_tile_positional_embedding,
    replace_tiled_token_positional_embedding,
)
from sdk.extension.llm.modules.attention import MultiHeadAttention, replace_mha_with_inference_mha
from sdk.extension.llm.modules.kv_cache import KVCache

__all__ = [
    "KVCache",
    "MultiHeadAttention",
    "TilePositionalEmbedding",
    "TiledTokenPositionalEmbedding",
    "replace_mha_with_inference_mha",
    "replace_tile_positional_embedding",
    "replace_tiled_token_positional_embedding",
]
