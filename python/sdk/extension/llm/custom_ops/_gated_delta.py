# SPDX-License-Identifier: BSD-3-Clause
"""Linear attention by the gated delta rule: with a decay for each key channel, as in Kimi Linear, or for each head, as
in Qwen 3.5."""

from __future__ import annotations

import torch
from torch import Tensor

_OP = "gated_delta_rule"


def gated_delta_rule_meta(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, initial_state: Tensor
) -> tuple[Tensor, Tensor]:
    """Checks the arguments; returns results without values."""
    for name, tensor in {"query": query, "key": key, "value": value}.items():
        if tensor.dim() != 4:
            raise ValueError(
                f"{_OP}: expected (batch, heads, positions, width); found {name} with the shape {list(tensor.shape)}"
            )
    (batch, queries, positions, keys), heads, values = query.shape, key.shape[1], value.shape[3]
    if queries < heads or (queries % heads if heads else queries):
        raise ValueError(f"{_OP}: {queries} heads of queries cannot share {heads} heads of keys: expected a multiple")
    rows = (batch, heads, positions)
    expected = {
        "query": (query, (batch, queries, positions, keys)),
        "key": (key, (*rows, keys)),
        "value": (value, (*rows, values)),
        "decay": (decay, rows if decay.dim() == 3 else (*rows, keys)),
        "beta": (beta, rows),
        "initial_state": (initial_state, (batch, heads, keys, values)),
    }
    for name, (tensor, shape) in expected.items():
        if tensor.dtype != torch.float32:
            raise ValueError(f"{_OP}: {name} must be float32, found {tensor.dtype}")
        if tensor.dim() != len(shape) or any(a != b for a, b in zip(tensor.shape, shape, strict=True)):
            raise ValueError(f"{_OP}: {name} must have the shape {list(shape)}, found {list(tensor.shape)}")
    out = value.new_empty((batch, queries, positions, values))
    return out, torch.empty_like(initial_state, memory_format=torch.contiguous_format)


def gated_delta_rule(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, initial_state: Tensor
) -> tuple[Tensor, Tensor]:
    """The outputs of all positions, and the state after them. Arguments are not changed.

    `query` is (batch, heads, positions, keys); `key` has the same shape with as many heads or a divisor; `value` is
    (batch, heads of key, positions, values), `decay` as `key` or without its last dimension, `beta` (batch, heads of
    key, positions), `initial_state` (batch, heads of key, keys, values). Each position multiplies the rows of the
    state by `decay`, adds the outer product of `key` and `beta` (value - state^T key), and returns state^T query for
    each head of queries; consecutive heads share a state.
    """
    out, _ = gated_delta_rule_meta(query, key, value, decay, beta, initial_state)
    state = initial_state.clone(memory_format=torch.contiguous_format)
    # The heads that share a state are an axis of queries and of results. Views of them need a size, also of nothing.
    groups = query.shape[1] // key.shape[1] if key.shape[1] else 1
    queries, results = (x.unflatten(1, (key.shape[1], groups)) for x in (query, out))
    decay = decay.unsqueeze(-1) if decay.dim() == 3 else decay
    for t in range(query.shape[2]):
        state *= decay[:, :, t].unsqueeze(-1)
        predicted = torch.einsum("bhkv,bhk->bhv", state, key[:, :, t])
        delta = (value[:, :, t] - predicted) * beta[:, :, t].unsqueeze(-1)
        state += key[:, :, t].unsqueeze(-1) * delta.unsqueeze(-2)
        results[:, :, :, t] = torch.einsum("bhkv,bhgk->bhgv", state, queries[:, :, :, t])
    return out, state


channelwise_gated_delta_rule_meta = gated_delta_rule_meta
"""Under the name of ExecuTorch 1.4."""
channelwise_gated_delta_rule = gated_delta_rule
"""Under the name of ExecuTorch 1.4."""
