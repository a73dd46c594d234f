# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic, comparisons and bitwise operations with two operands; the second may be a number. Operands of different
dtypes are converted to the common one first, because MPSGraph does not convert them."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, is_exact, register_node_visitor, shape_of
from sdk.backends.apple.mps.serialization import nodes as n
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.mps_data_type import edge_dtype_to_mps_dtype
from sdk.backends.apple.mps.serialization.shape_nodes import MPSCast
from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.shapes import dtype_of

_ARITHMETIC: dict[str, type[n.MPSNode2x1]] = {
    "aten.add.Tensor": n.MPSAdd,
    "aten.add.Scalar": n.MPSAdd,
    "aten.sub.Tensor": n.MPSSub,
    "aten.sub.Scalar": n.MPSSub,
    "aten.mul.Tensor": n.MPSMul,
    "aten.mul.Scalar": n.MPSMul,
    "aten.pow.Tensor_Tensor": n.MPSPow,
    "aten.pow.Tensor_Scalar": n.MPSPow,
    "aten.minimum.default": n.MPSMinimum,
}
_DIVISION: dict[str, type[n.MPSDivNode2x1]] = {
    "aten.div.Tensor": n.MPSDiv,
    "aten.div.Tensor_mode": n.MPSDiv,
    "aten.floor_divide.default": n.MPSDiv,
    "aten.fmod.Tensor": n.MPSFmod,
    "aten.fmod.Scalar": n.MPSFmod,
    "aten.remainder.Tensor": n.MPSRemainder,
    "aten.remainder.Scalar": n.MPSRemainder,
}
_BITS: dict[str, type[n.MPSNode2x1]] = {
    f"aten.{name}.{overload}": operation
    for name, operation in (
        ("bitwise_and", n.MPSBitwiseAnd),
        ("bitwise_or", n.MPSBitwiseOr),
        ("bitwise_xor", n.MPSBitwiseXor),
    )
    for overload in ("Tensor", "Scalar")
}
_COMPARISONS: dict[str, type[n.MPSNode2x1]] = {
    f"aten.{name}.{overload}": operation
    for name, operation in (
        ("eq", n.MPSEq), ("ne", n.MPSNe), ("ge", n.MPSGe), ("gt", n.MPSGt), ("le", n.MPSLe), ("lt", n.MPSLt),
    )
    for overload in ("Tensor", "Scalar")
}  # fmt: skip


@register_node_visitor
class BinaryOpVisitor(NodeVisitor):
    """Sums, products, powers, minima and operations on bits."""

    target = (*_ARITHMETIC, *_BITS)

    def refusal(self, node: Node) -> str | None:
        name, dtype = name_of(node), dtype_of(node)
        if name in _BITS:
            return None
        if dtype == torch.bool:
            return "MPS has no arithmetic of bool"
        if ".pow." in name and dtype not in FLOATS:
            return "MPS computes powers of floats"
        alpha = arguments_of(node).get("alpha", 1)
        return None if is_exact(alpha) else f"alpha {alpha} is not a number of float32"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        name = name_of(node)
        dtype = self.stored(dtype_of(node))
        left, right = (self.operand(operand, dtype, mps_graph) for operand in node.args[:2])
        operation = {**_ARITHMETIC, **_BITS}[name](left, right, self.define_tensor(node, mps_graph))
        if isinstance(operation, (n.MPSAdd, n.MPSSub)):
            operation.alpha = float(arguments_of(node).get("alpha", 1))
        self.add(operation, mps_graph)


@register_node_visitor
class DivisionVisitor(NodeVisitor):
    """Divisions and remainders of floats. A quotient that is rounded to an integer is computed in float32, because in
    float16 it may already be another integer."""

    target = tuple(_DIVISION)

    def refusal(self, node: Node) -> str | None:
        if dtype_of(node) not in FLOATS:
            return "MPS divides floats, which would round large integers"
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        name = name_of(node)
        mode = "floor" if name == "aten.floor_divide.default" else arguments_of(node).get("rounding_mode")
        kind = _DIVISION[name]
        result = self.stored(dtype_of(node))
        rounds = mode is not None or kind is not n.MPSDiv
        dtype = torch.float32 if rounds and result == torch.float16 else result
        left, right = (self.operand(operand, dtype, mps_graph) for operand in node.args[:2])
        if dtype == result:
            self.add(kind(left, right, self.define_tensor(node, mps_graph), mode), mps_graph)
            return
        wide = self.define_value(dtype, shape_of(node), mps_graph)
        self.add(kind(left, right, wide, mode), mps_graph)
        self.add(MPSCast(wide, self.define_tensor(node, mps_graph), edge_dtype_to_mps_dtype(result)), mps_graph)


@register_node_visitor
class ComparisonVisitor(NodeVisitor):
    """Comparisons. bool is compared as the integers 0 and 1."""

    target = tuple(_COMPARISONS)

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        name = name_of(node)
        dtype = self._common(node.args[0], node.args[1], name)
        left, right = (self.operand(operand, dtype, mps_graph) for operand in node.args[:2])
        self.add(_COMPARISONS[name](left, right, self.define_tensor(node, mps_graph)), mps_graph)

    def _common(self, left: Any, right: Any, name: str) -> torch.dtype:
        operands = [operand.meta["val"] if isinstance(operand, Node) else operand for operand in (left, right)]
        common = torch.result_type(*operands)
        if common == torch.bool and name.split(".")[1] not in ("eq", "ne"):
            return torch.int32
        # Integers that are compared are not rounded to float16.
        floats = all(not isinstance(value, torch.Tensor) or value.dtype in FLOATS for value in operands)
        return self.stored(common) if floats else common
