# SPDX-License-Identifier: BSD-3-Clause
"""`DecomposeMeanPass`: means over an image, before the annotation of a captured model."""

from __future__ import annotations

import torch
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cortex_m.passes.captured import insert_call
from sdk.exir.pass_base import ExportPass

_aten = torch.ops.aten


class DecomposeMeanPass(ExportPass):
    """Replaces `adaptive_avg_pool2d` with one result for each channel by `avg_pool2d`."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in graph_module.graph.find_nodes(op="call_function", target=_aten.adaptive_avg_pool2d.default):
            if list(node.args[1]) not in ([1, 1], [1]):
                continue
            size = list(node.args[0].meta["val"].shape[-2:])
            node.replace_all_uses_with(insert_call(node, _aten.avg_pool2d.default, node.args[0], size, size))
            graph_module.graph.erase_node(node)
            modified = True
        if modified:
            graph_module.recompile()
        return PassResult(graph_module, modified)
