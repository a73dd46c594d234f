# SPDX-License-Identifier: BSD-3-Clause
"""`ExportPass` goes into the bodies of loops."""

from __future__ import annotations

import pytest
import torch
from torch.export import export
from torch.fx import GraphModule

from sdk.exir import to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

edge = exir_ops.edge.aten
X = (torch.arange(12, dtype=torch.float32).reshape(3, 4) + 1,)


class While(torch.nn.Module):
    def forward(self, x):
        offset = x.sum(0)

        def body(n, y):
            return n + 1, y + offset

        n, y = torch._higher_order_ops.while_loop(lambda n, y: n < 3, body, (torch.tensor(0), x))
        return n, y + 1


class Scan(torch.nn.Module):
    def forward(self, x):
        scale = x.sum(0)

        def combine(carry, row):
            return carry + row * scale, carry + 1

        return torch._higher_order_ops.scan(combine, torch.zeros(4), x)


class Map(torch.nn.Module):
    def forward(self, x):
        return torch._higher_order_ops.map(lambda row, offset: row + offset, x, x.sum(0))


class AddIsSub(ExportPass):
    """Replaces additions of floats: x + y becomes x - y."""

    def call_operator(self, op, args, kwargs, meta):
        is_float = meta["val"].dtype.is_floating_point if "val" in meta else False
        return super().call_operator(edge.sub.Tensor if op is edge.add.Tensor and is_float else op, args, kwargs, meta)


class Expected(torch.nn.Module):
    """Computes the model with x - y instead of x + y."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x):
        if isinstance(self.model, While):
            return torch.tensor(3), x - 3 * x.sum(0) - 1
        if isinstance(self.model, Map):
            return x - x.sum(0)
        carry, rows = torch.zeros(4), []
        for row in x:
            carry, before = carry - row * x.sum(0), carry - 1
            rows.append(before)
        return carry, torch.stack(rows)


@pytest.mark.parametrize("model", [While(), Scan(), Map()], ids=lambda model: type(model).__name__)
def test_bodies_are_changed(model: torch.nn.Module) -> None:
    changed = to_edge(export(model, X)).transform([AddIsSub()])
    program = changed.exported_program()
    left = [
        node
        for module in program.graph_module.modules()
        if isinstance(module, GraphModule)
        for node in module.graph.nodes
        if node.target is edge.add.Tensor and node.meta["val"].dtype.is_floating_point
    ]
    assert left == []
    torch.testing.assert_close(program.module()(*X), Expected(model)(*X))
    assert changed.to_executorch().buffer


@pytest.mark.parametrize("model", [While(), Scan(), Map()], ids=lambda model: type(model).__name__)
def test_a_pass_that_changes_nothing(model: torch.nn.Module) -> None:
    program = to_edge(export(model, X)).transform([ExportPass()]).exported_program()
    torch.testing.assert_close(program.module()(*X), model(*X))
