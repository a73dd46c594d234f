# SPDX-License-Identifier: BSD-3-Clause
"""Decomposes the fused operators that torch.nn.MultiheadAttention and TransformerEncoderLayer call for inference into
the operators that these modules call in training. Graphs of a strict capture under `torch.no_grad()` contain the fused
operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

aten = torch.ops.aten


def _masked(scores: Tensor, mask: Tensor | None, mask_type: int | None) -> Tensor:
    """Masks the scores at which the mask is not zero. The shape of the mask is (length, length) for the type 0, (batch,
    length) for 1, and (batch, heads, length, length), as that of the scores, for 2."""
    if mask is None:
        return scores
    if mask_type == 1:
        mask = mask.reshape(mask.shape[0], 1, 1, mask.shape[1])
    return scores.masked_fill(mask.to(torch.bool), float("-inf"))


def _heads(projected: Tensor, heads: int) -> Tensor:
    """(batch, length, features) to (batch, heads, length, features of a head)."""
    batch, length, features = projected.shape
    return projected.reshape(batch, length, heads, features // heads).transpose(1, 2)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    if embed_dim % num_head or query.dim() != 3:
        return NotImplemented
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        _heads(F.linear(each, weight, bias), num_head)
        for each, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    scores = _masked((q * (embed_dim // num_head) ** -0.5) @ k.transpose(-2, -1), mask, mask_type)
    shares = torch.softmax(scores, -1)
    joined = (shares @ v).transpose(1, 2).reshape(query.shape[0], query.shape[1], embed_dim)
    out = F.linear(joined, proj_weight, proj_bias)
    if not need_weights:
        return out, None
    return out, shares.mean(1) if average_attn_weights else shares


def _encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Any:
    def first_norm(x: Tensor) -> Tensor:
        return F.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)

    def second_norm(x: Tensor) -> Tensor:
        return F.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)

    def attention(x: Tensor) -> Tensor:
        weights = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        out: Tensor = _attention(x, x, x, embed_dim, num_heads, *weights, mask, False, mask_type=mask_type)[0]
        return out

    def feed_forward(x: Tensor) -> Tensor:
        hidden = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), ffn_weight_2, ffn_bias_2)

    if embed_dim % num_heads or src.dim() != 3:
        return NotImplemented
    if norm_first:
        src = src + attention(first_norm(src))
        return src + feed_forward(second_norm(src))
    src = first_norm(src + attention(src))
    return second_norm(src + feed_forward(src))


ATTENTION: dict[Any, Callable[..., Any]] = {
    aten._native_multi_head_attention.default: _attention,
    aten._transformer_encoder_layer_fwd.default: _encoder_layer,
}
