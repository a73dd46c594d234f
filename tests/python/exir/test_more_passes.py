# SPDX-License-Identifier: BSD-3-Clause
"""Passes over constants, and device copies."""

from __future__ import annotations

import torch
from torch.export import export

from sdk.exir import to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.passes._device_copy_ops_registry import lib as device_copies  # noqa: F401  (registers the operators)
from sdk.exir.passes.const_prop_pass import ConstPropPass
from sdk.exir.passes.convert_constant_dim_order_pass import convert_constant_dim_order_pass


def test_weights_become_contiguous():
    """Channels-last weights keep their values."""
    model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last).eval()
    args = (torch.randn(1, 3, 8, 8),)
    program = to_edge(export(model, args)).exported_program()
    assert not program.state_dict["weight"].is_contiguous()
    dense = convert_constant_dim_order_pass(program)
    assert dense.state_dict["weight"].is_contiguous()
    assert isinstance(dense.state_dict["weight"], torch.nn.Parameter)
    weight = next(n for n in dense.graph.nodes if n.name == "p_weight")
    assert weight.meta["val"].is_contiguous()
    assert not program.state_dict["weight"].is_contiguous()
    torch.testing.assert_close(dense.module()(*args), model(*args))


def test_constants_in_a_graph_module():
    """A sum of attributes is computed ahead of time."""
    mode = torch._subclasses.FakeTensorMode()
    root, graph = torch.nn.Module(), torch.fx.Graph()
    root.register_buffer("scale", torch.tensor([2.0, 3.0]))
    x, scale = graph.placeholder("x"), graph.get_attr("scale")
    total = graph.call_function(exir_ops.edge.aten.add.Tensor, (scale, scale))
    result = graph.call_function(exir_ops.edge.aten.mul.Tensor, (x, total))
    graph.output((result,))
    for node in (x, scale, total, result):
        node.meta["val"] = mode.from_tensor(torch.ones(2))
    folded = ConstPropPass()(torch.fx.GraphModule(root, graph)).graph_module
    assert [n.target for n in folded.graph.nodes if n.op == "call_function"] == [exir_ops.edge.aten.mul.Tensor]
    assert folded(torch.tensor([1.0, 10.0]))[0].tolist() == [4.0, 60.0]


def test_device_copies():
    """Copies are new memory with the same values."""
    x = torch.arange(4.0)
    for name in ("_h2d_copy", "_d2h_copy"):
        op = getattr(torch.ops.et_copy, name)
        copy = op.default(x)
        assert copy.tolist() == x.tolist() and copy.data_ptr() != x.data_ptr()
        out = torch.empty(0)
        assert op.out(x, out=out) is out and out.tolist() == x.tolist()
        assert getattr(exir_ops.edge.et_copy, name).default.to_out_variant() is op.out
