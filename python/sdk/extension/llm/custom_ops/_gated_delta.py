# SPDX-License-Identifier: BSD-3-Clause
"""Linear attention by the gated delta rule, with a decay for each key channel, as in Kimi Linear."""

from __future__ import annotations

import torch
from torch import Tensor

_OP = "channelwise_gated_delta_rule"


def channelwise_gated_delta_rule_meta(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, initial_state: Tensor
) -> tuple[Tensor, Tensor]:
    """Checks the arguments; returns results without values."""
    if query.dim() != 4 or value.dim() != 4:
        raise ValueError(
            f"{_OP}: expected (batch, heads, positions, width); found query {list(query.shape)} and value "
            f"{list(value.shape)}"
        )
    rows, keys, values = tuple(query.shape[:3]), query.shape[3], value.shape[3]
    expected = {
        "query": (query, (*rows, keys)),
        "key": (key, (*rows, keys)),
        "value": (value, (*rows, values)),
        "decay": (decay, (*rows, keys)),
        "beta": (beta, rows),
        "initial_state": (initial_state, (*rows[:2], keys, values)),
    }
    for name, (tensor, shape) in expected.items():
        if tensor.dtype != torch.float32:
            raise ValueError(f"{_OP}: {name} must be float32, found {tensor.dtype}")
        if tensor.dim() != len(shape) or any(a != b for a, b in zip(tensor.shape, shape, strict=True)):
            raise ValueError(f"{_OP}: {name} must have the shape {list(shape)}, found {list(tensor.shape)}")
    contiguous = {"memory_format": torch.contiguous_format}
    return torch.empty_like(value, **contiguous), torch.empty_like(initial_state, **contiguous)


def channelwise_gated_delta_rule(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, initial_state: Tensor
) -> tuple[Tensor, Tensor]:
    """The outputs of all positions, and the state after them. Arguments are not changed.

    `query`, `key` and `decay` are (batch, heads, positions, keys), `value` (batch, heads, positions, values), `beta`
    (batch, heads, positions), `initial_state` (batch, heads, keys, values). Each position multiplies the rows of the
    state by `decay`, adds the outer product of `key` and `beta` (value - state^T key), and returns state^T query.
    """
    out, _ = channelwise_gated_delta_rule_meta(query, key, value, decay, beta, initial_state)
    state = initial_state.clone(memory_format=torch.contiguous_format)
    for t in range(query.shape[2]):
        state *= decay[:, :, t].unsqueeze(-1)
        predicted = torch.einsum("bhkv,bhk->bhv", state, key[:, :, t])
        delta = (value[:, :, t] - predicted) * beta[:, :, t].unsqueeze(-1)
        state += key[:, :, t].unsqueeze(-1) * delta.unsqueeze(-2)
        out[:, :, t] = torch.einsum("bhkv,bhk->bhv", state, query[:, :, t])
    return out, state
