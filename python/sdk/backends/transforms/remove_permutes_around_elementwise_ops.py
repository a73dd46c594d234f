# SPDX-License-Identifier: BSD-3-Clause
"""`RemovePermutesAroundElementwiseOps`: removes permutations before and after elementwise operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.transforms.permutations import permutation_of
from sdk.exir.pass_base import ExportPass
from sdk.exir.sym_util import are_same_sizes


@dataclass
class _Region:
    """Connected elementwise calls, the permutations that they read, and the permutations that read them."""

    calls: dict[Node, None] = field(default_factory=dict)
    before: dict[Node, None] = field(default_factory=dict)
    after: dict[Node, None] = field(default_factory=dict)


class RemovePermutesAroundElementwiseOps(ExportPass):
    """If all inputs of connected elementwise calls are permuted in the same way, and all their readers permute back,
    the pass removes these permutes and transposes. Calls that broadcast more than a number are not changed.

    Args:
        extra_permutable_ops: Elementwise operators in addition to those that PyTorch tags as pointwise.
    """

    def __init__(self, extra_permutable_ops: set[Any] | None = None) -> None:
        super().__init__()
        self.extra_permutable_ops = set(extra_permutable_ops or ())

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            dims = permutation_of(node) if node.op == "call_function" and node.users else None
            region = None if dims is None else self._region_after(node, dims)
            if region is not None and dims is not None:
                _remove(region, dims)
                modified = True
        if modified:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, modified)

    def is_node_permutable(self, node: Node) -> bool:
        """Whether a call computes each element of its result from the elements at the same position."""
        if node.op != "call_function" or not isinstance(node.meta.get("val"), torch.Tensor):
            return False
        op = getattr(node.target, "_op", node.target)
        is_pointwise = isinstance(op, torch._ops.OpOverload) and torch.Tag.pointwise in op.tags
        if not is_pointwise and node.target not in self.extra_permutable_ops:
            return False
        values = [operand.meta.get("val") for operand in node.all_input_nodes if not _is_number(operand)]
        return all(isinstance(v, torch.Tensor) and are_same_sizes(v.shape, node.meta["val"].shape) for v in values)

    def _region_after(self, permute: Node, dims: list[int]) -> _Region | None:
        region, pending = _Region(before={permute: None}), list(permute.users)
        back = _inverse(dims)
        while pending:
            node = pending.pop()
            if node in region.calls:
                continue
            if not self.is_node_permutable(node):
                return None
            region.calls[node] = None
            for operand in node.all_input_nodes:
                if permutation_of(operand) == dims and operand.op == "call_function":
                    if operand not in region.before:
                        region.before[operand] = None
                elif operand not in region.calls and not _is_number(operand):
                    pending.append(operand)  # it must be such a call, too
            for user in node.users:
                if user.op == "call_function" and permutation_of(user) == back:
                    region.after[user] = None
                elif user not in region.calls:
                    pending.append(user)
        return region if region.after else None


def _is_number(node: Node) -> bool:
    """Whether a tensor has no dimensions, so that no permutation applies to it."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dim() == 0


def _inverse(dims: list[int]) -> list[int]:
    return [dims.index(dim) for dim in range(len(dims))]


def _remove(region: _Region, dims: list[int]) -> None:
    back = _inverse(dims)
    for call in region.calls:
        call.meta["val"] = call.meta["val"].permute(back)
        for operand in call.all_input_nodes:
            if operand in region.before:
                call.replace_input_with(operand, operand.args[0])
    for permute in region.after:
        permute.replace_all_uses_with(permute.args[0])
