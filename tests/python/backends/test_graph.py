# SPDX-License-Identifier: BSD-3-Clause
"""The helpers with which backends read a graph: names, arguments, shapes."""

from __future__ import annotations

import pytest
import torch
from torch.export import export
from torch.fx import Node

from sdk.backends.graph.names import argument, arguments_of, name_of
from sdk.backends.graph.shapes import dtype_of, is_tensor, shape_of
from sdk.backends.graph.sums import shift_of, sum_of, terms_of
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


X, Y = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([0.5, 4.0, -1.0])
aten = torch.ops.aten
SUMS = {
    "add": (aten.add.Tensor, (Y,), {}),
    "add with a factor": (aten.add.Tensor, (Y,), {"alpha": 3}),
    "add a number": (aten.add.Scalar, (2.0,), {}),
    "add a number with a factor": (aten.add.Scalar, (2.0, 3), {}),
    "sub": (aten.sub.Tensor, (Y,), {}),
    "sub with a factor": (aten.sub.Tensor, (Y,), {"alpha": -0.5}),
    "sub a number with a factor": (aten.sub.Scalar, (2.0, 3), {}),
    "rsub": (aten.rsub.Tensor, (Y,), {"alpha": 2}),
    "rsub from a number": (aten.rsub.Scalar, (2.0, 3), {}),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_with_their_factor(name: str) -> None:
    """`first + factor * second` is what the operator computes, however `alpha` is given."""
    operator, others, kwargs = SUMS[name]
    graph = torch.fx.Graph()
    known = {graph.placeholder("x"): X, graph.placeholder("y"): Y}
    x, y = known
    node = graph.call_function(operator, (x, *(y if other is Y else other for other in others)), kwargs)
    found = sum_of(node)
    assert found is not None and sum_of(x) is None and sum_of(2.0) is None
    first, second = (known.get(each, each) for each in found[:2])
    wanted = operator(X, *others, **kwargs)
    assert torch.equal(first + found.factor * second, wanted)
    assert terms_of(node) == (found[:2] if found.factor == 1 else None)
    shift = shift_of(node)
    assert (shift is None) == (others[0] is Y or name == "rsub from a number")
    assert shift is None or (shift[0] is x and torch.equal(X + shift[1], wanted))
