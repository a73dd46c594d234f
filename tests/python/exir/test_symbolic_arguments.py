# SPDX-License-Identifier: BSD-3-Clause
"""Passes that put symbolic sizes into the arguments of operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim, export

from sdk.exir import EdgeProgramManager, to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass, ExportPassBaseError, ProxyValue
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

edge = exir_ops.edge.aten
X = torch.arange(6, dtype=torch.float32).reshape(2, 3) - 2


class Relu(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


class Reshape(ExportPass):
    """Replaces relu(x) by relu(view(x)). A function computes the size of the view from that of x."""

    def __init__(self, size: Callable[[torch.Size], list[Any]]) -> None:
        super().__init__()
        self.size = size

    def call_operator(self, op, args, kwargs, meta):
        if op is edge.relu.default:
            view = super().call_operator(edge.view_copy.default, (args[0], self.size(args[0].data.shape)), {}, meta)
            return super().call_operator(op, (view,), {}, meta)
        return super().call_operator(op, args, kwargs, meta)


def changed(size: Callable[[torch.Size], list[Any]]) -> EdgeProgramManager:
    batch = Dim("batch", max=9)
    return to_edge(export(Relu(), (X,), dynamic_shapes=({0: batch},))).transform([Reshape(size)])


@pytest.mark.parametrize(
    "size",
    [
        lambda s: [s[0] * s[1]],
        lambda s: [3, s[0]],
        lambda s: [1, s[0], 3],
        lambda s: [s[0], s[1] + 0],
        lambda s: [s[1], (s[0] * 4) // 4],
    ],
)
def test_sizes_in_lists(size: Callable[[torch.Size], list[Any]]) -> None:
    manager = changed(size)
    module = manager.exported_program().module()
    program = _load_for_executorch_from_buffer(manager.to_executorch().buffer)
    for rows in (2, 5):
        x = torch.arange(3.0 * rows).reshape(rows, 3) - 2
        expected = torch.relu(x).reshape([int(n) for n in size(x.shape)])
        torch.testing.assert_close(module(x), expected)
        torch.testing.assert_close(program.forward((x,))[0], expected)


def test_a_size_of_nothing_in_the_graph() -> None:
    other = export(Relu(), (torch.ones(4),), dynamic_shapes=({0: Dim("other", max=8)},))
    (foreign,) = other.graph_module.graph.output_node().args[0][0].meta["val"].shape
    tracer = ExportPass.ExportTracer(ExportPass(), torch.fx.graph.CodeGen())
    with pytest.raises(ExportPassBaseError, match=r"symbolic size .* into the graph, but no earlier node computes it"):
        tracer.create_arg(foreign)


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (bool, "used in boolean context"),
        (int, "converted to int"),
        (operator.index, "used in index context"),
        (lambda value: [0, 1, 2][value], "used in index context"),
        (float, "converted to float"),
    ],
)
def test_a_pass_does_not_take_a_symbolic_number_for_that_of_the_example(convert: Any, message: str) -> None:
    """It would be the example's in each call of the program. Numbers that are known convert."""
    seen: list[ProxyValue] = []

    class Converts(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            if op is torch.ops.aten.sym_size.int:
                seen.append(super().call_operator(op, args, kwargs, meta))
                convert(seen[-1])
                return seen[-1]
            return super().call_operator(op, args, kwargs, meta)

    with pytest.raises(ExportPassBaseError, match=rf"the symbolic number s\d+ cannot be {message}"):
        changed(lambda sizes: [sizes[0] * sizes[1]]).transform([Converts()])
    assert len(seen) == 1
    assert convert(ProxyValue(1, seen[0].node)) == convert(1)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_pass_does_not_fix_the_sizes_of_an_input(allowed: bool) -> None:
    class Fixes(ExportPass):
        def placeholder(self, name, arg, meta):
            made = super().placeholder(name, arg, meta)
            made.node.meta["val"] = torch.empty(2, 3, device="meta")
            return made

        def should_preserve_symbolic_input_metadata(self):
            return super().should_preserve_symbolic_input_metadata() and not allowed

    graph_module = to_edge(export(Relu(), (X,), dynamic_shapes=({0: Dim("batch", max=9)},))).exported_program()
    if allowed:
        (x,) = Fixes()(graph_module.graph_module).graph_module.graph.find_nodes(op="placeholder")
        assert x.meta["val"].shape == (2, 3)
        return
    with pytest.raises(ExportPassBaseError, match=r"Input at position 0 did not preserve symbolic metadata.*0: s\d+"):
        Fixes()(graph_module.graph_module)
