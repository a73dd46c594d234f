# SPDX-License-Identifier: BSD-3-Clause
"""The helpers with which backends read a graph: names, arguments, shapes."""

from __future__ import annotations

import pytest
import torch
from torch.export import export
from torch.fx import Node

from sdk.backends.graph.names import argument, arguments_of, name_of
from sdk.backends.graph.shapes import dtype_of, is_tensor, shape_of
from sdk.exir import to_edge


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values, _ = torch.topk(x, k=2, dim=0)
        return torch.nn.functional.gelu(values, approximate="tanh")


@pytest.fixture(scope="module", params=["aten", "edge"])
def nodes(request: pytest.FixtureRequest) -> dict[str, Node]:
    """The nodes of a program in a dialect, by their names."""
    exported = export(Model(), (torch.randn(3, 4),))
    program = exported if request.param == "aten" else to_edge(exported).exported_program()
    return {name_of(node) or node.op: node for node in program.graph.nodes}


def test_operators_have_the_same_names_in_both_dialects(nodes: dict[str, Node]) -> None:
    assert {"placeholder", "aten.topk.default", "getitem", "aten.gelu.default", "output"} <= set(nodes)
    assert name_of(None) == name_of(3) == ""


def test_arguments_by_name_and_by_position(nodes: dict[str, Node]) -> None:
    topk, gelu = nodes["aten.topk.default"], nodes["aten.gelu.default"]
    given = arguments_of(topk)
    assert (given["k"], given["dim"], given["largest"], given["sorted"]) == (2, 0, True, True)
    assert given["self"] is nodes["placeholder"]
    assert arguments_of(gelu)["approximate"] == "tanh"  # by keyword
    assert [argument(topk, position) for position in range(1, 5)] == [2, 0, True, True]
    assert argument(gelu, 1) == "tanh"


def test_shapes(nodes: dict[str, Node]) -> None:
    assert shape_of(nodes["aten.gelu.default"]) == (2, 4)
    assert dtype_of(nodes["aten.gelu.default"]) == torch.float32
    assert is_tensor(nodes["placeholder"])
    assert not is_tensor(nodes["aten.topk.default"]) and not is_tensor(3)
