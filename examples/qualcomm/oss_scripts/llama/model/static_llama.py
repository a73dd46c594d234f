# SPDX-License-Identifier: BSD-3-Clause
"""A decoder of fixed shapes for NPUs: keys and values of earlier tokens are inputs, those of this call outputs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.rope_scaling import base_frequencies, stretched

MASKED = -255.0
"""The number that is added to masked scores: far below other scores, but in a range that 16 bits represent."""


@dataclass(frozen=True)
class Shape:
    """The tokens of a call, and of the context with them."""

    tokens: int
    context: int

    @property
    def past(self) -> int:
        """The earlier tokens whose keys and values are inputs."""
        return self.context - self.tokens


def rotations(args: ModelArgs, context: int) -> tuple[Tensor, Tensor]:
    """Returns the cosines and sines of each position."""
    frequencies = stretched(args, base_frequencies(args))
    angles = torch.outer(torch.arange(context, dtype=torch.float64), frequencies)
    return angles.cos().float(), angles.sin().float()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotates pairs of (1, heads, tokens, size): the elements i and i + size / 2, into which weights are sorted."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosines - second * sines, first * sines + second * cosines), dim=-1)


class RMSNorm(nn.Module):
    """Divides by the root of the mean square."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.rms_norm(x, self.weight.shape, self.weight, self.eps)


