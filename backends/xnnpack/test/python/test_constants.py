# SPDX-License-Identifier: BSD-3-Clause
"""Finding the values of a program that are known when it is compiled: once for each call, and again when the graph has
changed."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from test_quantized import lower, quantize
from torch import nn
from torch.export import export
from torch.fx import Node

from sdk.backends.transforms import constants
from sdk.exir import to_edge


def test_xnn01_lowering_looks_at_each_call_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quantised model is one chain: following it back from each of its calls would make the time of lowering
    quadratic."""
    looked: Counter[Node] = Counter()

    def count(node: Node, folds=constants._folds) -> bool:  # type: ignore[no-untyped-def]
        looked[node] += 1
        return folds(node)

    inputs = (torch.randn(2, 8),)
    quantized = quantize(nn.Sequential(*[nn.Linear(8, 8) for _ in range(10)]), inputs, is_per_channel=True)
    monkeypatch.setattr(constants, "_folds", count)
    lower(quantized, inputs)
    assert len(looked) > 40  # four calls a layer, and the same in the delegate
    assert max(looked.values()) == 1


class Halves(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.neg(torch.full((3,), 0.5))


def test_what_is_constant_follows_the_graph() -> None:
    program = to_edge(export(Halves(), (torch.ones(3),))).exported_program()
    (neg,) = (node for node in program.graph.nodes if "neg" in node.name)
    (x,) = (node for node in program.graph.nodes if node.op == "placeholder" and node.name == "x")
    with constants.settled(program):
        assert constants.is_constant(program, neg) and not constants.is_constant(program, x)
        found = constants.get_constant(program, neg)
    torch.testing.assert_close(found, torch.full((3,), -0.5))
    neg.update_arg(0, x)
    assert not constants.is_constant(program, neg)
    assert constants.get_constant(program, neg) is None
