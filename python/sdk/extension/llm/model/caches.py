# SPDX-License-Identifier: BSD-3-Clause
"""Changes of the key-value cache of a model: int8, layers that see the last tokens only, attention sinks."""

from __future__ import annotations

from collections.abc import Sequence

from sdk.extension.llm.model.attention import AttentionMHA
from sdk.extension.llm.model.transformer import Transformer
from sdk.extension.llm.model.window import Window, ring_window


def quantize_kv_cache(model: Transformer) -> None:
    """Keeps keys and values in int8 with a scale for each token of a head."""
    for attention in _attentions(model):
        _use(model, attention, attention.window, quantized=True)


def use_local_global_attention(model: Transformer, sizes: Sequence[int]) -> None:
    """Lets layer i see the last `sizes[i % len(sizes)]` tokens, including its own. 0, or a size that holds the whole
    context, leaves a layer as it is.

    The other layers get a ring for that many tokens and those of a call. Raises ValueError for sizes below 0 or none.
    """
    if not sizes or min(sizes) < 0:
        raise ValueError(f"local_global_attention needs sizes of 0 and above, found {list(sizes)}")
    for attention in _attentions(model):
        size = sizes[attention.layer_id % len(sizes)]
        if 0 < size < model.max_context_len:
            _use(model, attention, ring_window(size, model.max_seq_len))


def use_attention_sinks(model: Transformer, sinks: int, window: int) -> None:
    """All layers see the first `sinks` tokens and the last `window` ones, so that generation can continue forever.

    As in "Efficient streaming language models with attention sinks" (Xiao et al., 2023), the sinks get positions right
    before the window. Raises ValueError for an invalid window, and for models to which this cannot be applied.
    """
    if model.local_rope is not None or any(layer.mixer == "conv" or layer.window.size for layer in model.layers):
        raise ValueError("use_attention_sink is for models whose layers all have full attention")
    if model.params.mrope_section is not None:
        raise ValueError("use_attention_sink is not for models that rotate by rows and columns (M-RoPE)")
    if model.params.use_qk_norm and not model.params.qk_norm_before_rope:
        raise ValueError("use_attention_sink needs norms of keys before their rotation")
    model.rope.extend()
    for attention in _attentions(model):
        _use(model, attention, ring_window(window, model.max_seq_len, sinks))


def _attentions(model: Transformer) -> list[AttentionMHA]:
    return [module for module in model.modules() if isinstance(module, AttentionMHA)]


def _use(model: Transformer, attention: AttentionMHA, window: Window, quantized: bool | None = None) -> None:
    attention.use_cache(window, model.max_context_len, model.params.max_batch_size, quantized)
