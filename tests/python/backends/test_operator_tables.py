# SPDX-License-Identifier: BSD-3-Clause
"""The tables of operators that backends share."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx import Graph, Node

from sdk.backends.operators import Operators


class Doubled:
    """Takes calls of one operand."""

    def refusal(self, node: Node) -> str | None:
        return None if len(node.args) == 1 else f"it has {len(node.args)} operands"

    def lower(self, node: Node, payload: list[str]) -> None:
        payload.append(node.name)


def calls() -> list[Node]:
    graph = Graph()
    x = graph.placeholder("x")
    return [
        graph.call_function(torch.ops.aten.relu.default, (x,)),
        graph.call_function(torch.ops.aten.add.Tensor, (x, x)),
        graph.call_function(torch.ops.aten.neg.default, (x,)),
    ]


def test_a_table_says_why_calls_are_refused() -> None:
    table = Operators[Doubled]("Demo")
    table.add(["aten.relu.default", "aten.add.Tensor"], Doubled())
    reasons = [table.refusal(node) for node in calls()]
    assert reasons == [None, "it has 2 operands", "Demo has no such operator"]


def test_a_backend_says_which_operator_a_node_calls() -> None:
    table = Operators[Doubled]("Demo", lambda node: node.name)
    table.add(["relu_default"], Doubled())
    assert [table.refusal(node) for node in calls()] == [None, *["Demo has no such operator"] * 2]


@pytest.mark.parametrize("missing", ["refusal", "lower"])
def test_an_operator_without_a_function_is_refused(missing: str) -> None:
    functions: dict[str, Any] = {"refusal": Doubled.refusal, "lower": Doubled.lower}
    del functions[missing]
    table = Operators[Any]("Demo")
    entry = type("Half", (), {**functions, "__module__": "vendor.operators"})()
    message = f"aten.relu.default of Demo, vendor.operators.Half, has no function `{missing}`: define {missing}"
    with pytest.raises(TypeError, match=message):
        table.add(["aten.relu.default"], entry)
    assert not table


def test_a_name_is_registered_once() -> None:
    table, first, second = Operators[Doubled]("Demo"), Doubled(), Doubled()
    table.add(["aten.relu.default"], first)
    message = r"aten.relu.default of Demo is registered twice: .*Doubled and .*Doubled; remove one"
    with pytest.raises(ValueError, match=message):
        table.add(["aten.relu.default"], second)
    assert table["aten.relu.default"] is first
    table.add(["aten.relu.default"], second, replaces=True)
    assert table["aten.relu.default"] is second
