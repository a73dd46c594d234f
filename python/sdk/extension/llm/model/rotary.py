# SPDX-License-Identifier: BSD-3-Clause
"""Rotary position embedding as functions of tensors, for models that other programs define."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.rope import Rope, rotate_halves, rotate_pairs
from sdk.extension.llm.model.rope_scaling import LLAMA3_CONTEXT, long_wavelengths
from sdk.extension.llm.model.window import Window


def apply_scaling(freqs: Tensor, scale_factor: int, high_freq_factor: int) -> Tensor:
    """Scales frequencies, in radians for each position, as Llama 3.1 does for contexts `scale_factor` times as long."""
    return long_wavelengths(freqs.double(), scale_factor, 1, high_freq_factor, LLAMA3_CONTEXT).to(freqs.dtype)


def precompute_freqs_cis(
    dim: int,
    end: int,
    theta: float = 10000.0,
    use_scaled: bool = False,
    scale_factor: int | None = None,
    high_freq_factor: int = 4,
    device: str | torch.device = "cpu",
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of `end` positions for heads of size `dim`, [end, dim / 2] each, for `apply_rotary_emb`.

    `use_scaled`: `apply_scaling` scales the frequencies; without `scale_factor`, this raises ValueError.
    """
    if use_scaled and scale_factor is None:
        raise ValueError("use_scaled=True needs scale_factor, found None")
    params = ModelArgs(
        head_dim=dim, max_context_len=end, rope_freq_base=theta, use_scaled_rope=use_scaled,
        rope_scale_factor=scale_factor or 1, high_freq_factor=high_freq_factor, low_freq_factor=1,
        original_max_position_embeddings=LLAMA3_CONTEXT,
    )  # fmt: skip
    return _tables(params, device)


def hf_precompute_freqs_cis(
    dim: int,
    end: int,
    theta: float,
    partial_rotary_factor: float = 1.0,
    device: str | torch.device = "cpu",
    short_factor: list[float] | None = None,
    long_factor: list[float] | None = None,
    original_max_pos: int | None = None,
    max_position_embeddings: int | None = None,
    attention_factor: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of `end` positions for heads of size `dim`, [end, dim * partial_rotary_factor] each, for
    `hf_apply_rotary_emb`.

    The factors are those of LongRoPE: `long_factor` where `end` is beyond the trained length `original_max_pos`.
    `attention_factor` scales both tables; by default it follows from the two lengths. Raises ValueError if there are
    not as many factors as frequencies.
    """
    params = ModelArgs(
        head_dim=dim, max_context_len=end, rope_freq_base=theta, use_hf_rope=True,
        partial_rotary_factor=partial_rotary_factor, rope_scaling_short_factor=short_factor,
        rope_scaling_long_factor=long_factor, original_max_position_embeddings=original_max_pos,
        max_position_embeddings=max_position_embeddings, rope_scaling_attention_factor=attention_factor,
    )  # fmt: skip
    return _tables(params, device)


def _tables(params: ModelArgs, device: str | torch.device) -> tuple[Tensor, Tensor]:
    rope = Rope(params)
    return rope.freqs_cos.to(device), rope.freqs_sin.to(device)


def reshape_for_broadcast(freqs_cis: Tensor, x: Tensor) -> Tensor:
    """A table [tokens, size] or [tokens, heads, size] with dimensions of size 1 for the other dimensions of x, which is
    [batch, tokens, heads, size]. Raises ValueError for another shape."""
    per_head = freqs_cis.dim() == 3
    expected = x.shape[-3:] if per_head else (x.shape[1], x.shape[-1])
    if freqs_cis.shape != expected:
        raise ValueError(f"expected a table of the shape {list(expected)}, found {list(freqs_cis.shape)}")
    kept = range(x.dim() - 3, x.dim()) if per_head else (1, x.dim() - 1)
    return freqs_cis.view([size if i in kept else 1 for i, size in enumerate(x.shape)])


def apply_rotary_emb(xq: Tensor, xk: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> tuple[Tensor, Tensor]:
    """Rotates pairs of neighbouring elements of queries and keys, [batch, tokens, heads, head_dim], by the tables of
    `precompute_freqs_cis`."""
    return apply_rotary_emb_to_k(xq, freqs_cos, freqs_sin), apply_rotary_emb_to_k(xk, freqs_cos, freqs_sin)


def apply_rotary_emb_to_k(xk: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> Tensor:
    """Like `apply_rotary_emb`, but only for keys."""
    cos, sin = (reshape_for_broadcast(table, xk[..., ::2]) for table in (freqs_cos, freqs_sin))
    return rotate_pairs(xk, cos, sin)


class RotaryEmbedding(nn.Module):
    """`apply_rotary_emb` as a module, which a backend can replace."""

    def forward(self, xq: Tensor, xk: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> tuple[Tensor, Tensor]:
        """The rotated queries and keys."""
        return apply_rotary_emb(xq, xk, freqs_cos, freqs_sin)


def hf_apply_rotary_emb(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, position_ids: Tensor | None = None, unsqueeze_dim: int = 1
) -> tuple[Tensor, Tensor]:
    """Rotates the halves of queries and keys by the tables of `hf_precompute_freqs_cis`, as transformers does.

    The tables get a dimension for the heads at `unsqueeze_dim`. Raises ValueError for `position_ids`: take the rows of
    the tables that belong to the positions.
    """
    options = (cos, sin, position_ids, unsqueeze_dim)
    return hf_apply_rotary_emb_to_k(q, *options), hf_apply_rotary_emb_to_k(k, *options)


def hf_apply_rotary_emb_to_k(
    k: Tensor, cos: Tensor, sin: Tensor, position_ids: Tensor | None = None, unsqueeze_dim: int = 1
) -> Tensor:
    """Like `hf_apply_rotary_emb`, but only for keys."""
    if position_ids is not None:
        raise ValueError("position_ids: expected None; take these rows of cos and sin")
    return rotate_halves(k, cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim))


class RopeWithAttentionSink(Rope):
    """Uses positions in a cache of `sink_size` first tokens and a ring of 2 `window_size` others, so that texts of any
    length need no further frequencies."""

    def __init__(self, params: ModelArgs, window_size: int, sink_size: int) -> None:
        super().__init__(params)
        self.window_size, self.sink_size, self.ring_size = window_size, sink_size, 2 * window_size
        if sink_size + self.ring_size > params.max_context_len:
            self.extend()

    def get_freqs_using_indices(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """See `Rope`. With a key-value cache, the frequencies belong to the cache slots of the positions."""
        window = Window(self.window_size, self.sink_size, self.ring_size)
        return super().get_freqs_using_indices(window.slots(indices) if self.params.use_kv_cache else indices)
