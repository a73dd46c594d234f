# SPDX-License-Identifier: BSD-3-Clause
"""Activations."""

from __future__ import annotations

import math

from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, register_node_visitor, shape_of, wrapped
from sdk.backends.apple.mps.serialization import nodes as n
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.shapes import dtype_of

_NOT_A_FLOAT = "MPS has this activation for floats"


@register_node_visitor
class ActivationVisitor(NodeVisitor):
    """hardtanh, relu, leaky_relu and gelu."""

    target = ("aten.hardtanh.default", "aten.relu.default", "aten.leaky_relu.default", "aten.gelu.default")

    def refusal(self, node: Node) -> str | None:
        return None if dtype_of(node) in FLOATS else _NOT_A_FLOAT

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        name = name_of(node)
        value = self.define_tensor(given["self"], mps_graph)
        if name == "aten.gelu.default" and given["approximate"] == "tanh":
            self._gelu_tanh(value, node, mps_graph)
            return
        result = self.define_tensor(node, mps_graph)
        operation: n.MPSNode1x1
        if name == "aten.hardtanh.default":
            operation = n.MPSHardTanh(value, result, float(given["min_val"]), float(given["max_val"]))
        elif name == "aten.leaky_relu.default":
            operation = n.MPSLeakyReLU(value, result, float(given["negative_slope"]))
        elif name == "aten.gelu.default":
            operation = n.MPSGELU(value, result, given["approximate"])
        else:
            operation = n.MPSReLU(value, result)
        self.add(operation, mps_graph)

    def _gelu_tanh(self, x: int, node: Node, mps_graph: MPSGraph) -> None:
        """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), in parts, because ExecuTorch's runtime computes
        the node for this approximation as x * tanh(x)."""
        dtype, shape = dtype_of(node), shape_of(node)

        def apply(kind: type, *operands: int) -> int:
            made = self.define_value(dtype, shape, mps_graph)
            self.add(kind(*operands, made), mps_graph)
            return made

        def number(value: float) -> int:
            return self.define_scalar(value, dtype, mps_graph)

        cube = apply(n.MPSMul, apply(n.MPSMul, x, x), x)
        inner = apply(n.MPSAdd, apply(n.MPSMul, cube, number(0.044715)), x)
        tanh = apply(n.MPSTanh, apply(n.MPSMul, inner, number(math.sqrt(2 / math.pi))))
        half = apply(n.MPSMul, x, number(0.5))
        self.tensor_to_id[node] = apply(n.MPSMul, half, apply(n.MPSAdd, tanh, number(1.0)))


@register_node_visitor
class SoftmaxVisitor(NodeVisitor):
    """softmax and its logarithm."""

    target = ("aten._softmax.default", "aten._log_softmax.default")

    def refusal(self, node: Node) -> str | None:
        if arguments_of(node)["half_to_float"]:
            return "MPS does not convert float16 to float32 in a softmax"
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        kind = n.MPSSoftmax if name_of(node) == "aten._softmax.default" else n.MPSLogSoftmax
        dim = wrapped(given["dim"], max(len(shape_of(node)), 1))
        value = self.define_tensor(given["self"], mps_graph)
        self.add(kind(value, self.define_tensor(node, mps_graph), dim, False), mps_graph)
