# SPDX-License-Identifier: BSD-3-Clause
"""Checks and eager computation of the operators of `custom_ops`. Tensors are (batch, positions, heads, width)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import SymInt, Tensor

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def check_cache_layout(op: str, value: Tensor, cache: Tensor) -> None:
    """Raises ValueError unless `value` and `cache` have 4 dimensions, one dtype, and equal sizes but for positions."""
    _check(
        value.dim() == 4 and cache.dim() == 4,
        f"{op}: expected (batch, positions, heads, width); what is written has {value.dim()} dimensions and the cache "
        f"{cache.dim()}",
    )
    _check(
        value.dtype == cache.dtype,
        f"{op}: the cache is {cache.dtype}, and what is written {value.dtype}; they must have one dtype",
    )
    for d in (0, 2, 3):
        _check(
            value.shape[d] == cache.shape[d],
            f"{op}: dimension {d} of the cache is {cache.shape[d]}, and of what is written {value.shape[d]}; only "
            "dimension 1 may differ",
        )


def check_start(op: str, start_pos: int | SymInt) -> None:
    """Raises RuntimeError for a negative position. A symbol becomes a condition of the program."""
    torch._check(start_pos >= 0, lambda: f"{op}: start_pos is {start_pos}; it must not be negative")


def check_room(op: str, length: int | SymInt, positions: int | SymInt, start_pos: int | SymInt) -> None:
    """Raises RuntimeError unless `length` positions from `start_pos` fit. Symbols become a condition of the program."""
    check_start(op, start_pos)
    torch._check(
        start_pos + length <= positions,
        lambda: f"{op}: {length} position(s) from start_pos {start_pos} do not fit the cache, which has {positions}",
    )


def check_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int | SymInt,
    attn_mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    op: str = "custom_sdpa",
) -> None:
    """Raises ValueError for arguments that a kernel does not accept, RuntimeError for positions outside the cache."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        _check(
            tensor.dim() == 4,
            f"{op}: {name} must be (batch, positions, heads, width); found {tensor.dim()} dimensions",
        )
        _check(
            tensor.dtype == query.dtype,
            f"{op}: query is {query.dtype} and {name} {tensor.dtype}; they must have one dtype",
        )
    _check(
        query.dtype in _DTYPES,
        f"{op}: query must be float32, float16 or bfloat16; found {query.dtype}",
    )
    check_attention_shapes(op, query, key, value, attn_mask, dropout, is_causal)
    if not isinstance(start_pos, SymInt):
        check_room(op, query.shape[1], key.shape[1], start_pos)


def check_attention_shapes(
    op: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout: float,
    is_causal: bool,
) -> None:
    """Raises ValueError for heads, widths or a mask that do not go together."""
    _check(
        key.shape == value.shape, f"{op}: key is {list(key.shape)} and value {list(value.shape)}; they must be equal"
    )
    _check(
        query.shape[0] == key.shape[0] and query.shape[3] == key.shape[3],
        f"{op}: query {list(query.shape)} and key {list(key.shape)} must have one batch and one width",
    )
    _check(
        query.shape[2] % key.shape[2] == 0,
        f"{op}: the {query.shape[2]} heads of query are not a multiple of the {key.shape[2]} of key",
    )
    _check(dropout == 0.0, f"{op}: drpout_p must be 0, as inference drops nothing; found {dropout}")
    if attn_mask is None:
        return
    _check(
        not is_causal,
        f"{op}: attn_mask and is_causal cannot be given together; put the causal mask into attn_mask",
    )
    _check(attn_mask.dim() == 2, f"{op}: attn_mask must have 2 dimensions; found {attn_mask.dim()}")
    for kind, wanted, found in zip(("query", "keys"), (query.shape[1], key.shape[1]), attn_mask.shape, strict=True):
        if isinstance(wanted, int) and isinstance(found, int):  # a size may be known when the program runs only
            _check(
                wanted == found,
                f"{op}: attn_mask must have {wanted} positions of the {kind}; found {found} in {list(attn_mask.shape)}",
            )
    _check(
        attn_mask.dtype in (*_DTYPES, torch.bool),
        f"{op}: attn_mask must be float32, float16, bfloat16 or bool; found {attn_mask.dtype}",
    )


