# SPDX-License-Identifier: BSD-3-Clause
"""Caches in int8, of the last tokens only, and with attention sinks, against their definitions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from language_models import small
from torch import Tensor
from torch.export import Dim

from sdk.exir import to_edge_transform_and_lower
from sdk.extension.llm.export.checkpoint import set_weights
from sdk.extension.llm.model.attention import AttentionMHA
from sdk.extension.llm.model.caches import (
    quantize_kv_cache,
    use_attention_sinks,
    use_local_global_attention,
)
from sdk.extension.llm.model.transformer import Transformer
from sdk.extension.llm.model.window import Window
from sdk.runtime import Runtime

SEQ = 6
OPERATOR = pytest.mark.parametrize("operator", [False, True], ids=["sdpa", "custom_sdpa"])


def cached(operator: bool, **fields: Any) -> Transformer:
    return small(use_kv_cache=True, use_sdpa_with_kv_cache_op=operator, max_seq_len=SEQ, **fields)


def program_of(model: Transformer) -> Any:
    example: Any = (torch.zeros(1, 3, dtype=torch.int64), {"input_pos": torch.tensor([0])})
    shapes = ({1: Dim("tokens", min=1, max=SEQ)}, {"input_pos": None})
    exported = torch.export.export(model, example, dynamic_shapes=shapes)
    program = to_edge_transform_and_lower(exported).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


def in_calls(call: Any, tokens: Tensor, lengths: list[int]) -> Tensor:
    """Returns the logits of all tokens, [tokens, vocabulary], computed with a few tokens per call."""
    at, found = 0, []
    for length in lengths:
        found.append(call(tokens[:, at : at + length], torch.tensor([at]))[0])
        at += length
    assert at == tokens.shape[1]
    return torch.cat(found)


def eager(model: Transformer) -> Any:
    return lambda tokens, at: model(tokens, {"input_pos": at})


def exported(model: Transformer) -> Any:
    method = program_of(model)
    return lambda tokens, at: method.execute([tokens, at])[0]


@pytest.mark.sampled
@OPERATOR
def test_int8_caches(operator: bool):
    """LE-09: results are near those of the float cache, and the program computes what eager does."""
    float_model, model = cached(operator), cached(operator)
    quantize_kv_cache(model)
    tokens = torch.randint(0, 96, (1, 24), generator=torch.Generator().manual_seed(3))
    lengths = [5, 1, 1, 6, 6, 1, 4]
    with torch.no_grad():
        exact = in_calls(eager(float_model), tokens, lengths)
        found = in_calls(eager(model), tokens, lengths)
        run = in_calls(exported(cached_int8(operator)), tokens, lengths)
    assert torch.nn.functional.cosine_similarity(found, exact).min() > 0.999
    assert not torch.equal(found, exact)
    torch.testing.assert_close(run, found, rtol=1e-3, atol=1e-3)
    caches = [name for name, buffer in model.named_buffers() if buffer.dtype == torch.int8 and name.endswith("_cache")]
    assert len(caches) == 2 * len(model.layers)


def cached_int8(operator: bool) -> Transformer:
    model = cached(operator)
    quantize_kv_cache(model)
    return model


@pytest.mark.sampled
@pytest.mark.parametrize("quantized", [False, True], ids=["float", "int8"])
@OPERATOR
def test_local_and_global_attention(operator: bool, quantized: bool):
    """LE-09: the first layer sees the last 7 tokens, the second all; the caches hold no more than that."""
    reference = small()
    reference.layers[0].attention.window = Window(7)
    model = cached(operator)
    set_weights(model, dict(reference.named_parameters()))
    if quantized:
        quantize_kv_cache(model)
    use_local_global_attention(model, [7, 0])
    places = [layer.attention.kv_cache.k_cache.shape[1 if operator else 2] for layer in model.layers]
    assert places == [7 + SEQ - 1, 40]
    tokens = torch.randint(0, 96, (1, 40), generator=torch.Generator().manual_seed(4))
    tolerance = 5e-2 if quantized else 1e-4
    with torch.no_grad():
        expected = reference(tokens)[0]
        call = exported(model)
        for lengths in ([6] * 6 + [4], [1] * 40, [3, 6, 1, 5, 1, 1, 6, 6, 2, 6, 3]):
            torch.testing.assert_close(in_calls(call, tokens, lengths), expected, rtol=tolerance, atol=tolerance)


def streaming(model: Transformer, tokens: Tensor, sinks: int, window: int) -> Tensor:
    """Logits of all tokens, one at a time: a token sees the first `sinks` and the last `window`, numbered in order."""
    memory: list[list[tuple[Tensor, Tensor]]] = [[] for _ in model.layers]
    rows = []
    for token in tokens[0]:
        x = model.tok_embeddings(token[None, None])
        for layer, past in zip(model.layers, memory, strict=True):
            attention: AttentionMHA = layer.attention
            h = layer.attention_norm(x)
            heads = [part.unflatten(-1, (-1, attention.head_dim)).transpose(1, 2) for part in attention._project(h)]
            past.append((heads[1], heads[2]))
            if len(past) > sinks + window:
                del past[sinks]
            cos, sin = model.rope.get_freqs_using_indices(torch.arange(len(past)))
            keys = model.rope.rotate(torch.cat([k for k, _ in past], 2), cos, sin)
            query = model.rope.rotate(heads[0], cos[-1:], sin[-1:])
            values = torch.cat([v for _, v in past], 2)
            y = torch.nn.functional.scaled_dot_product_attention(query, keys, values, enable_gqa=True)
            x = x + attention.wo(y.transpose(1, 2).flatten(2))
            x = x + layer.feed_forward(layer.ffn_norm(x))
        rows.append(model.output(model.norm(x))[0])
    return torch.cat(rows)


@pytest.mark.sampled
@pytest.mark.parametrize("quantized", [False, True], ids=["float", "int8"])
@pytest.mark.parametrize("halves", [False, True])
@OPERATOR
def test_attention_sinks_generate_past_the_context(operator: bool, halves: bool, quantized: bool):
    """LE-09: 5 windows past a context of 40 positions, the logits are those of the definition (`streaming`)."""
    sinks, window = 3, 20
    model = cached(operator, use_hf_rope=halves)
    tokens = torch.randint(0, 96, (1, 40 + 5 * window), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        expected = streaming(model, tokens, sinks, window)
        if quantized:
            quantize_kv_cache(model)
        use_attention_sinks(model, sinks, window)
        call = exported(model)
        found = in_calls(call, tokens, [6, 6, 6, 5] + [1] * (tokens.shape[1] - 23))
        tolerance = 5e-2 if quantized else 1e-4
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
        # A new text begins at position 0; nothing of the old one is seen.
        again = in_calls(call, tokens[:, :12], [6, 6])
        torch.testing.assert_close(again, expected[:12], rtol=tolerance, atol=tolerance)


def test_windows_that_cannot_be():
    with pytest.raises(ValueError, match="a window needs a size above 0"):
        use_attention_sinks(cached(False), 4, 0)
    with pytest.raises(ValueError, match="sizes of 0 and above"):
        use_local_global_attention(cached(False), [-1])
    with pytest.raises(ValueError, match="layers all have full attention"):
        use_attention_sinks(cached(False, layer_types=["conv", "full_attention"]), 4, 8)
