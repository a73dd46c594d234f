# SPDX-License-Identifier: BSD-3-Clause
"""Mixtures of experts, compared with the sum over the chosen experts of each token."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sdk.extension.llm.model.experts import MixtureOfExperts
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import construct_transformer

SIZES: dict[str, Any] = {"dim": 16, "n_heads": 2, "moe": True, "num_experts": 5, "moe_hidden_dim": 24, "vocab_size": 40}
SCORES: dict[str, dict[str, Any]] = {
    "softmax of the chosen": {},
    "softmax of all": {"moe_score_func": "softmax_all"},
    "softmax of all, normalised": {"moe_score_func": "softmax_all", "moe_norm_topk": True},
    "softmax, not normalised": {"moe_norm_topk": False},
    "sigmoid": {"moe_score_func": "sigmoid", "moe_route_scale": 2.5},
    "sigmoid with a bias": {"moe_score_func": "sigmoid", "moe_use_expert_bias": True},
    "with a shared expert": {"moe_shared_expert_hidden_dim": 20},
}


def _expert(x: Tensor, expert: Any) -> Tensor:
    gate, up, down = expert.w1.weight, expert.w3.weight, expert.w2.weight
    return down @ (F.silu(gate @ x) * (up @ x))


def _weights(scores: Tensor, bias: Tensor | None, fields: dict[str, Any]) -> dict[int, Tensor]:
    """Returns the weights of the experts that a token is routed to, by their indices."""
    function = fields.get("moe_score_func", "softmax")
    each = 1 / (1 + torch.exp(-scores)) if function == "sigmoid" else torch.exp(scores) / torch.exp(scores).sum()
    ranks = each if bias is None else each + bias
    first, second = sorted(range(len(scores)), key=lambda i: -float(ranks[i]))[:2]
    total = each[first] + each[second]
    divides = fields.get("moe_norm_topk", function != "softmax_all")
    return {i: each[i] / (total if divides else 1) * fields.get("moe_route_scale", 1.0) for i in (first, second)}


@pytest.mark.parametrize("name", SCORES)
def test_experts_are_weighted(name: str) -> None:
    torch.manual_seed(0)
    fields = SCORES[name]
    model: Any = MixtureOfExperts(ModelArgs(**SIZES, **fields))
    if model.router.bias is not None:
        model.router.bias.copy_(torch.tensor([0.9, -0.9, 0.0, 0.5, -0.5]))
    x = torch.randn(2, 7, 16)
    with torch.no_grad():
        found = model(x)
        chosen = set()
        for row, token in zip(found.reshape(-1, 16), x.reshape(-1, 16), strict=True):
            weights = _weights(model.router.weight @ token, model.router.bias, fields)
            chosen |= set(weights)
            expected = sum(weight * _expert(token, model.experts[i]) for i, weight in weights.items())
            if model.shared_expert is not None:
                expected = expected + _expert(token, model.shared_expert)
            torch.testing.assert_close(row, expected, rtol=1e-4, atol=1e-5)
    assert len(chosen) > 2


def test_weights_under_the_names_of_executorch() -> None:
    """`block_sparse_moe` has one tensor for all experts; its last matrix is transposed."""
    fields: dict[str, Any] = {"moe_use_expert_bias": True, "moe_shared_expert_hidden_dim": 20}
    args = ModelArgs(**SIZES, **fields)
    ours, other = construct_transformer(args).eval(), construct_transformer(args).eval()
    for i, parameter in enumerate(ours.parameters()):
        parameter.data = 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(i))
    block: Any = ours.layers[0].feed_forward
    block.router.bias.copy_(torch.tensor([0.1, -0.2, 0.0, 0.3, -0.1]))
    state = {name: weight for name, weight in ours.state_dict().items() if "feed_forward" not in name}
    theirs = "layers.0.block_sparse_moe."
    state[f"{theirs}gate.weight"], state[f"{theirs}expert_bias"] = block.router.weight, block.router.bias
    for name in ("w1", "w2", "w3"):
        stacked = torch.stack([getattr(expert, name).weight for expert in block.experts])
        state[f"{theirs}cond_ffn.{name}"] = stacked.mT if name == "w2" else stacked
        state[f"{theirs}shared_expert.{name}.weight"] = getattr(block.shared_expert, name).weight
    other.load_state_dict(state)
    tokens = torch.randint(0, 40, (1, 9))
    with torch.no_grad():
        torch.testing.assert_close(other(tokens), ours(tokens))
