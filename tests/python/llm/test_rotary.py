# SPDX-License-Identifier: BSD-3-Clause
"""Rotary position embedding as functions."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sdk.examples.models.llama import rope
from sdk.extension.llm.model.model_args import ModelArgs


def heads(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def test_pairs_are_complex_numbers() -> None:
    q, k = heads(2, 5, 4, 8), heads(2, 5, 2, 8)
    cos, sin = rope.precompute_freqs_cis(8, 5, theta=500.0)
    angles = torch.arange(5.0)[:, None] * 500.0 ** -(torch.arange(0.0, 8, 2) / 8)
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]
    expected = [torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2) for x in (q, k)]
    torch.testing.assert_close(list(rope.apply_rotary_emb(q, k, cos, sin)), expected)
    torch.testing.assert_close(list(rope.RotaryEmbedding()(q, k, cos, sin)), expected)
    torch.testing.assert_close(rope.apply_rotary_emb_to_k(k, cos, sin), expected[1])
    per_head = [table[:, None].expand(5, 2, 4).contiguous() for table in (cos, sin)]
    torch.testing.assert_close(rope.apply_rotary_emb_to_k(k, *per_head), expected[1])
    assert rope.apply_rotary_emb_to_k(k.half(), cos, sin).dtype == torch.float16
    with pytest.raises(ValueError, match=r"a table of the shape \[5, 4\], found \[4, 4\]"):
        rope.apply_rotary_emb(q, k, cos[:4], sin[:4])


@pytest.mark.parametrize("partial", [1.0, 0.5])
def test_halves_as_in_transformers(partial: float) -> None:
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    q, k = heads(2, 4, 5, 8), heads(2, 2, 5, 8)
    cos, sin = rope.hf_precompute_freqs_cis(8, 5, 10000.0, partial)
    rotated = int(8 * partial)
    angles = torch.arange(5.0)[:, None] * 10000.0 ** -(torch.arange(0.0, rotated, 2) / rotated)
    torch.testing.assert_close(cos, torch.cat([angles.cos(), angles.cos()], -1))
    cos, sin = cos.expand(2, -1, -1), sin.expand(2, -1, -1)
    turned = llama.apply_rotary_pos_emb(q[..., :rotated], k[..., :rotated], cos, sin)
    expected = [torch.cat([y, x[..., rotated:]], -1) for y, x in zip(turned, (q, k), strict=True)]
    torch.testing.assert_close(list(rope.hf_apply_rotary_emb(q, k, cos, sin)), expected)
    swapped = rope.hf_apply_rotary_emb(q.transpose(1, 2), k.transpose(1, 2), cos, sin, unsqueeze_dim=2)
    torch.testing.assert_close([x.transpose(1, 2) for x in swapped], expected)
    torch.testing.assert_close(rope.hf_apply_rotary_emb_to_k(k, cos, sin), expected[1])
    assert torch.equal(rope.rotate_half(torch.arange(4)), torch.tensor([-2, -3, 0, 1]))
    with pytest.raises(ValueError, match="position_ids"):
        rope.hf_apply_rotary_emb(q, k, cos, sin, torch.arange(5))


def test_scaled_frequencies_of_llama() -> None:
    utils = pytest.importorskip("transformers.modeling_rope_utils")
    transformers = pytest.importorskip("transformers")
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192, "rope_theta": 500000.0}  # fmt: skip
    config = transformers.LlamaConfig(hidden_size=128, num_attention_heads=1, head_dim=128, rope_theta=500000.0,
                                      rope_scaling=scaling, max_position_embeddings=131072)  # fmt: skip
    expected, _ = utils.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    plain = 500000.0 ** -(torch.arange(0.0, 128, 2) / 128)
    torch.testing.assert_close(rope.apply_scaling(plain, 8, 4), expected)
    cos, sin = rope.precompute_freqs_cis(128, 3, 500000.0, use_scaled=True, scale_factor=8)
    torch.testing.assert_close(cos, (torch.arange(3.0)[:, None] * expected).cos())
    torch.testing.assert_close(sin, (torch.arange(3.0)[:, None] * expected).sin())
    with pytest.raises(ValueError, match="needs scale_factor"):
        rope.precompute_freqs_cis(128, 3, use_scaled=True)


@pytest.mark.parametrize(("end", "factor"), [(8, 2.0), (9, 4.0)])
def test_long_rope(end: int, factor: float) -> None:
    options = {"short_factor": [2.0, 2.0], "long_factor": [4.0, 4.0], "original_max_pos": 8}
    cos, _ = rope.hf_precompute_freqs_cis(4, end, 100.0, **options, max_position_embeddings=64)  # type: ignore[arg-type]
    growth = math.sqrt(1 + math.log(64 / 8) / math.log(8))
    angles = torch.arange(end)[:, None] * torch.tensor([1.0, 0.1], dtype=torch.float64) / factor
    torch.testing.assert_close(cos, (torch.cat([angles, angles], -1).cos() * growth).float())
    cos, _ = rope.hf_precompute_freqs_cis(4, end, 100.0, **options, attention_factor=1.5)  # type: ignore[arg-type]
    torch.testing.assert_close(cos, (torch.cat([angles, angles], -1).cos() * 1.5).float())


def test_rows_of_the_tables() -> None:
    def tables(**options: bool) -> rope.Rope:
        return rope.Rope(ModelArgs(dim=8, n_heads=2, max_context_len=16, **options))  # type: ignore[arg-type]

    without, cached, growing = tables(), tables(use_kv_cache=True), tables(use_kv_cache=True, enable_dynamic_shape=True)
    for found, rows in (
        (without.get_freqs(None, 3), [0, 1, 2]),
        (cached.get_freqs(torch.tensor([5, 7]), 2), [5, 7]),
        (growing.get_freqs(torch.tensor([4]), 3), [4, 5, 6]),
        (without.get_freqs_using_indices(torch.tensor([9, 2])), [9, 2]),
    ):
        assert torch.equal(found[0], without.freqs_cos[rows]) and torch.equal(found[1], without.freqs_sin[rows])
    with pytest.raises(ValueError, match="expected the first position with use_kv_cache=True"):
        cached.get_freqs(None, 1)
    with pytest.raises(ValueError, match="expected None with use_kv_cache=False"):
        without.get_freqs(torch.tensor([0]), 1)
