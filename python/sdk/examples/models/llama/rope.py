# SPDX-License-Identifier: BSD-3-Clause
"""Rotary position embedding (Su et al., 2021) with the ways in which models stretch it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sdk.examples.models.llama.model_args import ModelArgs

_LLAMA3_CONTEXT = 8192
"""Positions on which Llama 3 was trained before its context was extended."""


def stretch_long_wavelengths(frequencies: Tensor, factor: float, high_freq_factor: float) -> Tensor:
    """Llama 3.1's scaling: wavelengths of more than the trained context grow by `factor`, those of less than
    1 / high_freq_factor of it stay, and those between are interpolated. `frequencies` are in radians a position.
    """
    periods = _LLAMA3_CONTEXT * frequencies / (2 * math.pi)
    kept = ((periods - 1) / (high_freq_factor - 1)).clamp(0, 1)
    return frequencies * (kept + (1 - kept) / factor)


class Rope(nn.Module):
    """Tables of sines and cosines for all positions, and the rotation of queries and keys by them."""

    def __init__(self, params: ModelArgs, theta: float | None = None) -> None:
        """`theta`: instead of the base frequency of `params`."""
        super().__init__()
        assert params.head_dim is not None
        self.params = params
        rotated = int(params.head_dim * params.partial_rotary_factor)
        exponents = torch.arange(0, rotated, 2, dtype=torch.float64) / rotated
        frequencies = (theta or params.rope_freq_base) ** -exponents
        if params.use_scaled_rope:
            frequencies = stretch_long_wavelengths(frequencies, params.rope_scale_factor, params.high_freq_factor)
        if (divisors := self._divisors()) is not None:
            if len(divisors) != len(frequencies):
                raise ValueError(f"LongRoPE has {len(divisors)} factors, but a head has {len(frequencies)} frequencies")
            frequencies = frequencies / torch.tensor(divisors, dtype=torch.float64)
        self.frequencies = frequencies
        self.unbounded = False
        angles = torch.outer(torch.arange(params.max_context_len, dtype=torch.float64), frequencies)
        if params.use_hf_rope:
            angles = torch.cat([angles, angles], dim=-1)
        scale = self._attention_factor()
        self.register_buffer("freqs_cos", (angles.cos() * scale).float(), persistent=False)
        self.register_buffer("freqs_sin", (angles.sin() * scale).float(), persistent=False)

    def _divisors(self) -> list[float] | None:
        p = self.params
        beyond = (
            p.original_max_position_embeddings is not None and p.max_context_len > p.original_max_position_embeddings
        )
        first, second = p.rope_scaling_short_factor, p.rope_scaling_long_factor
        return (second or first) if beyond else (first or second)

    def _attention_factor(self) -> float:
        p = self.params
        if p.rope_scaling_attention_factor is not None:
            return p.rope_scaling_attention_factor
        if self._divisors() is None or p.original_max_position_embeddings is None:
            return 1.0
        growth = (p.max_position_embeddings or p.max_context_len) / p.original_max_position_embeddings
        return math.sqrt(1 + math.log(max(growth, 1.0)) / math.log(p.original_max_position_embeddings))

    def get_freqs(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of int64 [positions]: [positions, numbers of a head that are tabulated] each."""
        return (
            self._computed(positions, self._attention_factor())
            if self.unbounded
            else (
                self.freqs_cos[positions],
                self.freqs_sin[positions],
            )
        )

    def shift_freqs(self, distance: Tensor) -> tuple[Tensor, Tensor]:
        """Those that move rotated numbers on by int64 [1] positions. Needs `extend`."""
        return self._computed(distance, 1.0)

    def extend(self) -> None:
        """Computes cosines and sines for any position when it is asked for, instead of reading tables."""
        if not self.unbounded:
            frequencies = self.frequencies
            del self.frequencies
            self.register_buffer("frequencies", frequencies, persistent=False)
            self.unbounded = True

    def _computed(self, positions: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        angles = positions.double()[:, None] * self.frequencies
        if self.params.use_hf_rope:
            angles = torch.cat([angles, angles], dim=-1)
        return (angles.cos() * scale).float(), (angles.sin() * scale).float()

    def forward(self, q: Tensor, k: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> tuple[Tensor, Tensor]:
        """Rotates [batch, heads, positions, head_dim] each."""
        return self.rotate(q, freqs_cos, freqs_sin), self.rotate(k, freqs_cos, freqs_sin)

    def rotate(self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> Tensor:
        """Rotates [batch, heads, positions, head_dim]."""
        rotate = _rotate_halves if self.params.use_hf_rope else _rotate_pairs
        return rotate(x, freqs_cos, freqs_sin)


def _rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    rotated, rest = x[..., : 2 * cos.shape[-1]], x[..., 2 * cos.shape[-1] :]
    even, odd = rotated.float().unflatten(-1, (-1, 2)).unbind(-1)
    y = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).type_as(x)
    return torch.cat([y, rest], dim=-1) if rest.shape[-1] else y


def _rotate_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    rotated, rest = x[..., : cos.shape[-1]].float(), x[..., cos.shape[-1] :]
    low, high = rotated.chunk(2, dim=-1)
    y = (rotated * cos + torch.cat([-high, low], dim=-1) * sin).type_as(x)
    return torch.cat([y, rest], dim=-1) if rest.shape[-1] else y
