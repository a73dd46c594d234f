# SPDX-License-Identifier: BSD-3-Clause
"""`MatmulToBmmPass`: `matmul` becomes `bmm` before the annotation of a captured model."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cortex_m.passes.captured import insert_call
from sdk.exir.pass_base import ExportPass

_aten = torch.ops.aten


class MatmulToBmmPass(ExportPass):
    """Replaces `matmul` with the same number of matrices on both sides by `bmm`, with the other dimensions joined to
    one."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in graph_module.graph.find_nodes(op="call_function", target=_aten.matmul.default):
            first, second = (list(operand.meta["val"].shape) for operand in node.args[:2])
            if len(first) >= 3 and first[:-2] == second[:-2]:
                node.replace_all_uses_with(_product(node, first, second))
                graph_module.graph.erase_node(node)
                modified = True
        if modified:
            graph_module.recompile()
        return PassResult(graph_module, modified)


def _product(node: Node, first: list[int], second: list[int]) -> Node:
    if len(first) == 3:
        return insert_call(node, _aten.bmm.default, *node.args[:2])
    operands = (
        insert_call(node, _aten.reshape.default, operand, [-1, *sizes[-2:]])
        for operand, sizes in zip(node.args[:2], (first, second), strict=True)
    )
    product = insert_call(node, _aten.bmm.default, *operands)
    return insert_call(node, _aten.reshape.default, product, [*first[:-1], second[-1]])
