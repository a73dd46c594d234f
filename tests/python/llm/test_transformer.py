# SPDX-License-Identifier: BSD-3-Clause
"""The transformer against the models of Hugging Face's transformers, with their weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from language_models import CONFIGS, both, random_model, with_weights_of

from sdk.extension.llm.export.checkpoint import CheckpointError, hugging_face_args, hugging_face_weights, set_weights
from sdk.extension.llm.model.attention import SDPA
from sdk.extension.llm.model.model_args import ActFn, ModelArgs
from sdk.extension.llm.model.transformer import construct_transformer


@pytest.mark.parametrize("name", CONFIGS)
def test_logits_are_those_of_transformers(name: str):
    theirs, ours = both(name)
    tokens = torch.randint(0, 96, (2, 23))
    with torch.no_grad():
        torch.testing.assert_close(ours(tokens), theirs(tokens).logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operator", [False, True], ids=["sdpa", "custom_sdpa"])
@pytest.mark.parametrize("name", CONFIGS)
def test_calls_with_a_cache_continue_the_sequence(name: str, operator: bool):
    """Several calls with a cache give the logits of one call with the whole sequence, for both attention operators."""
    theirs, ours = both(name, use_kv_cache=True, use_sdpa_with_kv_cache_op=operator)
    tokens = torch.randint(0, 96, (1, 23))
    with torch.no_grad():
        for _ in range(2):  # the second sequence starts with the first one's values in the cache
            parts = [
                ours(tokens[:, first:last], {"input_pos": torch.tensor([first])})
                for first, last in [(0, 9), (9, 10), (10, 20), (20, 21), (21, 22), (22, 23)]
            ]
            torch.testing.assert_close(torch.cat(parts, 1), theirs(tokens).logits, rtol=1e-4, atol=1e-4)
            tokens = torch.randint(0, 96, (1, 23))


def test_long_rope_switches_its_factors_with_the_context():
    """The short factors are used within the trained length, and the long ones beyond it; like transformers, the choice
    depends on the length of the sequence."""
    theirs, ours = both("phi3")
    assert torch.equal(ours.rope.freqs_cos[1, :3], ours.rope.freqs_cos[1, 3:])
    long = construct_transformer(
        hugging_face_args(theirs.config.to_dict(), max_context_len=100, generate_full_logits=True)
    )
    set_weights(long, dict(ours.state_dict()))
    tokens = torch.randint(0, 96, (1, 90))
    with torch.no_grad():
        torch.testing.assert_close(long(tokens), theirs(tokens).logits, rtol=1e-4, atol=1e-4)


def test_dynamic_rope_grows_with_the_sequence():
    """Tests contexts beyond the trained length. Keys are not rotated again, so a sequence is split into the same calls
    for both."""
    theirs = random_model(CONFIGS["llama_dynamic"](max_position_embeddings=12))
    config = theirs.config.to_dict()
    tokens = torch.randint(0, 96, (1, 23))
    with torch.no_grad():
        whole = with_weights_of(theirs, config)(tokens)
        torch.testing.assert_close(whole, theirs(tokens).logits, rtol=1e-4, atol=1e-4)
        ours = with_weights_of(theirs, config, use_kv_cache=True)
        theirs = random_model(theirs.config)
        cache = transformers.DynamicCache()
        for first, last in [(0, 9), (9, 10), (10, 20), (20, 21), (21, 23)]:
            part = tokens[:, first:last]
            expected = theirs(part, past_key_values=cache).logits
            found = ours(part, {"input_pos": torch.tensor([first])})
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert (found - whole[:, 21:]).abs().max() > 1e-3
    with pytest.raises(ValueError, match="dynamic' has no frequencies for an unlimited number of positions"):
        ours.rope.extend()


def test_rope_of_pairs_is_that_of_halves_with_permuted_weights():
    """Meta's checkpoints rotate neighbouring numbers; Hugging Face's have the same weights with permuted rows."""
    _, halves = both("llama")
    args = ModelArgs(**{**vars(halves.params), "use_hf_rope": False})
    pairs = construct_transformer(args).eval()
    weights = dict(halves.state_dict())
    for name in [name for name in weights if name.endswith(("wq.weight", "wk.weight"))]:
        rows = weights[name].unflatten(0, (-1, 2, 4))
        weights[name] = rows.transpose(1, 2).flatten(0, 2)
    set_weights(pairs, weights)
    tokens = torch.randint(0, 96, (1, 23))
    with torch.no_grad():
        torch.testing.assert_close(pairs(tokens), halves(tokens), rtol=1e-4, atol=1e-4)


def test_the_last_token_alone_has_logits_unless_told_otherwise():
    _, ours = both("llama")
    tokens = torch.randint(0, 96, (2, 7))
    with torch.no_grad():
        whole = ours(tokens)
        ours.params.generate_full_logits = False
        torch.testing.assert_close(ours(tokens), whole[:, -1])
        torch.testing.assert_close(ours(tokens, {"last_valid_token_pos": 3}), whole[:, 3])
        torch.testing.assert_close(ours(h=ours.tok_embeddings(tokens)), whole[:, -1])


def test_pruned_vocabularies_keep_the_numbers_of_tokens():
    _, whole = both("llama")
    kept = [5, 17, 3, 95]
    weights, map = dict(whole.state_dict()), dict(enumerate(kept))
    args = ModelArgs(**{**vars(whole.params), "input_prune_map": map, "output_prune_map": map})
    pruned = construct_transformer(args).eval()
    weights["tok_embeddings.weight"], weights["output.weight"] = (
        weights[name][kept] for name in ("tok_embeddings.weight", "output.weight")
    )
    set_weights(pruned, weights)
    tokens = torch.tensor([[17, 95, 3, 3, 5]])
    with torch.no_grad():
        logits, expected = pruned(tokens), whole(tokens)
    torch.testing.assert_close(logits[..., kept], expected[..., kept])
    others = [token for token in range(96) if token not in kept]
    assert (logits[..., others] == float("-inf")).all()
    with pytest.raises(ValueError, match="output_prune_map must map 0 to 1 to different tokens below 96"):
        construct_transformer(ModelArgs(**{**vars(whole.params), "output_prune_map": {0: 5, 1: 96}}))


def test_adapters_add_their_product():
    args = ModelArgs(dim=16, n_heads=2, r=3, lora_alpha=6, target_modules=["q_proj", "down_proj"], hidden_dim=8)
    layer = construct_transformer(args).layers[0].attention.wq
    x = torch.randn(2, 16)
    expected = x @ (layer.linear.weight + 2 * layer.lora_b.weight @ layer.lora_a.weight).T
    torch.testing.assert_close(layer(x), expected)
    assert type(construct_transformer(args).layers[0].attention.wk) is torch.nn.Linear
    with pytest.raises(ValueError, match="need a rank and an alpha"):
        construct_transformer(ModelArgs(dim=16, n_heads=2, target_modules=["q_proj"]))


def test_capped_scores_are_those_of_gemma_2():
    q, k, v = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    k4, v4 = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    scores = 2.0 * torch.tanh(q @ k4.mT * 0.3 / 2.0)
    expected = scores.masked_fill(~mask, -torch.inf).softmax(-1) @ v4
    found = SDPA(32, 8, 2, 5, scale=0.3, softcap=2.0)(None, q, k, v, 1, 3, mask)
    torch.testing.assert_close(found, expected.transpose(1, 2).reshape(1, 3, 32))


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"kv_io_bit_width": 8, "use_q_gate": True}, "not supported: use_q_gate, kv_io_bit_width"),
        ({"moe": True, "moe_score_func": "tanh"}, "moe_score_func='tanh' must be one of softmax, softmax_all, sigmoid"),
        ({"n_heads": 4, "n_kv_heads": 3}, "n_heads=4 is not a multiple of n_kv_heads=3"),
        ({"attention_type": "sparse"}, "the attention type 'sparse' is not known; known are mha"),
        ({"layer_types": ["conv"], "n_layers": 2}, "for each of 2 layers"),
        ({"layer_types": ["mamba"]}, "must name one of full_attention, sliding_attention, conv"),
        ({"layer_types": ["sliding_attention"]}, "need sliding_window"),
        ({"use_hf_rope": True, "rope_scaling_short_factor": [1.0]}, "LongRoPE has 1 factors"),
        ({"rope_scaling_type": "ntk"}, "rope_scaling_type='ntk' is not known; known are linear, dynamic and yarn"),
        ({"rope_scaling_type": "yarn"}, "'yarn' needs original_max_position_embeddings"),
        ({"rope_scaling_type": "dynamic"}, "'dynamic' needs max_position_embeddings"),
        ({"moe": True, "num_activated_experts": 9}, "num_activated_experts=9 must be from 1 to num_experts=8"),
        ({"no_rope_layers": [1], "n_layers": 2}, "no_rope_layers must have a number for each of 2 layers"),
        ({"norm_type": "layernorm", "scale_query_by": 2.0}, "not supported: norm_type, scale_query_by"),
    ],
)
def test_hyperparameters_that_fit_no_model_are_refused(fields: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        construct_transformer(ModelArgs(**{"dim": 16, "n_heads": 4, **fields}))


def test_one_of_tokens_and_embeddings_is_expected():
    _, ours = both("llama")
    with pytest.raises(ValueError, match=r"either tokens or embeddings \(h\), found neither"):
        ours()


def test_defaults_follow_from_the_width():
    """The width of feed-forward blocks as Llama computes it: 2/3 of 4 dim, rounded up to `multiple_of`."""
    assert ModelArgs(dim=4096).hidden_dim == 11008  # Llama 2, 7B
    assert ModelArgs(dim=4096, ffn_dim_multiplier=1.3, multiple_of=1024).hidden_dim == 14336  # Llama 3, 8B
    assert (ModelArgs(dim=64, n_heads=4).head_dim, ModelArgs(n_heads=4).n_kv_heads) == (16, 4)
    assert ModelArgs(rope_theta=5e5).rope_freq_base == 5e5
    assert ModelArgs(act_fn="gelu_approx").act_fn is ActFn.GELU_APPROX  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'swish' is not known; known are silu, gelu, gelu_approx"):
        ModelArgs(act_fn="swish")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda weights: weights.pop("norm.weight"), "norm.weight is missing"),
        (lambda weights: weights.update({"extra.weight": torch.zeros(1)}), "extra.weight is not part of the model"),
        (lambda weights: weights.update({"norm.weight": torch.zeros(3)}), r"the shape \[3\], expected \[48\]"),
    ],
)
def test_weights_that_do_not_fit_are_named(change: Any, message: str):
    _, ours = both("llama")
    weights = dict(ours.state_dict())
    change(weights)
    before = ours.norm.weight
    with pytest.raises(CheckpointError, match=message):
        set_weights(ours, weights)
    assert ours.norm.weight is before


def test_unknown_models_and_weights_are_named():
    with pytest.raises(CheckpointError, match="the model type 'bert' is not supported; supported are llama"):
        hugging_face_args({"model_type": "bert"})
    _, ours = both("llama")
    items = [("model.layers.0.self_attn.rotary.weight", torch.zeros(1))]
    with pytest.raises(CheckpointError, match=r"not known: model.layers.0.self_attn.rotary.weight; is the model"):
        hugging_face_weights(items, "llama", ours.params)
