# SPDX-License-Identifier: BSD-3-Clause
"""Modules in place of torchtune's, for programs: `torch.export` captures them with dynamic shapes and a cache.

They take torchtune's weights, and the package is not needed.
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
