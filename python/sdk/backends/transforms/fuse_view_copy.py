# SPDX-License-Identifier: BSD-3-Clause
"""`FuseViewCopyTransform`: keeps one of several views that have only elementwise operators between them."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.transforms.permutations import VIEW
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface
from sdk.exir.dialects._ops import ops as exir_ops

_OTHERS = (
    exir_ops.edge.aten.alias_copy.default,
    exir_ops.edge.aten.clone.default,
    exir_ops.edge.quantized_decomposed.quantize_per_tensor.default,
    exir_ops.edge.quantized_decomposed.dequantize_per_tensor.default,
)
"""Elementwise operators that PyTorch does not tag as pointwise."""


class FuseViewCopyTransform(RemoveOrReplacePassInterface):
    """`view -> abs -> view -> sqrt -> view` becomes `view -> abs -> sqrt`: the first view gets the shape of the last.

    Views stay if a tensor between them has another reader, or if the last shape is computed when the program runs.
    """

    targets = (VIEW,)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        shape = node.args[1]
        between: list[Node] = []
        source = node.args[0]
        while isinstance(source, Node) and len(source.users) == 1 and _is_elementwise(source):
            between.append(source)
            source = source.args[0]
        if not isinstance(source, Node) or source.target != VIEW or len(source.users) != 1:
            return False
        if not isinstance(shape, (list, tuple)) or any(isinstance(size, Node) for size in shape):
            return False
        source.update_arg(1, shape)
        for changed in (source, *between):
            changed.meta = {**changed.meta, "val": changed.meta["val"].new_empty(node.meta["val"].shape)}
        node.replace_all_uses_with(node.args[0])
        node.graph.erase_node(node)  # erased at once, because a remaining reader would keep later views
        return True


def _is_elementwise(node: Node) -> bool:
    """Whether a call computes each element from that of its first tensor at the same position, and from numbers."""
    if node.op != "call_function":
        return False
    others = [operand.meta.get("val") for operand in node.all_input_nodes if operand is not node.args[0]]
    if not all(isinstance(value, torch.Tensor) and value.dim() == 0 for value in others):
        return False
    op = getattr(node.target, "_op", node.target)
    is_pointwise = isinstance(op, torch._ops.OpOverload) and torch.Tag.pointwise in op.tags
    return is_pointwise or node.target in _OTHERS
