# SPDX-License-Identifier: BSD-3-Clause
"""`RemovePermutesAroundElementwiseOps`: removes permutations before and after elementwise operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.transforms.permutations import VIEW, aten, extra_one, permutation_of, shape_of
from sdk.exir.pass_base import ExportPass
from sdk.exir.sym_util import are_same_sizes

_VIEWS = (VIEW, aten.unsqueeze_copy.default, aten.squeeze_copy.dim, aten.squeeze_copy.dims)
_REDUCTIONS = (aten.mean.dim, aten.sum.dim_IntList)
_ALONG = (*_REDUCTIONS, aten.cat.default, aten.slice_copy.Tensor)
"""Operators that have dimensions as their second argument."""


@dataclass
class _Call:
    """The permutations of the operands and the result of a call in a region. A permutation lists, for each dimension,
    the corresponding dimension of the tensor without permutations."""

    operands: list[int]
    result: list[int]


@dataclass
class _Region:
    """Connected calls, the permutations that they read, and the permutations that read them."""

    calls: dict[Node, _Call] = field(default_factory=dict)
    before: dict[Node, None] = field(default_factory=dict)
    after: dict[Node, None] = field(default_factory=dict)


class RemovePermutesAroundElementwiseOps(ExportPass):
    """If all inputs of connected elementwise calls are permuted in the same way, and all their readers permute back,
    the pass removes these permutes and transposes. Concatenations, slices, means and sums that keep the dimension, and
    views that add or remove a dimension of size 1, may be among the calls. Calls that broadcast tensors with fewer
    dimensions, other than a number, are not changed.

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
            if dims is None:
                continue
            for user in list(node.users):
                # Only some users may be in regions that can be changed; the others keep this permutation.
                region = self._region_after(node, user, dims) if user in node.users else None
                if region is not None:
                    _remove(region)
                    modified = True
        if modified:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, modified)

    def is_node_permutable(self, node: Node) -> bool:
        """Whether a call computes each element of its result from the elements at the same position, or along
        dimensions that it names."""
        if node.op != "call_function" or not isinstance(node.meta.get("val"), torch.Tensor):
            return False
        if node.target in _REDUCTIONS:
            return bool(node.args[1:2] and node.args[1]) and node.args[2:3] == (True,)
        if node.target in _ALONG or _is_view_of_one(node):
            return True
        op = getattr(node.target, "_op", node.target)
        is_pointwise = isinstance(op, torch._ops.OpOverload) and torch.Tag.pointwise in op.tags
        if not is_pointwise and node.target not in self.extra_permutable_ops:
            return False
        values = [operand.meta.get("val") for operand in node.all_input_nodes if not _is_number(operand)]
        return all(isinstance(v, torch.Tensor) and _is_spread(v, node.meta["val"]) for v in values)

    def _region_after(self, permute: Node, user: Node, dims: list[int]) -> _Region | None:
        region, pending = _Region(before={permute: None}), [(user, dims)]
        while pending:
            node, own = pending.pop()
            if node in region.calls:
                if region.calls[node].operands != own:
                    return None
                continue
            if not self.is_node_permutable(node):
                return None
            result = _dims_after(node, own)
            region.calls[node] = _Call(own, result)
            for operand in node.all_input_nodes:
                if permutation_of(operand) == own and operand.op == "call_function":
                    region.before[operand] = None
                elif operand in region.calls:
                    if region.calls[operand].result != own:
                        return None
                elif not _is_number(operand):
                    pending.append((operand, _dims_before(operand, own)))  # it must be a call of the region, too
            for user in node.users:
                if user.op == "call_function" and permutation_of(user) == _inverse(result):
                    region.after[user] = None
                else:
                    pending.append((user, result))
        return region if region.after else None


def _is_number(node: Node) -> bool:
    """Whether a tensor has rank 0, so that permutations do not apply to it."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dim() == 0


def _is_spread(operand: torch.Tensor, result: torch.Tensor) -> bool:
    """Whether an operand has the rank of the result, and is equal in size or broadcast along each dimension."""
    return operand.dim() == result.dim() and all(
        (isinstance(size, int) and size == 1) or are_same_sizes([size], [whole])
        for size, whole in zip(operand.shape, result.shape, strict=True)
    )


def _is_view_of_one(node: Node) -> bool:
    """Whether a call adds or removes a dimension of size 1, and all sizes are known."""
    if node.target not in _VIEWS or not all(isinstance(size, int) for size in shape_of(node)):
        return False
    before, after = shape_of(node.args[0]), shape_of(node)
    return extra_one(before, after) is not None or extra_one(after, before) is not None


def _without(dims: list[int], position: int) -> list[int]:
    removed = dims[position]
    return [dim - (dim > removed) for dim in dims if dim != removed]


def _with(dims: list[int], position: int) -> list[int]:
    """`dims` with a new dimension at `position` that is not permuted."""
    moved = [dim + (dim >= position) for dim in dims]
    return [*moved[:position], position, *moved[position:]]


def _dims_after(node: Node, dims: list[int]) -> list[int]:
    """Returns the permutation of a result for a permutation of the operands."""
    if not _is_view_of_one(node):
        return dims
    before, after = shape_of(node.args[0]), shape_of(node)
    gone = extra_one(before, after)
    return _with(dims, extra_one(after, before) or 0) if gone is None else _without(dims, gone)


def _dims_before(node: Node, dims: list[int]) -> list[int]:
    """Returns the permutation of the operands for a permutation of a result."""
    if node.op != "call_function" or not _is_view_of_one(node):
        return dims
    before, after = shape_of(node.args[0]), shape_of(node)
    gone = extra_one(before, after)
    return _without(dims, extra_one(after, before) or 0) if gone is None else _with(dims, gone)


def _inverse(dims: list[int]) -> list[int]:
    return [dims.index(dim) for dim in range(len(dims))]


def _remove(region: _Region) -> None:
    views = {node for node in region.calls if _is_view_of_one(node)}
    for node, call in region.calls.items():
        node.meta["val"] = node.meta["val"].permute(_inverse(call.result))
        if node in views:
            node.target, node.args, node.kwargs = VIEW, (node.args[0], shape_of(node)), {}
        elif node.target in _ALONG:
            given = node.args[1] if len(node.args) > 1 else 0
            named = [call.operands[dim] for dim in (given if isinstance(given, (list, tuple)) else [given])]
            node.args = (node.args[0], named if node.target in _REDUCTIONS else named[0], *node.args[2:])
        for operand in node.all_input_nodes:
            if operand in region.before:
                node.replace_input_with(operand, operand.args[0])
    for permute in region.after:
        permute.replace_all_uses_with(permute.args[0])
