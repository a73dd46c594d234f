# SPDX-License-Identifier: BSD-3-Clause
"""Passes that give calls a simpler form."""

from __future__ import annotations

from typing import Any, ClassVar

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cadence.aot.node_pass import dim_of, dtype_of, insert, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.cadence.aot.remove_ops import CopyPass
from sdk.backends.cadence.aot.utils import rebind
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.pass_base import ExportPass

_aten = exir_ops.edge.aten
_WITH_DEFAULTS = (_aten.max_pool2d_with_indices.default, _aten.avg_pool2d.default, _aten.slice_copy.Tensor)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class SimplifySliceOpPass(CopyPass):
    """Gives slices bounds from 0 to the size. Replaces empty slices by constants, and removes writes to them."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor, _aten.slice_scatter.default)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node.args[0])
        dim = dim_of(get_arg(node, "dim"), len(sizes))
        given = [get_arg(node, name) for name in ("start", "end", "step")]
        if not isinstance(sizes[dim], int) or not all(each is None or isinstance(each, int) for each in given):
            return None
        start, end, _ = slice(given[0], given[1]).indices(sizes[dim])
        reads = node.target == _aten.slice_copy.Tensor
        if start >= end:
            if not reads:
                base = node.args[0]
                assert isinstance(base, Node)
                return self.source_or_clone(node, base)
            return insert(node, _aten.full.default, shape(node), 0, dtype=dtype_of(node))
        operands = node.args[: 1 if reads else 2]
        args = (*operands, dim, start, max(start, end), given[2])
        if (node.args, node.kwargs) != (args, {}):
            node.args, node.kwargs = args, {}
        return None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class BindOptionalArgsPass(ExportPass):
    """Adds default values of the schema to calls, so that passes find every argument by its position."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for module in graph_module.modules():
            for node in module.graph.nodes if isinstance(module, GraphModule) else ():
                if node.op != "call_function" or not isinstance(node.target, EdgeOpOverload):
                    continue
                bound = rebind(node.target, node.args, node.kwargs)
                if bound is not None and bound != (node.args, node.kwargs):
                    node.args, node.kwargs = bound
                    changed = True
            if isinstance(module, GraphModule):
                module.recompile()
        return PassResult(graph_module, changed)


class CadenceSimplifyOpsInGraph:
    """The passes of this file, without `BindOptionalArgsPass`."""

    passes: ClassVar[list[Any]] = [SimplifySliceOpPass]
