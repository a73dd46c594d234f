# SPDX-License-Identifier: BSD-3-Clause
"""Passes for calls with constant operands: numbers become tensors, or tensors become numbers; `where` is simplified."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.backends.cadence.aot.node_pass import (
    NodePass,
    constant_of,
    dtype_of,
    insert,
    is_call,
    same_shape,
    shape,
    value,
)
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, register_cadence_pass
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_FULL = _aten.full.default


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceLogicalNotBooleanWhereWithWherePass(NodePass):
    """Replaces where(not c, a, b) by where(c, b, a)."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.where.self,)

    def rewrite(self, node: Node) -> Node | None:
        condition, first, second = node.args
        if not isinstance(condition, Node) or not is_call(condition, _aten.logical_not.default):
            return None
        if dtype_of(condition.args[0]) != torch.bool:
            return None
        return insert(node, _aten.where.self, condition.args[0], second, first)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceMulTensorWithMulAndFullOpsPass(PassBase):
    """Replaces the number in a multiplication by a constant tensor. Runs before the lowering to the edge dialect."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor):
            for at, number in enumerate(node.args[:2]):
                if isinstance(number, (bool, int, float)) and "val" in node.meta:
                    self._replace(graph_module, node, at, number)
                    changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)

    @staticmethod
    def _replace(graph_module: GraphModule, node: Node, at: int, number: Any) -> None:
        other = node.args[1 - at]
        result = value(node)
        dtype = result.dtype if isinstance(other, Node) and value(other).dtype == result.dtype else None
        kwargs = {} if dtype is None else {"dtype": dtype}
        with graph_module.graph.inserting_before(node):
            full = graph_module.graph.call_function(torch.ops.aten.full.default, ([1], number), kwargs)
        mode = getattr(result, "fake_mode", None)
        if mode is not None:
            with mode:
                full.meta["val"] = torch.full([1], number, **kwargs)
        if isinstance(other, Node) and value(other).dim() == 0:
            full.args = ([], number)
            if mode is not None:
                with mode:
                    full.meta["val"] = torch.full([], number, **kwargs)
        node.update_arg(at, full)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceScalarTensorWithFullPass(NodePass):
    """Replaces scalar_tensor by full."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.scalar_tensor.default,)

    def rewrite(self, node: Node) -> Node | None:
        return insert(node, _FULL, [], node.args[0], dtype=dtype_of(node))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceFullLikeWithFullPass(NodePass):
    """Replaces full_like by full."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.full_like.default,)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node)
        if not all(isinstance(size, int) for size in sizes):
            return None
        return insert(node, _FULL, sizes, node.args[1], dtype=dtype_of(node))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceInfArgInFullWithValuePass(NodePass):
    """Replaces infinities in constants by the largest finite numbers of their dtype, because some processors have no
    infinities."""

    targets: ClassVar[tuple[Any, ...]] = (_FULL,)

    def rewrite(self, node: Node) -> Node | None:
        number, dtype = node.args[1], dtype_of(node)
        if number not in (float("inf"), -float("inf")) or not dtype.is_floating_point:
            return None
        most = torch.finfo(dtype).max
        return insert(node, _FULL, node.args[0], most if number > 0 else -most, **node.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceEmptyTensorsWithFullPass(NodePass):
    """Replaces slices without elements by an empty constant."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node)
        if 0 not in sizes or not all(isinstance(size, int) for size in sizes):
            return None
        return insert(node, _FULL, sizes, 0, dtype=dtype_of(node))


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceWhereWithFullArgsWithWhereScalar(NodePass):
    """Replaces `where` with two constants and a float32 result of the condition's shape by `cadence::where_Scalar`."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.where.self,)

    def rewrite(self, node: Node) -> Node | None:
        numbers = [constant_of(each, _FULL) for each in node.args[1:3]]
        if None in numbers or not isinstance(node.args[0], Node) or not same_shape(node.args[0], node):
            return None
        if dtype_of(node) != torch.float32:
            return None
        return insert(node, _cadence.where_Scalar.default, node.args[0], *(float(each or 0) for each in numbers))


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplacePowWithMulPass(NodePass):
    """Replaces powers with the exponents 2 to 4 by multiplications."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.pow.Tensor_Scalar,)

    def rewrite(self, node: Node) -> Node | None:
        source, exponent = node.args
        if exponent not in (2, 3, 4) or dtype_of(node) != dtype_of(source):
            return None
        found = insert(node, _aten.mul.Tensor, source, source)
        for _ in range(int(exponent) - 2):
            found = insert(node, _aten.mul.Tensor, found, source)
        return found
