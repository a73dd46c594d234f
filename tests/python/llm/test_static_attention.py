# SPDX-License-Identifier: BSD-3-Clause
"""Attention with caches as inputs, against the model that computes all tokens at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from language_models import small
from torch import nn

from sdk.examples.models.llama.attention import AttentionMHA
from sdk.examples.models.llama.lora import lora_call
from sdk.examples.models.llama.static_attention import (
    StaticAttention,
    StaticAttentionIOManager,
    StaticAttentionMask,
    StaticKCache,
    StaticKVCache,
    StaticVCache,
    transform_attention_mha_to_static_attention,
)
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.llm.model.window import Window
from sdk.runtime import Runtime

TOKENS = torch.randint(0, 96, (1, 32), generator=torch.Generator().manual_seed(4))
CASES = [
    (False, False, {}), (True, False, {}), (True, True, {}), (True, False, {"use_qk_norm": True}),
    (True, True, {"use_qk_norm": True, "qk_norm_before_rope": True}), (False, False, {"attention_multiplier": 0.4}),
    (True, False, {"no_rope_layer_interval": 2}), (False, False, {"partial_rotary_factor": 0.5, "use_hf_rope": True}),
    (True, False, {"attention_qkv_bias": True}),
    (False, False, {"use_qk_norm": True, "rms_norm_add_unit_offset": True}),
]  # fmt: skip


def reference(**fields: Any) -> Any:
    model = small(**fields)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or name.endswith("bias"):  # initial values of one or zero would hide mistakes
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(name))))
    return model


@pytest.mark.parametrize("style", ["shift_pointer", "smart_mask"])
@pytest.mark.parametrize(("split", "conv", "fields"), CASES)
def test_static_attention_is_that_of_the_model(split: bool, conv: bool, fields: dict[str, Any], style: str):
    """The logits of all tokens, in calls of 5 tokens with caches that hold the whole text, equal those of the model."""
    model = reference(**fields)
    hf = split and not fields.get("use_hf_rope", False) and "no_rope_layer_interval" not in fields
    static = transform_attention_mha_to_static_attention(model, split, False, use_conv2d=conv, use_hf_rope=hf)
    assert not any(isinstance(part, AttentionMHA) for part in static.modules())
    manager = StaticAttentionIOManager(static, 5, 32, style=style)
    with torch.no_grad():
        expected = model(TOKENS)
        torch.testing.assert_close(manager.prefill(static, TOKENS), expected, rtol=1e-3, atol=1e-4)
        manager.reset()
        torch.testing.assert_close(
            manager.prefill(static, TOKENS[0, :7].tolist()), expected[:, :7], rtol=1e-3, atol=1e-4
        )


@pytest.mark.parametrize("style", ["shift_pointer", "smart_mask"])
def test_short_caches_are_windows(style: str):
    """A token attends to the tokens of its call and, if the caches are full, to the earlier tokens that the layer's
    cache holds."""
    model = small()
    static = transform_attention_mha_to_static_attention(model, inplace=False)
    model.layers[0].attention.window = Window(5)
    manager = StaticAttentionIOManager(static, 1, [4, 32], style=style)
    with torch.no_grad():
        torch.testing.assert_close(manager.prefill(static, TOKENS), model(TOKENS), rtol=1e-3, atol=1e-4)


def greedy(model: Any, count: int, stops: tuple[int, ...] = ()) -> list[int]:
    tokens = TOKENS[0, :7].tolist()
    with torch.no_grad():
        while len(tokens) < 7 + count and (len(tokens) == 7 or tokens[-1] not in stops):
            tokens.append(int(model(torch.tensor([tokens]))[0, -1].argmax()))
    return tokens[7:]


@pytest.mark.parametrize("split", [False, True])
def test_decoding(split: bool):
    """Greedy and look-ahead decoding give the tokens of the whole model, and stop where they should."""
    model = small()
    static = transform_attention_mha_to_static_attention(model, split_mha=split, inplace=False)
    expected = greedy(model, 16)
    calls = []

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        with torch.no_grad():
            return static(*arguments)

    manager = StaticAttentionIOManager(static, 12, 40)
    first = int(manager.prefill(counted, TOKENS[:, :7])[0, -1].argmax())
    assert manager.decode(counted, first, 15) == expected
    ngrams: dict[int, Any] = {}
    caches = _Caches(ngrams)
    counts = []
    for _ in range(2):
        manager.reset()
        manager.prefill(counted, TOKENS[:, :7])
        calls.clear()
        assert manager.lookahead_decode(counted, first, 15, 3, 3, 3, ngram_caches=caches) == expected
        counts.append(len(calls))
    assert counts[1] < 15, "the guesses of the first run are checked, several tokens per call"
    stop = expected[9]
    ended = expected[: expected.index(stop, 1) + 1]
    for decode in (manager.decode, lambda *arguments: manager.lookahead_decode(*arguments[:3], 3, 3, 3, arguments[3])):
        manager.reset()
        manager.prefill(counted, TOKENS[:, :7])
        assert decode(counted, first, 15, [stop]) == ended
    with pytest.raises(RuntimeError, match=r"at least .* = 14, found 12"):
        manager.lookahead_decode(counted, first, 4, 3, 4, 3)
    for sizes in ((1, 3, 3), (3, 0, 3), (3, 3, 0)):
        with pytest.raises(ValueError, match=r"look-ahead decoding needs .* found"):
            manager.lookahead_decode(counted, first, 4, *sizes)


class _Caches(dict):
    def __missing__(self, key: int) -> Any:
        return self.setdefault(key, StaticAttentionIOManager.NGramCache(3))


def test_last_logits_of_hyperparameters():
    """A model of `attention_type="static"` that gives the logits of one token."""
    for kind in ("static", "static_mha"):
        static = small(attention_type=kind, generate_full_logits=False)
        model = small(generate_full_logits=False)
        for layer, other in zip(static.layers, model.layers, strict=True):
            layer.attention.load_weights_from_attention_mha(other.attention)
            rest = {name: value for name, value in other.state_dict().items() if "attention." not in name}
            layer.load_state_dict(rest, strict=False)
        for name in ("tok_embeddings", "norm", "output"):
            getattr(static, name).load_state_dict(getattr(model, name).state_dict())
        manager = StaticAttentionIOManager(static.params, 5, 32)
        with torch.no_grad():
            found = manager.prefill(static, TOKENS[:, :13])
            torch.testing.assert_close(found.reshape(1, -1), model(TOKENS[:, :13]), rtol=1e-3, atol=1e-4)


@pytest.mark.sampled
def test_the_program_takes_the_caches():
    model = small()
    static = transform_attention_mha_to_static_attention(
        model, split_mha=False, inplace=False, decompose_sdpa_in_mha=True
    )
    manager = StaticAttentionIOManager(static, 4, 16)
    options = {
        "masks": manager.masks, "freqs_cos_override": manager.freqs_cos[:4],
        "freqs_sin_override": manager.freqs_sin[:4], "in_cache_state": (manager.k_caches, manager.v_caches),
    }  # fmt: skip
    inputs = (torch.zeros(1, 4, dtype=torch.int32), options)
    exported = torch.export.export(static, inputs)
    program = to_edge_transform_and_lower(exported).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    with torch.no_grad():
        spec = torch.utils._pytree.tree_structure(static(*inputs))

    def call(*arguments: Any) -> Any:
        return torch.utils._pytree.tree_unflatten(method.execute(torch.utils._pytree.tree_leaves(arguments)), spec)

    with torch.no_grad():
        found = manager.prefill(call, TOKENS[0, :11].tolist())
        torch.testing.assert_close(found, model(TOKENS[:, :11]), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("style", ["shift_pointer", "smart_mask"])
def test_caches_and_masks_show_the_last_tokens(style: str, transpose: bool):
    """After updates of any length, the cache slots that the mask leaves visible hold the last 16 tokens."""
    for lengths in ([3] * 12, [1] * 20, [16, 1, 20, 2], [7, 9, 8]):
        cache, mask, at = torch.full((1, 16, 1), -1), StaticAttentionMask(2, 16, style, -9.0), 0
        for length in lengths:
            update = torch.arange(at - 1, at + length + 1).reshape(1, -1, 1)  # one more on each side, not to be stored
            shaped = [part.transpose(1, 2) if transpose else part for part in (cache, update)]
            cache = StaticKVCache.apply_update(*shaped, at, style, transpose, 1, length)
            cache = cache.transpose(1, 2) if transpose else cache
            mask.unmask(length)
            at += length
            shown = cache.flatten()[mask.tensor[0, 1, :16] == 0]
            assert sorted(shown.tolist()) == list(range(max(0, at - 16), at))
        none = StaticKVCache.apply_update(*shaped, at, style, transpose, 1, 0)
        assert torch.equal(none, shaped[0]), "no token is added"
    mask.reset()
    assert (mask.tensor[:, :, :16] == -9).all() and mask.unmasked_len == 0


def test_caches_by_name():
    new = torch.ones(1, 2, 3)
    earlier = {"l1,h2": torch.zeros(1, 4, 3)}
    whole, state = StaticVCache(1, 2).update(new, ({}, earlier), None)
    assert whole.shape == (1, 6, 3) and state == ({}, {"l1,h2": new})
    turned = {"l1,h2": torch.zeros(1, 3, 4)}
    whole, state = StaticKCache(1, 2, transpose=True).update(new, (turned, {}), state)
    assert whole.shape == (1, 3, 6) and state is not None and state[0]["l1,h2"].shape == (1, 3, 2)
    assert StaticKCache(0, 0).update(new, (turned, {}), None)[1] is None


def test_adapters():
    """LoRA of all heads at once; matrices may come with a call."""
    lora = {"target_modules": ["q_proj", "v_proj", "o_proj"], "r": 2, "lora_alpha": 4.0}
    model = small(**lora)
    static = transform_attention_mha_to_static_attention(model, split_mha=False, inplace=False)
    manager = StaticAttentionIOManager(static, 4, 32)
    with torch.no_grad():
        torch.testing.assert_close(manager.prefill(static, TOKENS), model(TOKENS), rtol=1e-3, atol=1e-4)
    layer, x = model.layers[0].attention.wq, torch.randn(1, 3, 64)
    layer._lora_key = "q"
    a, b = torch.randn(2, 64), torch.randn(64, 2)
    torch.testing.assert_close(lora_call(layer, x, {"q": (a, b)}), layer.linear(x) + 2 * (x @ a.T @ b.T))
    assert torch.equal(lora_call(layer, x, {"k": (a, b)}), layer(x))
    with pytest.raises(ValueError, match="split_mha=False"):
        transform_attention_mha_to_static_attention(model)


def test_masked_softmax_far_below():
    model = small()
    static = transform_attention_mha_to_static_attention(model, inplace=False, enable_qnn_masked_softmax=True)
    manager = StaticAttentionIOManager(static, 8, 32, mask_val=-255.0)
    with torch.no_grad():
        torch.testing.assert_close(manager.prefill(static, TOKENS), model(TOKENS), rtol=1e-2, atol=1e-2)


def test_what_static_attention_does_not_compute():
    for fields, why in (
        ({"use_qk_norm": True, "qk_norm_whole": True}, "norms of all heads together"),
        ({"attn_logit_softcapping": 30.0}, "a soft cap"),
    ):
        with pytest.raises(ValueError, match=why):
            transform_attention_mha_to_static_attention(small(**fields))
    attention = small().layers[0].attention
    with pytest.raises(ValueError, match="is_kv_shared_layer"):
        StaticAttention(attention.rope.params, 0, attention.rope, is_kv_shared_layer=True)
    static = StaticAttention.from_attention_mha(attention)
    static.linear_to_conv2d()
    with pytest.raises(RuntimeError, match="before linear_to_conv2d"):
        static.adopt_hf_rope()
    with pytest.raises(RuntimeError, match="split_mha=True"):
        StaticAttention.from_attention_mha(attention, split_mha=False).linear_to_conv2d()
    with pytest.raises(ValueError, match="transform_attention_mha_to_static_attention"):
        StaticAttentionIOManager(nn.Linear(1, 1), 1, 1)
    with pytest.raises(ValueError, match="expected one of shift_pointer, smart_mask"):
        StaticAttentionMask(1, 1, "other")


@pytest.mark.parametrize(("cached", "operator"), [(False, False), (True, False), (True, True)])
def test_attention_alone(cached: bool, operator: bool):
    """Without the options of a transformer, positions are consecutive from `input_pos` on."""
    model = small(use_kv_cache=cached, use_sdpa_with_kv_cache_op=operator)
    attention, whole = model.layers[0].attention, small().layers[0].attention
    x = torch.randn(1, 9, 64)
    cos, sin = model.rope.get_freqs_using_indices(torch.arange(9))
    with torch.no_grad():
        expected, update = whole(x, cos, sin)
        assert update is None
        found = [
            attention(
                x[:, part], cos[part], sin[part], **({"input_pos": torch.tensor([part.start])} if cached else {})
            )[0]
            for part in ((slice(0, 4), slice(4, 9)) if cached else (slice(0, 9),))
        ]
    torch.testing.assert_close(torch.cat(found, dim=1), expected, rtol=1e-4, atol=1e-4)
