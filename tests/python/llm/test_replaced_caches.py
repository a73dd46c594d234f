# SPDX-License-Identifier: BSD-3-Clause
"""Caches and attention that are put into a model, against the model that computes all positions at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from language_models import small
from test_caches import SEQ, eager, exported, in_calls
from torch import Tensor, nn

from sdk.examples.models.llama.attention import CachePositionsManager, CacheUpdateStrategy, KVCache, RingKVCache
from sdk.examples.models.llama.source_transformation import attention_sink, custom_kv_cache, sdpa
from sdk.extension.llm.export.checkpoint import set_weights
from sdk.extension.llm.model.transformer import Transformer
from sdk.extension.llm.model.window import Window

LENGTHS = [5, 1, 6, 1, 1, 6, 3, 6, 6, 5]
TOKENS = torch.randint(0, 96, (1, sum(LENGTHS)), generator=torch.Generator().manual_seed(6))
KINDS: dict[str, Callable[[Transformer], Any]] = {
    "sdpa": lambda model: None,
    "custom_sdpa": lambda model: sdpa.replace_sdpa_with_custom_op(
        custom_kv_cache.replace_kv_cache_with_custom_kv_cache(model)
    ),
    "int8": lambda model: custom_kv_cache.replace_kv_cache_with_quantized_kv_cache(model),
    "int8_sdpa": lambda model: sdpa.replace_sdpa_with_quantized_sdpa(
        sdpa.replace_sdpa_with_custom_op(custom_kv_cache.replace_kv_cache_with_quantized_kv_cache(model))
    ),
}


def cached(reference: Transformer, **fields: Any) -> Transformer:
    model = small(use_kv_cache=True, max_seq_len=SEQ, **fields)
    set_weights(model, dict(reference.named_parameters()))
    return model


@pytest.mark.parametrize("operator", [False, True], ids=["", "of_our_operator"])
@pytest.mark.parametrize("kind", KINDS)
def test_rings_see_the_last_tokens(kind: str, operator: bool):
    """LE-09: for calls of any length, the first layer attends to the last 7 tokens, and the other layers to all."""
    reference = small()
    reference.layers[0].attention.window = Window(7)
    model = cached(reference, use_sdpa_with_kv_cache_op=operator)
    KINDS[kind](model)
    sizes = [7] + [0] * (len(model.layers) - 1)
    assert custom_kv_cache.replace_kv_cache_with_ring_kv_cache(model, sizes) is model
    ring = model.layers[0].attention.kv_cache
    assert ring.is_ring_buffer and ring.window_size == 7 and ring.max_context_length == 14
    tolerance = {"rtol": 0.1, "atol": 0.1} if kind.startswith("int8") else {"rtol": 1e-4, "atol": 1e-4}
    with torch.no_grad():
        expected = reference(TOKENS)[0]
        for _ in range(2):  # the second text begins at position 0 of a full cache
            torch.testing.assert_close(in_calls(eager(model), TOKENS, LENGTHS), expected, **tolerance)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["sdpa", "custom_sdpa", "int8_sdpa"])
def test_programs_with_rings(kind: str):
    """LE-09: the program computes what eager does."""
    model = small(use_kv_cache=True, max_seq_len=SEQ)
    KINDS[kind](model)
    custom_kv_cache.replace_kv_cache_with_ring_kv_cache(model, [7])
    run = exported(model)
    with torch.no_grad():
        expected = in_calls(eager(model), TOKENS, LENGTHS)
    torch.testing.assert_close(in_calls(run, TOKENS, LENGTHS), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "replace",
    [
        sdpa.replace_sdpa_with_custom_op,
        sdpa.replace_sdpa_with_simple_sdpa,
        sdpa.replace_sdpa_with_flex_sdpa,
        sdpa.replace_sdpa_with_coreml_sdpa,
        sdpa.replace_kv_cache_with_coreml_kv_cache,
        sdpa.replace_kv_cache_with_simple_kv_cache,
        custom_kv_cache.replace_kv_cache_with_custom_kv_cache,
    ],
)
@pytest.mark.parametrize("fields", [{}, {"attention_multiplier": 0.3}], ids=["", "scaled"])
def test_attention_in_other_operators(replace: Callable[[nn.Module], nn.Module], fields: dict[str, Any]):
    reference = small(**fields)
    model = cached(reference, **fields)
    before = {name: type(part) for name, part in model.named_modules()}
    assert replace(model) is model
    changed = {name for name, part in model.named_modules() if type(part) is not before[name]}
    assert len(changed) == len(model.layers)
    with torch.no_grad():
        torch.testing.assert_close(in_calls(eager(model), TOKENS, LENGTHS), reference(TOKENS)[0], rtol=1e-4, atol=1e-4)


def test_soft_caps_are_not_lost():
    model = small(attn_logit_softcapping=20.0)
    with pytest.raises(ValueError, match="attn_logit_softcapping"):
        sdpa.replace_sdpa_with_custom_op(model)


def test_masks_become_causal():
    module = nn.ModuleDict({"inner": nn.Module(), "other": nn.Module()})
    module["inner"].register_buffer("mask", torch.ones(3, 3, dtype=torch.bool))
    module["other"].register_buffer("masks", torch.ones(3))
    sdpa.replace_causal_mask(module)
    infinity = float("inf")
    expected = torch.tensor([[0, -infinity, -infinity], [0, 0, -infinity], [0, 0, 0]])
    assert torch.equal(module["inner"].mask, expected) and torch.equal(module["other"].masks, torch.ones(3))


SINKS, WINDOW = 2, 4


def with_sinks(kind: str) -> Any:
    cache = attention_sink.KVCacheWithAttentionSink(1, 1, True, None, WINDOW, SINKS)
    if kind == "custom":
        return custom_kv_cache.replace_kv_cache_with_custom_kv_cache(nn.ModuleList([cache]))[0]
    return cache


@pytest.mark.parametrize("kind", ["sdpa", "custom"])
@pytest.mark.parametrize("lengths", [[1] * 25, [10, 3, 4, 4, 1], [2, 4, 1, 4]])
def test_sinks_stay_and_the_ring_moves(kind: str, lengths: list[int]):
    """The visible slots of the cache hold the first two and the last four tokens, each with its position."""
    cache, at = with_sinks(kind), 0
    for length in lengths:
        numbers = torch.arange(at, at + length, dtype=torch.float32).reshape(1, 1, length, 1) + 1
        keys, values = cache.update(torch.tensor([at]), numbers, -numbers)
        mask = cache.create_causal_mask_for_ring_buffer(at, length)
        for query, row in zip(range(at, at + length), mask, strict=True):
            seen = sorted((keys[0, 0, :, 0][row == 0] - 1).long().tolist())
            assert seen == [key for key in range(query + 1) if key < SINKS or key > query - WINDOW]
            assert torch.equal(values[0, 0, :, 0][row == 0], -keys[0, 0, :, 0][row == 0])
        at += length
    assert cache.evict_tokens(torch.tensor([at]), 1) == 0 if kind == "sdpa" else cache.sink_size == SINKS


def test_positions_in_rings():
    manager = CachePositionsManager(4)
    assert manager.calculate_positions_and_update_indices(torch.tensor([2]), 3).tolist() == [2, 3, 0]
    assert manager.cache_positions.tolist() == [4, -1, 2, 3]
    manager.calculate_positions_and_update_indices(torch.tensor([3]), 1)
    assert manager.cache_positions.tolist() == [-1, -1, 2, 3], "position 4 is forgotten"
    with pytest.raises(ValueError, match="5 tokens do not fit a ring of 4"):
        manager.calculate_positions_and_update_indices(torch.tensor([0]), 5)
    with pytest.raises(ValueError, match="RING_BUFFER"):
        CachePositionsManager(4, CacheUpdateStrategy.INVALID)
    with pytest.raises(ValueError, match="no room for 4 sinks"):
        attention_sink.CachePositionsManagerWithSink(4, 4)


def test_attention_sinks_of_a_model():
    """Within the window, a model with sinks gives the results of one without a cache; beyond it, finite results."""
    reference = small()
    model = cached(reference)
    assert attention_sink.enable_attention_sink(model, model.params, SINKS, 8) is model
    with torch.no_grad():
        found = in_calls(eager(model), TOKENS, LENGTHS)
        torch.testing.assert_close(found[:6], reference(TOKENS[:, :6])[0], rtol=1e-4, atol=1e-4)
    assert found.isfinite().all() and model.layers[0].attention.window == Window(8, SINKS, 8 + SEQ - 1)
    with pytest.raises(ValueError, match="use_kv_cache"):
        attention_sink.enable_attention_sink(reference, reference.params, SINKS, 8)
    with pytest.raises(TypeError, match="Transformer"):
        attention_sink.enable_attention_sink(nn.Linear(1, 1), model.params, SINKS, 8)


def test_rotations_of_places():
    params = small(use_kv_cache=True, enable_dynamic_shape=True).params
    rope = attention_sink.RopeWithAttentionSink(params, WINDOW, SINKS)
    cos, sin = rope.get_freqs(torch.tensor([8]), 4)
    places = torch.tensor([8, 9, 2, 3])  # a ring of 8 places begins at 2
    assert torch.equal(cos, rope.freqs_cos[places]) and torch.equal(sin, rope.freqs_sin[places])
    assert attention_sink.RopeWithAttentionSink(params, 100, SINKS).get_freqs(torch.tensor([150]), 2)[0].shape[0] == 2


@pytest.mark.parametrize("operator", [False, True])
@pytest.mark.parametrize("kind", [custom_kv_cache.QuantizedCacheType.AffineSymmetric, None])
def test_int8_caches_return_what_was_written(kind: Any, operator: bool):
    asymmetric = custom_kv_cache.QuantizedCacheType.AffineAsymmetric
    generator = torch.Generator().manual_seed(2)
    keys, values = (torch.randn(1, 2, 8, 16, generator=generator) + 1 for _ in range(2))
    cache = custom_kv_cache.QuantizedKVCache(1, 8, 2, 16, kind or asymmetric, operator)
    for at in (0, 5):
        length = 5 if at == 0 else 3
        part = slice(at, at + length)
        k, v = cache.update(torch.tensor([at]), keys[:, :, part], values[:, :, part])
        assert torch.equal(k[:, :, part], keys[:, :, part]) and torch.equal(v[:, :, part], values[:, :, part])
    step = (keys.amax(-1) - keys.amin(-1)) / 255 if kind is None else keys.abs().amax(-1) / 127
    assert ((k - keys).abs()[:, :, :5].amax(-1) <= step[:, :, :5] * (1 if kind is None else 0.501)).all()
    assert not torch.equal(k, keys)


def test_caches_that_cannot_be_replaced():
    model = small(use_kv_cache=True)
    with pytest.raises(ValueError, match="3 sizes of windows are not a pattern of 2 layers"):
        custom_kv_cache.replace_kv_cache_with_ring_kv_cache(model, [4, 0, 0])
    with pytest.raises(ValueError, match="layer 0 has no cache"):
        custom_kv_cache.replace_kv_cache_with_ring_kv_cache(small(), [4])
    with pytest.raises(ValueError, match="before replace_kv_cache_with_ring_kv_cache"):
        custom_kv_cache.replace_kv_cache_with_quantized_kv_cache(nn.ModuleList([RingKVCache(1, 4, 1, 1, True)]))
    with pytest.raises(ValueError, match="AffineSymmetric or AffineAsymmetric"):
        custom_kv_cache.QuantizedKVCache(1, 4, 1, 1, custom_kv_cache.QuantizedCacheType.AffineSymmetricGroupWise)
    with pytest.raises(TypeError, match="expected a QuantizedKVCache, found KVCache"):
        custom_kv_cache.QuantizedRingKVCache.from_quantized_kv_cache(KVCache(1, 4, 1, 1), 2)


def all_in_one(cache: nn.Module, tokens: Tensor) -> Tensor:
    return cache.update(torch.tensor([0]), tokens, tokens)[0]


def test_caches_take_the_first_position():
    """With `enable_dynamic_shape`, one position represents all tokens of a call."""
    values = torch.randn(1, 2, 3, 4)
    for cache in (KVCache(1, 8, 2, 4, True), RingKVCache(1, 4, 2, 4, True)):
        assert torch.equal(all_in_one(cache, values)[:, :, :3], values)
