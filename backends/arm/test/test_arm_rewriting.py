# SPDX-License-Identifier: BSD-3-Clause
"""The graphs that the quantizers rewrite before they annotate give the same results as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import Call
from torch import Tensor
from torch.export import export

from sdk.backends.arm.quantizer import TOSAQuantizer
from sdk.backends.arm.quantizer.rewriting import constant_of

_aten = torch.ops.aten
HEADS = (2, 3, 5, 8)
MASK = torch.tensor([[True, False, True, True, False]] * 4 + [[False] * 5])  # nothing is left of the last row


def _attention(**options: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: F.scaled_dot_product_attention(x, x + 1, x * 2, **options)


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Any], Any]] = {
    "attention": (_attention(), _aten.scaled_dot_product_attention.default),
    "attention with a scale": (_attention(scale=0.3), _aten.scaled_dot_product_attention.default),
    "causal attention": (_attention(is_causal=True), _aten.scaled_dot_product_attention.default),
    "attention with a mask": (_attention(attn_mask=MASK), _aten.scaled_dot_product_attention.default),
    "attention with an added mask": (
        lambda x: F.scaled_dot_product_attention(x, x, x, torch.full((5, 5), -torch.inf).triu(1)),
        _aten.scaled_dot_product_attention.default,
    ),
    "attention with a bias": (
        lambda x: F.scaled_dot_product_attention(x, x, x, x[..., :5] * 2),
        _aten.scaled_dot_product_attention.default,
    ),
    "products of four dimensions": (lambda x: x @ x.transpose(-1, -2), _aten.matmul.default),
    "products with a matrix": (lambda x: x @ torch.arange(24.0).view(8, 3), _aten.matmul.default),
    "chunks": (lambda x: torch.chunk(x, 3, -1)[2] * 2, _aten.chunk.default),
    "splits": (lambda x: torch.split(x, 3, -1)[2] * 2, _aten.split.Tensor),
    "uneven splits": (lambda x: torch.split(x, [1, 4, 3], 3)[1] * 2, _aten.split_with_sizes.default),
    "parts of the size 1": (lambda x: torch.unbind(x, 1)[2] * 2, _aten.unbind.int),
    "quotients": (lambda x: x / 8, _aten.div.Tensor),
    "reversed differences": (lambda x: 3.0 - x, _aten.rsub.Scalar),
    "reversed differences of tensors": (lambda x: torch.rsub(x, x.flip(0)), _aten.rsub.Tensor),
    "gates": (lambda x: F.glu(x, -1) * 2, _aten.glu.default),
    "largest elements": (lambda x: x.max(1, keepdim=True)[0] + x.max(-1)[0].sum(), _aten.max.dim),
    "smallest elements": (lambda x: x.min(1)[0] * 2, _aten.min.dim),
    "filled": (lambda x: x.masked_fill(x > 0.5, -2.0), _aten.masked_fill.Scalar),
    "dropout": (lambda x: F.dropout(x, 0.5, training=False) * 2, _aten.dropout.default),
    "copies": (lambda x: x.transpose(1, 2).contiguous().clone() * 2, _aten.clone.default),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_the_same(name: str) -> None:
    torch.manual_seed(0)
    function, target = FUNCTIONS[name]
    x = torch.randn(HEADS)
    model = export(Call(function), (x,)).module()
    assert target in {node.target for node in model.graph.nodes}
    rewritten = TOSAQuantizer("TOSA-1.0+INT").transform_for_annotation(model)
    assert target not in {node.target for node in rewritten.graph.nodes}
    torch.testing.assert_close(rewritten(x), function(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (y := x.clone()).view(-1).add_(1).sum() + y * x,
        lambda x: (z := x * 2, z.view(-1).clone(), z.add_(1))[1] * 3,
    ],
    ids=["written", "whose source is written"],
)
def test_copies_of_what_is_written(function: Callable[[Tensor], Tensor]) -> None:
    x = torch.randn(HEADS)
    rewritten = TOSAQuantizer("TOSA-1.0+INT").transform_for_annotation(export(Call(function), (x,)).module())
    torch.testing.assert_close(rewritten(x), function(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.scaled_dot_product_attention(x, x[:, :1], x[:, :1], enable_gqa=True),
        lambda x: F.dropout(x, 0.0, training=True) * 2,
    ],
    ids=["of groups", "in training"],
)
def test_what_has_no_other_form_stays(function: Callable[[Tensor], Tensor]) -> None:
    x = torch.randn(HEADS)
    model = export(Call(function), (x,)).module()
    before = [node.target for node in model.graph.nodes]
    rewritten = TOSAQuantizer("TOSA-1.0+INT").transform_for_annotation(model)
    kept = (_aten.scaled_dot_product_attention.default, _aten.dropout.default)
    after = [node.target for node in rewritten.graph.nodes]
    assert [target for target in before if target in kept] == [target for target in after if target in kept] != []
    torch.testing.assert_close(rewritten(x), function(x))


def test_constants_of_a_captured_graph() -> None:
    """A mask computed from constants is a constant; tensors that depend on an input or are random are not."""

    def function(x: Tensor) -> Tensor:
        return x + torch.ones(5, 8).tril() * 3 + torch.rand(8)

    graph = export(Call(function), (torch.randn(HEADS),)).module().graph
    found = {str(node.target): constant_of(node) for node in graph.nodes}
    known = found["aten.mul.Tensor"]
    assert known is not None and torch.equal(known, torch.ones(5, 8).tril() * 3)
    assert found["aten.rand.default"] is None and found["aten.add.Tensor"] is None