def check_attention_over_cache(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    start_pos: int | SymInt,
    seq_len: int | SymInt,
    attn_mask: Tensor | None,
    dropout: float,
    is_causal: bool,
) -> None:
    """`check_attention` over the caches, which must have room for `key` and `value`."""
    op = "sdpa_with_kv_cache"
    check_cache_layout(op, key, key_cache)
    check_cache_layout(op, value, value_cache)
    if all(isinstance(n, int) for n in (seq_len, key.shape[1], value.shape[1])):
        _check(
            seq_len == key.shape[1] == value.shape[1],
            f"{op}: seq_len is {seq_len}, but key has {key.shape[1]} positions and value {value.shape[1]}",
        )
    check_attention(query, key_cache, value_cache, start_pos, attn_mask, dropout, is_causal, op)
    if not isinstance(start_pos, SymInt):
        check_room(op, seq_len, key_cache.shape[1], start_pos)


def check_indices(op: str, value: Tensor, indices: Tensor) -> None:
    """Raises ValueError unless `indices` has a position for each of `value`."""
    _check(
        indices.dtype == torch.int64 and indices.dim() == 2 and indices.shape == value.shape[:2],
        f"{op}: indices must be int64 of shape {list(value.shape[:2])}; found {indices.dtype} of {list(indices.shape)}",
    )


@dataclass
class Quantization:
    """An int8 tensor with a zero point and a scale for each row."""

    name: str
    tensor: Tensor
    zero_points: Tensor | None
    scales: Tensor | None


def check_quantized_attention(
    parts: tuple[Quantization, Quantization, Quantization],
    start_pos: int | SymInt,
    attn_mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    is_seq_at_dim_2: bool,
) -> None:
    """`check_attention` of int8 query, key and value. `query` may be float32 instead, without scales."""
    op = "custom_quantized_sdpa"
    _check(parts[0].tensor.dim() == 4, f"{op}: query must have 4 dimensions; found {parts[0].tensor.dim()}")
    floats = parts[0].tensor.dtype == torch.float32
    for part in parts[1:] if floats else parts:
        _check(
            part.tensor.dim() == 4 and part.tensor.dtype == torch.int8,
            f"{op}: {part.name} must be int8 of 4 dimensions; found {part.tensor.dtype} of {part.tensor.dim()}",
        )
        shape = (*part.tensor.shape[:3], 1)
        for kind, tensor, dtype in (
            ("zero points", part.zero_points, torch.int8),
            ("scales", part.scales, torch.float32),
        ):
            _check(
                tensor is not None and tensor.shape == shape and tensor.dtype == dtype,
                f"{op}: {part.name} needs {kind}, {dtype} of shape {list(shape)}; found "
                f"{None if tensor is None else (tensor.dtype, list(tensor.shape))}",
            )
    order = (0, 2, 1, 3) if is_seq_at_dim_2 else (0, 1, 2, 3)
    query, key, value = (part.tensor.permute(order) for part in parts)
    check_attention_shapes(op, query, key, value, attn_mask, dropout, is_causal)
    if not isinstance(start_pos, SymInt):
        check_room(op, query.shape[1], key.shape[1], start_pos)


def dequantized(tensor: Tensor, zero_points: Tensor | None, scales: Tensor | None) -> Tensor:
    """Dequantises a tensor to float32: (tensor - zero_points) * scales. Returns float32 tensors unchanged."""
    if tensor.dtype == torch.float32:
        return tensor
    assert zero_points is not None and scales is not None
    return (tensor.float() - zero_points.float()) * scales


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int | SymInt,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """Attention by PyTorch's own operator, in float32."""
    queries = query.shape[1]
    if attn_mask is None:
        key, value = (t.narrow(1, 0, start_pos + queries) for t in (key, value))
        if is_causal:
            places = torch.arange(queries, device=query.device) + start_pos
            attn_mask = torch.arange(key.shape[1], device=query.device)[None, :] <= places[:, None]
    elif attn_mask.dtype != torch.bool:
        attn_mask = attn_mask.float()
    group = query.shape[2] // key.shape[2]
    q = query.float().transpose(1, 2)
    k, v = (t.float().transpose(1, 2).repeat_interleave(group, 1) for t in (key, value))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask, scale=scale)
    return out.transpose(1, 2).to(query.dtype).contiguous()
