# SPDX-License-Identifier: BSD-3-Clause
"""Caches in int8 with a scale and a zero point for each token of a head."""

from __future__ import annotations

from enum import Enum

import torch
import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401, registers torch.ops.quantized_decomposed
from torch import Tensor, nn

from sdk.extension.llm.model.attention import KVCache
from sdk.extension.llm.model.custom_kv_cache import CustomKVCache
from sdk.extension.llm.model.quantized_kv_cache import quantize_rows
from sdk.extension.llm.model.ring_kv_cache import InRing, places_of

_LIMITS = (-128, 127, torch.int8)


class QuantizedCacheType(Enum):
    """The quantisation of a cache. Scales per group are not supported."""

    AffineSymmetric = 0
    AffineAsymmetric = 1
    AffineSymmetricGroupWise = 2
    AffineAsymmetricGroupWise = 3

    @property
    def has_zero_points(self) -> bool:
        """Whether zero points may differ from 0."""
        return self is QuantizedCacheType.AffineAsymmetric


def quantize_tokens(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """int8 of the same shape, float32 scales and int8 zero points [..., 1]: x ~ (q - zero point) * scale."""
    scales, zeros = torch.ops.quantized_decomposed.choose_qparams_per_token_asymmetric(x, torch.int8)
    q = torch.ops.quantized_decomposed.quantize_per_token(x, scales, zeros, *_LIMITS)
    return q, scales.float(), zeros.to(torch.int8)


class QuantizedKVCache(nn.Module):
    """Keys and values of all positions so far in int8, [batch, positions, heads, head_dim] each."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        cache_type: QuantizedCacheType = QuantizedCacheType.AffineSymmetric,
        use_custom_update_cache_op: bool = False,
        return_float_values: bool = True,
    ) -> None:
        """`use_custom_update_cache_op`: write by `llama::update_cache`, in place.

        `return_float_values`: `update` returns floats, exact for the tokens that it adds and dequantised for earlier
        ones; otherwise it returns the integers.
        """
        super().__init__()
        if cache_type not in (QuantizedCacheType.AffineSymmetric, QuantizedCacheType.AffineAsymmetric):
            raise ValueError(f"expected AffineSymmetric or AffineAsymmetric, found {cache_type}")
        self.cache_type, self.return_float_values = cache_type, return_float_values
        self.use_custom_update_cache_op = use_custom_update_cache_op
        self.max_batch_size, self.max_context_length = max_batch_size, max_context_length
        self.n_heads, self.head_dim = n_heads, head_dim
        shape = (max_batch_size, max_context_length, n_heads)
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros(*shape, head_dim, dtype=torch.int8))
            self.register_buffer(f"{name}_scales", torch.ones(*shape, 1))
            self.register_buffer(f"{name}_zero_points", torch.zeros(*shape, 1, dtype=torch.int8))

    def update(
        self, input_pos: Tensor, k_val: Tensor, v_val: Tensor, indices: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Writes [batch, heads, tokens, head_dim] from the position `input_pos[0]` on, or to int64 [1, tokens]
        `indices`. Returns the whole cache, with heads first as well."""
        keys, values = (
            self._update(input_pos, value.transpose(1, 2), name, indices).transpose(1, 2)
            for name, value in (("k_cache", k_val), ("v_cache", v_val))
        )
        return keys, values

    def _update(self, input_pos: Tensor, value: Tensor, name: str, indices: Tensor | None) -> Tensor:
        parts = [getattr(self, name), getattr(self, f"{name}_scales"), getattr(self, f"{name}_zero_points")]
        if self.cache_type.has_zero_points:
            quantized: tuple[Tensor, ...] = quantize_tokens(value)
        else:
            quantized = quantize_rows(value)
        for part, cache in zip(quantized, parts, strict=False):
            self._write(input_pos, part, cache, indices)
        if not self.return_float_values:
            return parts[0]
        result: Tensor = torch.ops.quantized_decomposed.dequantize_per_token(
            parts[0], parts[1].double(), parts[2].long(), *_LIMITS, torch.float32
        )
        self._write(input_pos, value.float(), result, indices)
        return result

    def _write(self, input_pos: Tensor, value: Tensor, cache: Tensor, indices: Tensor | None) -> None:
        if not self.use_custom_update_cache_op:
            places = input_pos[:1] + torch.arange(value.shape[1]) if indices is None else indices[0]
            cache[:, places] = value
        elif indices is None:
            start = input_pos[0].item()
            torch._check(start >= 0)
            torch._check(start + value.shape[1] <= self.max_context_length)
            torch.ops.llama.update_cache(value, cache, start)
        else:
            torch.ops.llama.update_cache_with_indices(value, cache, 0, indices.expand(value.shape[0], -1))

    @classmethod
    def from_float(
        cls, kv_cache: KVCache | CustomKVCache, cache_type: QuantizedCacheType, use_custom_update_cache_op: bool = False
    ) -> QuantizedKVCache:
        """An empty cache of the same size."""
        return cls(
            kv_cache.max_batch_size, kv_cache.max_context_length, kv_cache.n_heads, kv_cache.head_dim, cache_type,
            use_custom_update_cache_op,
        )  # fmt: skip


class QuantizedRingKVCache(InRing, QuantizedKVCache):
    """The last tokens in int8."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        cache_type: QuantizedCacheType = QuantizedCacheType.AffineSymmetric,
        use_custom_update_cache_op: bool = False,
        return_float_values: bool = True,
    ) -> None:
        """`max_context_length`: how many of the last tokens a token sees, itself included."""
        super().__init__(
            max_batch_size, places_of(max_context_length), n_heads, head_dim, cache_type, use_custom_update_cache_op,
            return_float_values,
        )  # fmt: skip
        self._use_ring(max_context_length)

    def update(self, input_pos: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """See `QuantizedKVCache.update`."""
        return super().update(input_pos, k_val, v_val, self._places(input_pos, k_val.shape[2])[None])

    @classmethod
    def from_quantized_kv_cache(cls, kv_cache: QuantizedKVCache, sliding_window_size: int) -> QuantizedRingKVCache:
        """Returns an empty cache of the last `sliding_window_size` tokens with the settings of `kv_cache`."""
        if not isinstance(kv_cache, QuantizedKVCache):
            raise TypeError(f"expected a QuantizedKVCache, found {type(kv_cache).__name__}")
        return cls(
            kv_cache.max_batch_size, sliding_window_size, kv_cache.n_heads, kv_cache.head_dim, kv_cache.cache_type,
            kv_cache.use_custom_update_cache_op, kv_cache.return_float_values,
        )  # fmt: skip
