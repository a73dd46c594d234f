# SPDX-License-Identifier: BSD-3-Clause
"""A key-value cache in int8."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401, registers torch.ops.llama

_SMALLEST = 1e-12


def quantize_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """int8 of the same shape, and float32 scales [..., 1]: x ~ q * scale, with the scale max |x| / 127 of a row."""
    x = x.float()
    scale = (x.abs().amax(dim=-1, keepdim=True) / 127).clamp(min=_SMALLEST)
    return torch.round(x / scale).to(torch.int8), scale


class QuantizedKVCache(nn.Module):
    """Keys and values in int8 with a scale for each token of a head.

    [batch, positions, heads, head_dim] for the operators of `torch.ops.llama`; [batch, heads, positions, head_dim] with
    `heads_first`, for `update`.
    """

    def __init__(
        self, max_batch_size: int, max_context_length: int, n_heads: int, head_dim: int, heads_first: bool
    ) -> None:
        super().__init__()
        self.heads_first, self.max_context_length = heads_first, max_context_length
        outer = (n_heads, max_context_length) if heads_first else (max_context_length, n_heads)
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros((max_batch_size, *outer, head_dim), dtype=torch.int8))
            self.register_buffer(f"{name}_scales", torch.zeros((max_batch_size, *outer, 1)))
        if not heads_first:  # the scales are symmetric
            zero_points = torch.zeros((max_batch_size, *outer, 1), dtype=torch.int8)
            self.register_buffer("zero_points", zero_points, persistent=False)

    def update(
        self, slots: Tensor, k_val: Tensor, v_val: Tensor, sink_keys: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Writes [batch, heads, tokens, head_dim] to int64 [tokens] slots. Returns the whole cache in their dtype.

        `sink_keys` are written to the first slots afterwards.
        """
        self._put(slots, k_val, self.k_cache, self.k_cache_scales)
        self._put(slots, v_val, self.v_cache, self.v_cache_scales)
        if sink_keys is not None:
            self._put(torch.arange(sink_keys.shape[2]), sink_keys, self.k_cache, self.k_cache_scales)
        keys, values = self.k_cache * self.k_cache_scales, self.v_cache * self.v_cache_scales
        return keys.type_as(k_val), values.type_as(v_val)

    def write(
        self, start: int, k_val: Tensor, v_val: Tensor, slots: Tensor | None = None, sink_keys: Tensor | None = None
    ) -> None:
        """Writes [batch, tokens, heads, head_dim] from a position on, or to the slots int64 [batch, tokens].

        `sink_keys` are written to the first slots afterwards.
        """
        self._write(k_val, self.k_cache, self.k_cache_scales, start, slots)
        self._write(v_val, self.v_cache, self.v_cache_scales, start, slots)
        if sink_keys is not None:
            self._write(sink_keys, self.k_cache, self.k_cache_scales, 0, None)

    def attend(self, q: Tensor, start: int, mask: Tensor | None, scale: float | None) -> Tensor:
        """Attention of [batch, tokens, heads, head_dim] over the cache; causal without a mask."""
        y: Tensor = torch.ops.llama.custom_quantized_sdpa(
            q.float(), self.k_cache, self.v_cache, start, mask, 0.0, mask is None, scale, None, None,
            self.zero_points, self.k_cache_scales, self.zero_points, self.v_cache_scales,
        )  # fmt: skip
        return y.type_as(q)

    @staticmethod
    def _put(slots: Tensor, value: Tensor, cache: Tensor, scales: Tensor) -> None:
        q, scale = quantize_rows(value)
        cache[:, :, slots] = q
        scales[:, :, slots] = scale

    @staticmethod
    def _write(value: Tensor, cache: Tensor, scales: Tensor, start: int, slots: Tensor | None) -> None:
        for part, target in zip(quantize_rows(value), (cache, scales), strict=True):
            if slots is None:
                torch.ops.llama.update_cache(part, target, start)
            else:
                torch.ops.llama.update_cache_with_indices(part, target, 0, slots)
