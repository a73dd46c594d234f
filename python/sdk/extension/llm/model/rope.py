# SPDX-License-Identifier: BSD-3-Clause
"""Rotary position embedding (Su et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.rope_scaling import attention_factor, base_frequencies, grown, grows, stretched


class Rope(nn.Module):
    """Tables of sines and cosines for all positions, and the rotation of queries and keys by them."""

    def __init__(self, params: ModelArgs, theta: float | None = None) -> None:
        """`theta`: the base frequency of layers that have their own, which are not stretched for long contexts."""
        super().__init__()
        self.params = params
        self.frequencies = base_frequencies(params, theta)
        self.attention_factor = 1.0
        """The scale of sines and cosines."""
        self.grows = theta is None and grows(params)
        """Whether the frequencies depend on the last position of a call."""
        if theta is None:
            self.frequencies = stretched(params, self.frequencies)
            self.attention_factor = attention_factor(params)
        self.unbounded = False
        if params.mrope_section is not None and (self.grows or sum(params.mrope_section) != len(self.frequencies)):
            raise ValueError(
                f"mrope_section={params.mrope_section}: expected numbers whose sum is {len(self.frequencies)}, the "
                "frequencies of a head, which do not depend on the position"
            )
        angles = torch.outer(torch.arange(params.max_context_len, dtype=torch.float64), self.frequencies)
        if params.use_hf_rope:
            angles = torch.cat([angles, angles], dim=-1)
        self.register_buffer("freqs_cos", (angles.cos() * self.attention_factor).float(), persistent=False)
        self.register_buffer("freqs_sin", (angles.sin() * self.attention_factor).float(), persistent=False)
        if self.grows:
            self._compute_frequencies()

    def get_freqs(self, input_pos: Tensor | None, seq_len: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines of `seq_len` positions: [positions, tabulated elements of a head] each.

        `input_pos`: with a key-value cache int64 [1], the first position, or [positions] without
        `enable_dynamic_shape`; else None. Raises ValueError for one where the other is expected.
        """
        if self.params.use_kv_cache == (input_pos is None):
            expected = "the first position" if input_pos is None else "None"
            raise ValueError(f"input_pos: expected {expected} with use_kv_cache={self.params.use_kv_cache}")
        if input_pos is None:
            return self.get_freqs_using_indices(torch.arange(seq_len))
        positions = input_pos[-1] + torch.arange(seq_len) if self.params.enable_dynamic_shape else input_pos
        return self.get_freqs_using_indices(positions)

    def get_freqs_using_indices(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of int64 [positions]: [positions, tabulated elements of a head] each."""
        if self.unbounded:
            return self._computed(indices, self.attention_factor)
        return self.freqs_cos[indices], self.freqs_sin[indices]

    def mixed_freqs(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """The same for int64 [3, positions], three numbers for each position; `mrope_section` has the number of
        frequencies that rotate by each of them."""
        assert self.params.mrope_section is not None
        sections = self.params.mrope_section * (2 if self.params.use_hf_rope else 1)
        tables = self.get_freqs_using_indices(positions.flatten())
        split = (table.unflatten(0, (3, -1)).split(sections, dim=-1) for table in tables)
        cos, sin = (torch.cat([part[i % 3] for i, part in enumerate(parts)], dim=-1) for parts in split)
        return cos, sin

    def shift_freqs(self, distance: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines that rotate by int64 [1] further positions. Needs `extend`."""
        return self._computed(distance, 1.0)

    def extend(self) -> None:
        """Switches to computing cosines and sines for any position at run time, instead of reading tables.

        Raises ValueError for frequencies that depend on the position.
        """
        if self.params.rope_scaling_type == "dynamic":
            raise ValueError("rope_scaling_type='dynamic' has no frequencies for an unlimited number of positions")
        self._compute_frequencies()

    def _compute_frequencies(self) -> None:
        if not self.unbounded:
            frequencies = self.frequencies
            del self.frequencies
            self.register_buffer("frequencies", frequencies, persistent=False)
            self.unbounded = True

    def _computed(self, positions: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        frequencies = grown(self.params, self.frequencies, positions) if self.grows else self.frequencies
        angles = positions.double()[:, None] * frequencies
        if self.params.use_hf_rope:
            angles = torch.cat([angles, angles], dim=-1)
        return (angles.cos() * scale).float(), (angles.sin() * scale).float()

    def forward(self, q: Tensor, k: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> tuple[Tensor, Tensor]:
        """Rotates [batch, heads, positions, head_dim] each."""
        return self.rotate(q, freqs_cos, freqs_sin), self.rotate(k, freqs_cos, freqs_sin)

    def rotate(self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> Tensor:
        """Rotates [batch, heads, positions, head_dim]."""
        rotate = rotate_halves if self.params.use_hf_rope else rotate_pairs
        return rotate(x, freqs_cos, freqs_sin)


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates pairs of neighbouring elements of the last dimension, (0, 1), (2, 3) and so on, in float32. The tables
    have an element for each pair; elements beyond the tables are not rotated."""
    rotated, rest = x[..., : 2 * cos.shape[-1]], x[..., 2 * cos.shape[-1] :]
    even, odd = rotated.float().unflatten(-1, (-1, 2)).unbind(-1)
    y = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).type_as(x)
    return torch.cat([y, rest], dim=-1) if rest.shape[-1] else y


def rotate_half(x: Tensor) -> Tensor:
    """The second half of the last dimension, negated, and the first one."""
    low, high = x.chunk(2, dim=-1)
    return torch.cat([-high, low], dim=-1)


def rotate_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates the two halves of the last dimension in float32. Elements that exceed the length of the tables do not
    change."""
    rotated, rest = x[..., : cos.shape[-1]].float(), x[..., cos.shape[-1] :]
    y = (rotated * cos + rotate_half(rotated) * sin).type_as(x)
    return torch.cat([y, rest], dim=-1) if rest.shape[-1] else y
