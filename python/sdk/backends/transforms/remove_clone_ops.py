# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveCloneOpsTransform`: removes calls that return their input unchanged."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.graph.names import name_of
from sdk.exir.pass_base import ExportPass

_COPIES = (
    "aten.clone.default",
    "aten.alias_copy.default",
    "aten.lift_fresh_copy.default",
    "dim_order_ops._clone_dim_order.default",
)
_PAIRS = {
    f"quantized_decomposed.quantize_per_{how}": f"quantized_decomposed.dequantize_per_{how}"
    for how in ("tensor.default", "tensor.tensor", "channel.default")
}


class RemoveCloneOpsTransform(ExportPass):
    """Removes copies that keep the memory format.

    Args:
        preserve_input_output_copies: Whether a copy from an input directly to an output is kept.
        eliminate_quant_dequant_pairs: Whether a dequantize and a quantize with the same parameters are removed, too.
    """

    def __init__(self, preserve_input_output_copies: bool = False, eliminate_quant_dequant_pairs: bool = True) -> None:
        super().__init__()
        self.preserve_input_output_copies = preserve_input_output_copies
        self.eliminate_quant_dequant_pairs = eliminate_quant_dequant_pairs

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            if name_of(node) in _COPIES and not _changes_layout(node) and not self._is_kept(node):
                modified |= _replace(node, node.args[0])
        for node in list(graph_module.graph.nodes) if self.eliminate_quant_dequant_pairs else ():
            source = node.args[0] if node.op == "call_function" and node.args else None
            pair = _PAIRS.get(name_of(node))
            # A dequantize followed by a quantize with the same parameters returns the same integers.
            if isinstance(source, Node) and pair == name_of(source) and source.args[1:] == node.args[1:]:
                modified |= _replace(node, source.args[0])
        if modified:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, modified)

    def _is_kept(self, node: Node) -> bool:
        source = node.args[0]
        is_input = isinstance(source, Node) and source.op == "placeholder"
        return self.preserve_input_output_copies and is_input and any(user.op == "output" for user in node.users)


def _replace(node: Node, by: object) -> bool:
    assert isinstance(by, Node)
    node.replace_all_uses_with(by)
    node.graph.erase_node(node)
    return True


def _changes_layout(node: Node) -> bool:
    source = node.args[0]
    assert isinstance(source, Node)
    before, after = source.meta.get("val"), node.meta.get("val")
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        wanted = node.kwargs.get("memory_format", torch.preserve_format)
        return wanted not in (None, torch.preserve_format) or "dim_order" in node.kwargs
    return before.dim_order() != after.dim_order()
