# SPDX-License-Identifier: BSD-3-Clause
"""Functions of single elements."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, register_node_visitor
from sdk.backends.apple.mps.serialization import nodes as n
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.graph.names import name_of
from sdk.backends.graph.shapes import dtype_of

_FLOAT_RESULT: dict[str, type[n.MPSNode1x1]] = {
    "exp": n.MPSExp, "exp2": n.MPSExp2, "reciprocal": n.MPSReciprocal, "sqrt": n.MPSSqrt, "log": n.MPSLog,
    "log10": n.MPSLog10, "log2": n.MPSLog2, "erf": n.MPSErf, "rsqrt": n.MPSRsqrt, "sigmoid": n.MPSSigmoid,
    "sin": n.MPSSin, "cos": n.MPSCos, "tan": n.MPSTan, "asin": n.MPSAsin, "acos": n.MPSAcos, "atan": n.MPSAtan,
    "sinh": n.MPSSinh, "cosh": n.MPSCosh, "tanh": n.MPSTanh, "asinh": n.MPSAsinh, "acosh": n.MPSAcosh,
    "atanh": n.MPSAtanh,
}  # fmt: skip
_SAME_RESULT: dict[str, type[n.MPSNode1x1]] = {"neg": n.MPSNeg, "abs": n.MPSAbs, "sign": n.MPSSign}
_ROUNDING: dict[str, type[n.MPSNode1x1]] = {"floor": n.MPSFloor, "ceil": n.MPSCeil, "round": n.MPSRound}
_TESTS: dict[str, type[n.MPSNode1x1]] = {"isnan": n.MPSIsnan, "isinf": n.MPSIsinf}


@register_node_visitor
class UnaryOpVisitor(NodeVisitor):
    """Functions of one operand. Integers are converted to floats if the result is a float."""

    target = tuple(f"aten.{name}.default" for name in (*_FLOAT_RESULT, *_SAME_RESULT, *_ROUNDING, *_TESTS))

    def refusal(self, node: Node) -> str | None:
        if _name(node) in _SAME_RESULT and dtype_of(node) == torch.bool:
            return "MPS has no arithmetic of bool"
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        name, operand = _name(node), node.args[0]
        assert isinstance(operand, Node)
        if name in _ROUNDING and dtype_of(node) not in FLOATS:
            self.tensor_to_id[node] = self.define_tensor(operand, mps_graph)  # integers need no rounding
            return
        if name in _TESTS:
            dtype = self.stored(dtype_of(operand) if dtype_of(operand) in FLOATS else torch.float32)
        else:
            dtype = self.stored(dtype_of(node))
        operation = {**_FLOAT_RESULT, **_SAME_RESULT, **_ROUNDING, **_TESTS}[name]
        value = self.operand(operand, dtype, mps_graph)
        self.add(operation(value, self.define_tensor(node, mps_graph)), mps_graph)


@register_node_visitor
class NotVisitor(NodeVisitor):
    """Bitwise and logical negation. Numbers other than zero are true."""

    target = ("aten.bitwise_not.default", "aten.logical_not.default")

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        operand = node.args[0]
        assert isinstance(operand, Node)
        dtype = self.stored(dtype_of(operand))
        value = self.define_tensor(operand, mps_graph)
        if _name(node) == "bitwise_not":
            self.add(n.MPSBitwiseNot(value, self.define_tensor(node, mps_graph)), mps_graph)
        elif dtype == torch.bool:
            self.add(n.MPSLogicalNot(value, self.define_tensor(node, mps_graph)), mps_graph)
        else:
            zero = self.operand(0, dtype, mps_graph)
            self.add(n.MPSEq(value, zero, self.define_tensor(node, mps_graph)), mps_graph)


def _name(node: Node) -> str:
    return name_of(node).split(".")[1]
