# SPDX-License-Identifier: BSD-3-Clause
"""`AddmmToLinearTransform`: restores the linear layers that the exporter has decomposed."""

from __future__ import annotations

from typing import Any

from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass
from sdk.exir.sym_util import are_same_sizes

_aten = exir_ops.edge.aten
_VIEW, _LINEAR = _aten.view_copy.default, _aten.linear.default


def replace_addmm_mm_with_linear(graph: Graph) -> Graph:
    """`addmm(bias, x, w)` and `mm(x, w)` become `linear(x, w.T, bias)`, where `w` is the transpose of a node. Edits and
    returns `graph`."""
    for node in list(graph.nodes):
        if node.target == _aten.addmm.default and node.kwargs.get("beta", 1) == node.kwargs.get("alpha", 1) == 1:
            bias, source, weight = node.args
            if len(bias.meta["val"].shape) != 1:
                continue
        elif node.target == _aten.mm.default:
            (source, weight), bias = node.args, None
        else:
            continue
        turned = _transposed(weight)
        if turned is None:
            continue
        with graph.inserting_before(node):
            linear = graph.call_function(_LINEAR, (source, turned, *(() if bias is None else (bias,))))
        linear.meta = dict(node.meta)
        node.replace_all_uses_with(linear)
        graph.erase_node(node)
    graph.eliminate_dead_code()
    return graph


def replace_linear_view_copy_input_output(graph: Graph) -> Graph:
    """Removes the view that flattens the input of a linear layer, with the view that restores the dimensions of the
    result, because the layer takes more dimensions. Edits and returns `graph`.
    """
    for node in list(graph.nodes):
        if node.target != _LINEAR or len(node.users) != 1:
            continue
        before, after = node.args[0], next(iter(node.users))
        if before.target != _VIEW or after.target != _VIEW:
            continue
        source = before.args[0]
        shape = tuple(source.meta["val"].shape)
        fits = len(shape) > 1 and are_same_sizes(shape[-1:], before.meta["val"].shape[-1:])
        if not fits or tuple(after.meta["val"].shape) != (*shape[:-1], node.meta["val"].shape[-1]):
            continue
        node.replace_input_with(before, source)
        node.meta["val"] = after.meta["val"]
        after.replace_all_uses_with(node)
        graph.erase_node(after)
    graph.eliminate_dead_code()
    return graph


def apply_addmm_mm_to_linear_transform(graph: Graph) -> Graph:
    """Applies both transforms above."""
    return replace_linear_view_copy_input_output(replace_addmm_mm_with_linear(graph))


class AddmmToLinearTransform(ExportPass):
    """`apply_addmm_mm_to_linear_transform` as a pass."""

    def call(self, graph_module: GraphModule) -> PassResult:
        before = len(graph_module.graph.nodes)
        apply_addmm_mm_to_linear_transform(graph_module.graph)
        graph_module.recompile()
        return PassResult(graph_module, len(graph_module.graph.nodes) != before)


def _transposed(weight: Any) -> Node | None:
    """The matrix that a node transposes."""
    if not isinstance(weight, Node) or not weight.args:
        return None
    is_turned = weight.target == _aten.t_copy.default
    is_turned |= weight.target == _aten.permute_copy.default and list(weight.args[1]) in ([1, 0], [-1, -2])
    is_turned |= weight.target == _aten.transpose_copy.int and sorted(dim % 2 for dim in weight.args[1:3]) == [0, 1]
    return weight.args[0] if is_turned else None
