# SPDX-License-Identifier: BSD-3-Clause
"""Operators that a partitioner wants to keep whole, and that appear only while another operator is decomposed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.fx import Node

from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.partitioner import Partitioner, PartitionResult
from sdk.exir.dialects._ops import ops

_aten = torch.ops.aten


class Observer(Partitioner):
    """Requests that linear layers are kept whole, and takes nothing."""

    def __init__(self, check: Callable[[Node], bool] | None) -> None:
        super().__init__()
        self.check = check
        self.seen: list[tuple[int, ...]] = []

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        return [_aten.linear.default], self.check

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        linear = [n for n in exported_program.graph.nodes if n.target is ops.edge.aten.linear.default]
        self.seen = [tuple(node.args[1].meta["val"].shape) for node in linear]
        return PartitionResult(exported_program, {})


LAYERS = {
    # PyTorch calls a linear layer for the inputs of all steps together, and another one for the state in each step.
    "lstm": (lambda: torch.nn.LSTM(5, 3), [(12, 5), *[(12, 3)] * 4]),
    "gru": (lambda: torch.nn.GRU(5, 3), [(9, 5), *[(9, 3)] * 4]),
    "rnn": (lambda: torch.nn.RNN(5, 3), [(3, 5), *[(3, 3)] * 4]),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("check", [None, lambda node: True])
def test_linear_layers_of_recurrent_layers(layer: str, check: Callable[[Node], bool] | None) -> None:
    torch.manual_seed(0)
    make, expected = LAYERS[layer]
    model, inputs = make(), (torch.randn(4, 2, 5),)
    observer = Observer(check)
    edge = to_edge_transform_and_lower(export(model, inputs), partitioner=[observer])
    assert observer.seen == expected
    # What is left is decomposed for kernels.
    program = edge.exported_program()
    assert ops.edge.aten.linear.default not in {node.target for node in program.graph.nodes}
    torch.testing.assert_close(program.module()(*inputs), model(*inputs))


def test_only_calls_that_the_check_accepts() -> None:
    """The partitioner's check gets the call as a node, with its arguments and its result."""

    def is_of_state(node: Node) -> bool:
        weight = node.args[1]
        assert isinstance(weight, Node) and weight.op == "placeholder"
        assert node.meta["val"].shape[-1] == 12
        return weight.meta["val"].shape == (12, 3)

    observer = Observer(is_of_state)
    to_edge_transform_and_lower(export(torch.nn.LSTM(5, 3), (torch.randn(4, 2, 5),)), partitioner=[observer])
    assert observer.seen == [(12, 3)] * 4
