# SPDX-License-Identifier: BSD-3-Clause
"""Passes over captured language models: the graph changes, and its numbers do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.export.export_passes import RemoveRedundantTransposes, ReplaceSDPAWithCustomSDPAPass

aten = torch.ops.aten


class Function(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*args)


def passed(function: Any, args: tuple[Tensor, ...], made: Any) -> tuple[torch.fx.GraphModule, list[Any]]:
    """Applies a pass and checks that the results do not change. Returns the module and its operators."""
    module = torch.export.export(Function(function), args).module()
    expected = module(*args)
    result = made(module).graph_module
    torch.testing.assert_close(result(*args), expected)
    return result, [node.target for node in result.graph.nodes if node.op == "call_function"]


VIEWS = (aten.transpose.int, aten.permute.default)


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: x.transpose(0, 1).transpose(0, 1) + 1, 0),
        (lambda x: x.transpose(1, -1).transpose(-2, 2) + 1, 0),
        (lambda x: x.permute(1, 2, 0).permute(2, 0, 1) + 1, 0),
        (lambda x: x.permute(0, 2, 1).transpose(1, 2) + 1, 0),
        (lambda x: x.permute(1, 2, 0).permute(1, 2, 0) + 1, 2),
        (lambda x: x.transpose(0, 1).transpose(1, 2) + 1, 2),
        (lambda x: (y := x.transpose(0, 1)).transpose(0, 1) + y.transpose(0, 2).sum(), 2),
        (lambda x: x.transpose(0, 1).transpose(0, 1).transpose(1, 2).transpose(1, 2) * 2, 0),
    ],
)
def test_pairs_of_transposes(function: Any, left: int):
    _, targets = passed(function, (torch.randn(2, 3, 4),), RemoveRedundantTransposes())
    assert sum(target in VIEWS for target in targets) == left


def test_nothing_to_take_out():
    module = torch.export.export(Function(lambda x: x.transpose(0, 1) + 1), (torch.randn(2, 3),)).module()
    assert not RemoveRedundantTransposes()(module).modified


Q, K, V = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
LONG = torch.randn(1, 4, 5, 8)
VISIBLE = torch.ones(3, 5).tril(2).bool()


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (LONG, LONG, LONG)),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (Q, K, V)),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (LONG, LONG, LONG)),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.2), (LONG, LONG, LONG)),
        (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True), (Q, K, V, VISIBLE)),
        (
            lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True),
            (Q, K, V, torch.randn(1, 1, 3, 5)),
        ),
        *(
            (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True), (Q, K, V, mask))
            for mask in (torch.randn(1, 5), torch.randn(3, 1), torch.randn(1, 1, 1, 5), VISIBLE[:1])
        ),
    ],
)
def test_attention_becomes_the_operator(function: Any, args: tuple[Tensor, ...]):
    module, targets = passed(function, args, ReplaceSDPAWithCustomSDPAPass())
    assert aten.scaled_dot_product_attention.default not in targets
    (node,) = module.graph.find_nodes(op="call_function", target=torch.ops.llama.custom_sdpa.default)
    mask: Any = node.args[4]
    # The kernel has no broadcasting.
    assert mask is None or tuple(mask.meta["val"].shape) == (args[0].shape[2], args[1].shape[2])


def test_masks_can_be_assumed_causal():
    mask = torch.zeros(1, 1, 5, 5).masked_fill(~torch.ones(5, 5).tril().bool(), float("-inf"))
    _, targets = passed(
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        (LONG, LONG, LONG, mask),
        ReplaceSDPAWithCustomSDPAPass(assume_causal_mask=True),
    )
    assert torch.ops.llama.custom_sdpa.default in targets


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda q, m: F.scaled_dot_product_attention(q, q, q, m), (LONG, torch.randn(1, 4, 5, 5))),
        (lambda q: F.scaled_dot_product_attention(q, q, q), (LONG[0],)),
        (lambda q, v: F.scaled_dot_product_attention(q, q, v), (LONG, torch.randn(1, 4, 5, 6))),
    ],
    ids=["mask_of_heads", "three_dimensions", "wide_values"],
)
def test_attention_that_stays(function: Any, args: tuple[Tensor, ...]):
    _, targets = passed(function, args, ReplaceSDPAWithCustomSDPAPass())
    assert aten.scaled_dot_product_attention.default in targets
