# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveOrReplacePassInterface`: a pass that looks at one node after another."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.pass_base import ExportPass


class RemoveOrReplacePassInterface(ExportPass):
    """Calls `maybe_remove_or_replace` for each call of one of the operators `targets` whose result is used, in the
    branches of control flow too."""

    targets: ClassVar[tuple[Any, ...]] = ()

    @abstractmethod
    def maybe_remove_or_replace(self, node: Node) -> bool:
        """Edits the graph around a node. Returns whether it changed."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            changed = False
            for node in list(module.graph.nodes):
                if node.op == "call_function" and node.target in self.targets and node.users:
                    changed |= self.maybe_remove_or_replace(node)
            if changed:
                module.graph.eliminate_dead_code()
                module.recompile()
                modified = True
        return PassResult(graph_module, modified)

    @staticmethod
    def replace(node: Node, target: Any, args: tuple[Any, ...]) -> Node:
        """Replaces `node` by another call with the same result."""
        with node.graph.inserting_before(node):
            new = node.graph.call_function(target, args)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        node.graph.erase_node(node)
        return new