class LlamaAttention(nn.Module):
    """Attention to the cache and to this call's tokens."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.heads, self.kv_heads = args.n_heads, args.n_kv_heads or args.n_heads
        self.size = args.head_dim or args.dim // args.n_heads
        self.wq = nn.Linear(args.dim, self.heads * self.size, bias=False)
        self.wk = nn.Linear(args.dim, self.kv_heads * self.size, bias=False)
        self.wv = nn.Linear(args.dim, self.kv_heads * self.size, bias=False)
        self.wo = nn.Linear(self.heads * self.size, args.dim, bias=False)

    def forward(
        self, x: Tensor, cosines: Tensor, sines: Tensor, mask: Tensor, past_keys: Tensor, past_values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        tokens = x.shape[1]
        queries = self.wq(x).view(1, tokens, self.heads, self.size).transpose(1, 2)
        new_keys = self.wk(x).view(1, tokens, self.kv_heads, self.size).transpose(1, 2)
        new_values = self.wv(x).view(1, tokens, self.kv_heads, self.size).transpose(1, 2)
        queries, new_keys = rotate(queries, cosines, sines), rotate(new_keys, cosines, sines)
        keys, values = torch.cat((past_keys, new_keys), 2), torch.cat((past_values, new_values), 2)
        shared = self.heads // self.kv_heads
        if shared > 1:
            keys, values = (each.repeat_interleave(shared, dim=1) for each in (keys, values))
        scores = torch.matmul(queries, keys.transpose(2, 3)) / self.size**0.5 + mask
        found = torch.matmul(scores.softmax(-1), values).transpose(1, 2).reshape(1, tokens, self.heads * self.size)
        return self.wo(found), new_keys, new_values


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        assert args.hidden_dim is not None
        self.w1 = nn.Linear(args.dim, args.hidden_dim, bias=False)
        self.w2 = nn.Linear(args.hidden_dim, args.dim, bias=False)
        self.w3 = nn.Linear(args.dim, args.hidden_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))


class LlamaDecoderLayer(nn.Module):
    """Attention and the feed-forward block, each with a residual connection."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.attention, self.feed_forward = LlamaAttention(args), FeedForward(args)
        self.attention_norm = RMSNorm(args.dim, args.norm_eps)
        self.ffn_norm = RMSNorm(args.dim, args.norm_eps)

    def forward(self, x: Tensor, *more: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found, keys, values = self.attention(self.attention_norm(x), *more)
        x = x + found
        return x + self.feed_forward(self.ffn_norm(x)), keys, values


class LlamaModel(nn.Module):
    """The decoder. Its parameters have the names of Meta's checkpoints, except the head, which is a convolution, as
    annotations of the head expect (`custom_annotate_llama_last_conv_16a8w`)."""

    def __init__(self, args: ModelArgs, shape: Shape) -> None:
        super().__init__()
        self.args, self.shape = args, shape
        self.tok_embeddings = nn.Embedding(args.vocab_size, args.dim)
        self.layers = nn.ModuleList(LlamaDecoderLayer(args) for _ in range(args.n_layers))
        self.norm = RMSNorm(args.dim, args.norm_eps)
        self.output = nn.Conv2d(args.dim, args.vocab_size, 1, bias=False)
        for name, table in zip(("cosines", "sines"), rotations(args, shape.context), strict=True):
            self.register_buffer(name, table, persistent=False)

    def load(self, checkpoint: dict[str, Tensor], pairs_neighbours: bool = True) -> None:
        """Loads a checkpoint with Meta's names. Its rotations pair adjacent elements, as Meta's do, or elements of the
        two halves of each head. Raises ValueError for missing or other names and shapes."""
        state = {name: value.float() for name, value in checkpoint.items() if not name.startswith("rope.")}
        state.setdefault("output.weight", state.get("tok_embeddings.weight", torch.empty(0)))
        state["output.weight"] = state["output.weight"][..., None, None]
        try:
            self.load_state_dict(state)  # first: it checks the shapes, which sorting relies on
        except RuntimeError as error:
            raise ValueError(f"the checkpoint does not fit params.json: {error}") from error
        if pairs_neighbours:
            size = self.args.head_dim or self.args.dim // self.args.n_heads
            with torch.no_grad():
                for layer in self.layers:
                    for projection in (layer.attention.wq, layer.attention.wk):
                        projection.weight.copy_(_halves(projection.weight, size))

    def forward(self, tokens: Tensor, mask: Tensor, positions: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        """`caches` are the keys of all layers, then the values. Returns the logits, and the new keys and values."""
        x = self.tok_embeddings(tokens)
        cosines, sines = self.cosines[positions], self.sines[positions]
        keys, values = [], []
        for i, layer in enumerate(self.layers):
            x, new_keys, new_values = layer(x, cosines, sines, mask, caches[i], caches[len(self.layers) + i])
            keys.append(new_keys)
            values.append(new_values)
        logits = self.output(self.norm(x).transpose(1, 2).unsqueeze(2)).squeeze(2).transpose(1, 2)
        return (logits, *keys, *values)

    def empty(self) -> list[Tensor]:
        """Returns caches without tokens."""
        size = self.args.head_dim or self.args.dim // self.args.n_heads
        heads = self.args.n_kv_heads or self.args.n_heads
        return [torch.zeros(1, heads, self.shape.past, size) for _ in range(2 * self.args.n_layers)]

    def inputs(self, tokens: list[int], first: int, caches: list[Tensor]) -> tuple[Tensor, ...]:
        """Returns the arguments of `forward` for tokens from the position `first` on. Cached tokens lie at the end of
        the caches, of which the last `shape.past` tokens are passed; missing tokens at the end of a call are zeros."""
        count, past = self.shape.tokens, self.shape.past
        caches = [cache[:, :, cache.shape[2] - past :] for cache in caches]
        given = torch.tensor([[*tokens, *[0] * (count - len(tokens))]])
        mask = torch.full((count, self.shape.context), MASKED)
        mask[:, past - min(first, past) : past] = 0
        mask[:, past:] = torch.full((count, count), MASKED).triu(1)
        positions = torch.arange(first, first + count).clamp(max=self.shape.context - 1)
        return (given, mask[None, None], positions, *caches)


def _halves(weight: Tensor, size: int) -> Tensor:
    """Sorts the rows of each head: those of even elements first."""
    pairs = weight.view(-1, size // 2, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape)
