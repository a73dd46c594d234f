# SPDX-License-Identifier: BSD-3-Clause
"""Passes that put symbolic sizes into the arguments of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim, export

from sdk.exir import EdgeProgramManager, to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass, ExportPassBaseError
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
