# SPDX-License-Identifier: BSD-3-Clause
"""Decoder-only transformers; the definitions are those of `sdk.extension.llm.model.transformer`."""

from sdk.extension.llm.model.transformer import Transformer, TransformerBlock, construct_transformer

__all__ = ["Transformer", "TransformerBlock", "construct_transformer"]
