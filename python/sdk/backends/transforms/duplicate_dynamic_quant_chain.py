# SPDX-License-Identifier: BSD-3-Clause
"""`DuplicateDynamicQuantChainPass`: gives each layer its own dynamic quantization of its input."""

from __future__ import annotations

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.backends.transforms.dynamic_quantization import dynamic_source


class DuplicateDynamicQuantChainPass(PassBase):
    """Gives each reader of a dynamic dequantize a choose_qparams, a quantize and a dequantize of its own, so that a
    partitioner can take one reader without the others."""

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
        for part in _chain(node):
            copied[part] = reader.graph.node_copy(part, lambda old: copied.get(old, old))
    return copied[node]


def _chain(node: Node) -> list[Node]:
    """From choose_qparams on, `node` last."""
    quantized = node.args[0]
    assert isinstance(quantized, Node)
    parameters = [part for part in quantized.all_input_nodes if part is not dynamic_source(node)]
    return [*dict.fromkeys(parameter.all_input_nodes[0] for parameter in parameters), *parameters, quantized, node]
