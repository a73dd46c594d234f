# SPDX-License-Identifier: BSD-3-Clause
"""Gives every user of a dequantize node its own copy of the node, so that partitions do not share one."""

from __future__ import annotations

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.pass_base import ExportPass

_DEQUANTIZE = (
    "quantized_decomposed::dequantize_per_tensor",
    "quantized_decomposed::dequantize_per_tensor.tensor",
    "quantized_decomposed::dequantize_per_channel",
    "quantized_decomposed::dequantize_per_token",
)


class DuplicateDequantNodePass(ExportPass):
    """Edits the graph in place."""

    def __init__(self) -> None:
        super().__init__()

    def call(self, mod: GraphModule) -> PassResult:
        modified = False
        for node in list(mod.graph.nodes):
            name = node.target.name() if node.op == "call_function" and hasattr(node.target, "name") else ""
            if not callable(getattr(node.target, "name", None)) or name not in _DEQUANTIZE:
                continue
            for user in list(node.users)[1:]:
                with mod.graph.inserting_after(node):
                    duplicate = mod.graph.node_copy(node)
                duplicate.meta = dict(node.meta)
                user.replace_input_with(node, duplicate)
                modified = True
        mod.recompile()
        return PassResult(mod, modified)
