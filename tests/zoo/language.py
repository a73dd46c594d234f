# SPDX-License-Identifier: BSD-3-Clause
"""Transformers: an encoder, a decoder with a key-value cache, attention with masks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.case import Case, Method, case

VOCABULARY, WIDTH, HEADS, CONTEXT = 64, 32, 4, 16


class Encoder(nn.Module):
    """BERT-like: embeddings, post-norm blocks, masked mean pooling, unit-length output."""

    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, activation="gelu", batch_first=True)
            for _ in range(depth)
        )

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.norm(self.words(ids) + self.positions(torch.arange(ids.shape[1])))
        bias = (1.0 - mask.float())[:, None, None, :] * -1e4
        for block in self.blocks:
            q, k, v = F.linear(x, block.self_attn.in_proj_weight, block.self_attn.in_proj_bias).chunk(3, dim=-1)
            q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)
            x = block.norm1(x + block.self_attn.out_proj(y))
            x = block.norm2(x + block.linear2(F.gelu(block.linear1(x))))
        weight = mask.float().unsqueeze(-1)
        return F.normalize((x * weight).sum(1) / weight.sum(1).clamp(min=1e-9), dim=-1)


class Rope(nn.Module):
    """Rotary position embedding, half-rotation form."""

    def __init__(self, dim: int, context: int = CONTEXT) -> None:
        super().__init__()
        angle = torch.outer(torch.arange(context).float(), 1e4 ** (-torch.arange(0, dim, 2).float() / dim))
        self.register_buffer("cos", torch.cat([angle, angle], -1).cos())
        self.register_buffer("sin", torch.cat([angle, angle], -1).sin())

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        low, high = x.chunk(2, dim=-1)
        return x * self.cos[position] + torch.cat([-high, low], -1) * self.sin[position]


class RmsNorm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class CachedBlock(nn.Module):
    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        inner = 3 * width // 2
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)
        self.norm1, self.norm2, self.rope = RmsNorm(width), RmsNorm(width), Rope(width // heads, context)
        self.register_buffer("keys", torch.zeros(1, heads, context, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, context, width // heads))

    def forward(self, x: Tensor, position: Tensor, visible: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        self.keys[:, :, position] = self.rope(k, position)
        self.values[:, :, position] = v
        y = F.scaled_dot_product_attention(self.rope(q, position), self.keys, self.values, attn_mask=visible)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Llama-like decoder, one token at a time; the cache is a mutable buffer that lives across calls."""

    def __init__(
        self, depth: int = 2, width: int = WIDTH, heads: int = HEADS, context: int = CONTEXT, words: int = VOCABULARY
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(CachedBlock(width, heads, context) for _ in range(depth))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, words, bias=False)
        self.register_buffer("causal", torch.tril(torch.ones(context, context, dtype=torch.bool)))

    def forward(self, token: Tensor, position: Tensor) -> Tensor:
        x = self.embed(token)
        for block in self.blocks:
            x = block(x, position, self.causal[position])
        return self.head(self.norm(x))


class CausalAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), diagonal=1)
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]


def sentence(batch: int, length: int) -> tuple[Tensor, Tensor]:
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[-1, length // 2 :] = 0
    return torch.randint(0, VOCABULARY, (batch, length)), mask


@case
def encoder() -> Method:
    return Method(Encoder(), [sentence(2, 10), sentence(2, 10)])


@case
def encoder_dynamic_length() -> Method:
    length = torch.export.Dim("length", min=2, max=CONTEXT)
    calls = [sentence(2, 10), sentence(2, 3), sentence(2, CONTEXT)]
    return Method(Encoder(), calls, {"ids": {1: length}, "mask": {1: length}})


@case
def decoder_kv_cache() -> Method:
    calls = [(torch.tensor([[3 * i + 1]]), torch.tensor([i])) for i in range(4)]
    return Method(Decoder(), calls)


@case
def causal_attention() -> Method:
    return Method(CausalAttention(), [(torch.randn(1, 7, WIDTH),)])


@case
def encode_and_decode() -> Case:
    """Two methods and configuration constants in one program."""
    tie = nn.Linear(12, 6)
    encode = Method(nn.Sequential(tie, nn.ReLU()), [(torch.randn(2, 12),)])
    decode = Method(nn.Sequential(tie, nn.Linear(6, 12), nn.Sigmoid()), [(torch.randn(2, 12),)])
    return Case({"encode": encode, "decode": decode}, {"get_bos_id": 1, "get_name": "tiny", "get_scale": 0.5})
