# SPDX-License-Identifier: BSD-3-Clause
"""`DuplicateDynamicQuantChainPass`: gives each layer its own dynamic quantization of its input."""

from __future__ import annotations

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.backends.graph.quantized import dynamic_chain, dynamic_source


class DuplicateDynamicQuantChainPass(PassBase):
    """Gives each reader of a dynamic dequantize its own choose_qparams, quantize and dequantize, so that a partitioner
    can take one reader without the others."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            if dynamic_source(node) is None:
                continue
            for reader in list(node.users)[1:]:
                reader.replace_input_with(node, _copied_before(reader, node))
                modified = True
        if modified:
            graph_module.recompile()
        return PassResult(graph_module, modified)


def _copied_before(reader: Node, node: Node) -> Node:
    copied: dict[Node, Node] = {}
    with reader.graph.inserting_before(reader):
        for part in dynamic_chain(node):
            copied[part] = reader.graph.node_copy(part, lambda old: copied.get(old, old))
    return copied[node]
