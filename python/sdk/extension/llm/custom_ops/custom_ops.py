# SPDX-License-Identifier: BSD-3-Clause
"""Registers `torch.ops.llama`: attention over a cache of keys and values, and operators that update the cache.

Importing this module registers the operators with their out variants, whose kernels are in `kernels/llm`. Each has an
eager implementation and a Meta one, by which `torch.export` keeps it whole.

Tensors of queries, keys, values and caches are (batch, positions, heads, width).
"""

from __future__ import annotations

import torch
from torch import SymInt, Tensor

from sdk.extension.llm.custom_ops._attention import (
    Quantization,
    attention,
    check_attention,
    check_attention_over_cache,
    check_cache_layout,
    check_indices,
    check_quantized_attention,
    check_room,
    check_start,
    dequantized,
)
from sdk.extension.llm.custom_ops._define import custom_ops_lib, define
from sdk.extension.llm.custom_ops._experts import ARGUMENTS, quantized_moe_ffn, quantized_moe_ffn_meta
from sdk.extension.llm.custom_ops._gated_delta import (
    channelwise_gated_delta_rule,
    channelwise_gated_delta_rule_meta,
    gated_delta_rule,
    gated_delta_rule_meta,
)
from sdk.extension.llm.custom_ops._hadamard import power_of_two_part, transform

__all__ = [
    "channelwise_gated_delta_rule",
    "channelwise_gated_delta_rule_meta",
    "custom_ops_lib",
    "custom_quantized_sdpa",
    "custom_sdpa",
    "fast_hadamard_transform",
    "gated_delta_rule",
    "gated_delta_rule_meta",
    "quantized_moe_ffn",
    "quantized_moe_ffn_meta",
    "sdpa_with_kv_cache",
    "update_cache",
    "update_cache_with_indices",
]


_OPTIONS = "Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, float? scale=None"


def custom_sdpa(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    start_pos: int | SymInt,
    attn_mask: Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Attention of `query` over the keys and values of a cache.

    Without a mask, queries see the first `start_pos` + positions keys; with `is_causal` query i sees the first
    `start_pos` + i + 1. `attn_mask` (positions of query, positions of key) is added to the scores of all keys, or hides
    those where it is False. A query that sees nothing gives zeros.
    """
    check_attention(query, key_cache, value_cache, start_pos, attn_mask, drpout_p, is_causal)
    return attention(query, key_cache, value_cache, start_pos, attn_mask, is_causal, scale)


def _custom_sdpa_meta(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int | SymInt,
    attn_mask: Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    check_attention(query, key, value, start_pos, attn_mask, drpout_p, is_causal)
    return torch.empty_like(query, memory_format=torch.contiguous_format)


def sdpa_with_kv_cache(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    start_pos: int | SymInt,
    seq_len: int | SymInt,
    attn_mask: Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Writes `seq_len` keys and values to the caches from `start_pos`, then `custom_sdpa` over the caches."""
    check_attention_over_cache(
        query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, drpout_p, is_causal
    )
    _write(key, key_cache, start_pos)
    _write(value, value_cache, start_pos)
    return attention(query, key_cache, value_cache, start_pos, attn_mask, is_causal, scale)


def _sdpa_with_kv_cache_meta(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    start_pos: int | SymInt,
    seq_len: int | SymInt,
    attn_mask: Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    check_attention_over_cache(
        query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, drpout_p, is_causal
    )
    return torch.empty_like(query, memory_format=torch.contiguous_format)


def _write(value: Tensor, cache: Tensor, start_pos: int | SymInt) -> None:
    cache.narrow(1, start_pos, value.shape[1]).copy_(value)


def update_cache(value: Tensor, cache: Tensor, start_pos: int | SymInt) -> Tensor:
    """Writes `value` to `cache` from `start_pos` on. Returns a tensor of one element whose value is undefined."""
    check_cache_layout("update_cache", value, cache)
    check_room("update_cache", value.shape[1], cache.shape[1], start_pos)
    _write(value, cache, start_pos)
    return value.new_zeros(1)


def _update_cache_meta(value: Tensor, cache: Tensor, start_pos: int | SymInt) -> Tensor:
    check_cache_layout("update_cache", value, cache)
    check_room("update_cache", value.shape[1], cache.shape[1], start_pos)
    return value.new_empty(1)


def _indices_meta(value: Tensor, cache: Tensor, start_pos: int | SymInt, indices: Tensor) -> Tensor:
    check_cache_layout("update_cache_with_indices", value, cache)
    check_indices("update_cache_with_indices", value, indices)
    check_start("update_cache_with_indices", start_pos)
    return value.new_empty(1)


def update_cache_with_indices(value: Tensor, cache: Tensor, start_pos: int | SymInt, indices: Tensor) -> Tensor:
    """Writes position i of batch b of `value` to position `indices[b, i]` of the cache. If indices are equal, the last
    one wins.

    `start_pos` is only checked. Returns a tensor of one element whose value has no meaning.
    """
    _indices_meta(value, cache, start_pos, indices)
    if indices.numel() > 0 and not 0 <= int(indices.min()) <= int(indices.max()) < cache.shape[1]:
        raise ValueError(
            f"update_cache_with_indices: indices are from {int(indices.min())} to {int(indices.max())}; the cache has "
            f"positions 0 to {cache.shape[1] - 1}"
        )
    for i in range(value.shape[1]):
        cache[torch.arange(cache.shape[0]), indices[:, i]] = value[:, i]
    return value.new_zeros(1)


def _quantized_meta(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int | SymInt,
    attn_mask: Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    q_zero_points: Tensor | None = None,
    q_scales: Tensor | None = None,
    k_zero_points: Tensor | None = None,
    k_scales: Tensor | None = None,
    v_zero_points: Tensor | None = None,
    v_scales: Tensor | None = None,
    is_seq_at_dim_2: bool = False,
) -> Tensor:
    parts = (
        Quantization("query", query, q_zero_points, q_scales),
        Quantization("key", key, k_zero_points, k_scales),
        Quantization("value", value, v_zero_points, v_scales),
    )
    check_quantized_attention(parts, start_pos, attn_mask, drpout_p, is_causal, is_seq_at_dim_2)
    return torch.empty_like(query, dtype=torch.float32, memory_format=torch.contiguous_format)


def custom_quantized_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int | SymInt,
    attn_mask: Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    q_zero_points: Tensor | None = None,
    q_scales: Tensor | None = None,
    k_zero_points: Tensor | None = None,
    k_scales: Tensor | None = None,
    v_zero_points: Tensor | None = None,
    v_scales: Tensor | None = None,
    is_seq_at_dim_2: bool = False,
) -> Tensor:
    """`custom_sdpa` of int8 tensors whose values are (element - zero point) * scale; the result is float32.

    `query` may be float32 instead, without scales and zero points. Scales (float32) and zero points (int8) have the
    shape of their tensor with a last dimension of 1. With `is_seq_at_dim_2` tensors are (batch, heads, positions,
    width).
    """
    _quantized_meta(
        query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale,
        q_zero_points, q_scales, k_zero_points, k_scales, v_zero_points, v_scales, is_seq_at_dim_2,
    )  # fmt: skip
    q, k, v = (
        dequantized(tensor, zero_points, scales).transpose(1, 2 if is_seq_at_dim_2 else 1)
        for tensor, zero_points, scales in (
            (query, q_zero_points, q_scales),
            (key, k_zero_points, k_scales),
            (value, v_zero_points, v_scales),
        )
    )
    out = attention(q, k, v, start_pos, attn_mask, is_causal, scale)
    return out.transpose(1, 2).contiguous() if is_seq_at_dim_2 else out


def _hadamard_meta(mat: Tensor) -> Tensor:
    if mat.dim() == 0 or (mat.shape[-1] != 0 and power_of_two_part(mat.shape[-1]) == 0):
        raise ValueError(
            f"fast_hadamard_transform: rows must have 2^k or 28 * 2^k elements; found the shape {list(mat.shape)}"
        )
    if not mat.is_floating_point():
        raise ValueError(f"fast_hadamard_transform: expected floating-point elements; found {mat.dtype}")
    return torch.empty_like(mat, memory_format=torch.contiguous_format)


def fast_hadamard_transform(mat: Tensor) -> Tensor:
    """Multiplies each row of the last dimension by a Hadamard matrix.

    A row of n = 2^k elements gives H x / sqrt(n), with H the Sylvester matrix, and one of 28 * 2^k elements
    (W28 (x) H) x / sqrt(2^k): as in ExecuTorch, without the factor 1 / sqrt(28).
    """
    _hadamard_meta(mat)
    if mat.numel() == 0:
        return mat.clone()
    wide = torch.float64 if mat.dtype == torch.float64 else torch.float32
    return transform(mat.to(wide)).to(mat.dtype).contiguous()


def _check_cross_attention_cache(value: Tensor, cache: Tensor) -> None:
    """Both are (batch, heads, positions, width), and `cache` has at least as many positions."""
    torch._check(value.dim() == 4 and cache.dim() == 4, lambda: "value and cache must have 4 dimensions")
    for dim, name in ((0, "batch"), (1, "number of heads"), (3, "width")):
        torch._check(
            value.shape[dim] == cache.shape[dim],
            lambda dim=dim, name=name: f"expected the {name} {cache.shape[dim]} of the cache, found {value.shape[dim]}",
        )
    torch._check(
        value.shape[2] <= cache.shape[2],
        lambda: f"{value.shape[2]} positions do not fit in a cache of {cache.shape[2]}",
    )
    torch._check(value.dtype == cache.dtype, lambda: f"expected values of dtype {cache.dtype}, found {value.dtype}")


@torch.library.custom_op("executorch::update_cross_attn_cache", mutates_args=())
def update_cross_attn_cache(value: Tensor, cache: Tensor) -> Tensor:
    """Writes `value` to the first positions of `cache`, and returns a copy of the cache.

    Both are (batch, heads, positions, width). The schema does not say that the cache is written, so that branches of
    `torch.cond` may call the operator. The runtime has no kernel for it: it is for eager mode and backends.
    """
    _check_cross_attention_cache(value, cache)
    cache[:, :, : value.shape[2]] = value
    return cache.clone()


@update_cross_attn_cache.register_fake
def _update_cross_attn_cache_fake(value: Tensor, cache: Tensor) -> Tensor:
    _check_cross_attention_cache(value, cache)
    return torch.empty_like(cache)


_QKV = "Tensor query, Tensor key, Tensor value"
define("custom_sdpa", f"{_QKV}, SymInt start_pos, {_OPTIONS}", custom_sdpa, _custom_sdpa_meta)
define(
    "sdpa_with_kv_cache",
    f"{_QKV}, Tensor(a!) key_cache, Tensor(b!) value_cache, SymInt start_pos, SymInt seq_len, {_OPTIONS}",
    sdpa_with_kv_cache,
    _sdpa_with_kv_cache_meta,
)
define("update_cache", "Tensor value, Tensor(a!) cache, SymInt start_pos", update_cache, _update_cache_meta)
define(
    "update_cache_with_indices",
    "Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor indices",
    update_cache_with_indices,
    _indices_meta,
)
define(
    "custom_quantized_sdpa",
    f"{_QKV}, SymInt start_pos, {_OPTIONS}, Tensor? q_zero_points=None, Tensor? q_scales=None, "
    "Tensor? k_zero_points=None, Tensor? k_scales=None, Tensor? v_zero_points=None, Tensor? v_scales=None, "
    "bool is_seq_at_dim_2=False",
    custom_quantized_sdpa,
    _quantized_meta,
)
define("fast_hadamard_transform", "Tensor mat", fast_hadamard_transform, _hadamard_meta)
for _name in ("gated_delta_rule", "channelwise_gated_delta_rule"):
    define(
        _name,
        f"{_QKV}, Tensor decay, Tensor beta, Tensor initial_state",
        gated_delta_rule,
        gated_delta_rule_meta,
        out="Tensor(a!) out, Tensor(b!) final_state_out",
    )
define("quantized_moe_ffn", ARGUMENTS, quantized_moe_ffn, quantized_moe_ffn_meta)
